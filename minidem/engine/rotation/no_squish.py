"""The symplectic quaternion scheme of Miller et al. (NO_SQUISH), as in LAMMPS and HOOMD.

    L <- L + dt/2 M(n)
    rotate about the body axes z, y, x, y, z by dt/2, dt/2, dt, dt/2, dt/2 times L_k / I_k: q <- q exp(.), L <- exp(-.) L
    L <- L + dt/2 M(n+1)

Miller et al., J. Chem. Phys. 116, 8649 (2002); Dullweber, Leimkuhler, McLachlan, J. Chem. Phys. 107, 5840 (1997) with
matrices. With the conjugate momentum p = 2 q L of the quaternion this is their splitting. `spin` is L (J s, body frame)
before the second half kick. Symplectic and time-reversible: the energy does not drift. Keeps |q| = 1 and the angular
momentum of a free body to round-off, without normalisation.
"""

from ..compile.kernels import fused
from ..quaternion import cos_sin
from .euler import by_inertia


@fused
def turn_x(q, m, inertia, dt):
    """Rotate about the first body axis by dt L_x / I_x."""
    half = 0.5 * dt * m[0] * inertia[3]
    cos, sin = cos_sin(half)
    q = q[0] * cos - q[1] * sin, q[1] * cos + q[0] * sin, q[2] * cos + q[3] * sin, q[3] * cos - q[2] * sin
    c, s = cos * cos - sin * sin, 2.0 * cos * sin
    return q, (m[0], c * m[1] + s * m[2], c * m[2] - s * m[1])


@fused
def turn_y(q, m, inertia, dt):
    """Rotate about the second body axis by dt L_y / I_y."""
    half = 0.5 * dt * m[1] * inertia[4]
    cos, sin = cos_sin(half)
    q = q[0] * cos - q[2] * sin, q[1] * cos - q[3] * sin, q[2] * cos + q[0] * sin, q[3] * cos + q[1] * sin
    c, s = cos * cos - sin * sin, 2.0 * cos * sin
    return q, (c * m[0] - s * m[2], m[1], c * m[2] + s * m[0])


@fused
def turn_z(q, m, inertia, dt):
    """Rotate about the third body axis by dt L_z / I_z."""
    half = 0.5 * dt * m[2] * inertia[5]
    cos, sin = cos_sin(half)
    q = q[0] * cos - q[3] * sin, q[1] * cos + q[2] * sin, q[2] * cos - q[1] * sin, q[3] * cos + q[0] * sin
    c, s = cos * cos - sin * sin, 2.0 * cos * sin
    return q, (c * m[0] + s * m[1], c * m[1] - s * m[0], m[2])


@fused
def start(q, omega, torque, inertia, dt):
    h = 0.5 * dt
    return q, (
        inertia[0] * omega[0] - h * torque[0],
        inertia[1] * omega[1] - h * torque[1],
        inertia[2] * omega[2] - h * torque[2],
    )


@fused
def on_step(q, m, torque, inertia, dt):
    h = 0.5 * dt
    return q, by_inertia((m[0] + h * torque[0], m[1] + h * torque[1], m[2] + h * torque[2]), inertia)


@fused
def advance(q, m, torque, inertia, dt):
    m = m[0] + dt * torque[0], m[1] + dt * torque[1], m[2] + dt * torque[2]
    q, m = turn_z(q, m, inertia, 0.5 * dt)
    q, m = turn_y(q, m, inertia, 0.5 * dt)
    q, m = turn_x(q, m, inertia, dt)
    q, m = turn_y(q, m, inertia, 0.5 * dt)
    return turn_z(q, m, inertia, 0.5 * dt)
