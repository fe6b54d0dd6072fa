"""Richardson's extrapolation of q, as in the rigid-body fixes of LAMMPS; the angular momentum L is half a step behind.

    L(n+1/2) = L(n-1/2) + dt M(n)
    full: q + dt dq/dt(q, omega(q))                  one step                            normalised
    half: q + dt/2 dq/dt(q, omega(q))                two half steps, each                normalised
    q(n+1) = 2 half - full                                                               normalised
    omega(q) = A(q) L(n+1/2) / I

LAMMPS documentation, fix rigid and fix nve/asphere; Kamberaj, Li, Hansen, J. Chem. Phys. 122, 224114 (2005) describe the
other parts of the fixes. `spin` is L (J s, world frame), conserved exactly for a free body.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from . import fincham
from .momentum import omega_of, pushed

start = fincham.start
on_step = fincham.on_step


@fused
def advance(q, momentum, torque, inertia, dt):
    momentum = pushed(q, momentum, torque, dt)
    rate = rate_of(q, omega_of(q, momentum, inertia))
    full = unit(moved(q, rate, dt))
    half = unit(moved(q, rate, 0.5 * dt))
    half = unit(moved(half, rate_of(half, omega_of(half, momentum, inertia)), 0.5 * dt))
    return unit(
        (2.0 * half[0] - full[0], 2.0 * half[1] - full[1], 2.0 * half[2] - full[2], 2.0 * half[3] - full[3])
    ), momentum
