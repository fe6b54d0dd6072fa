"""Classical Runge-Kutta of fourth order: four torque evaluations per step.

    y(n+1) = y(n) + dt/6 (k1 + 2 k2 + 2 k3 + k4),   y = (q, omega),   k = (dq/dt, d omega/dt)          q normalised

Kutta, Z. Math. Phys. 46, 435 (1901). The benchmark in Sec. 3 of the SPIRAL paper. Between stages q and the first three
values of `spin` are the trial state for the next torque, followed by q(n), omega(n) and the weighted sums of the rates of q
and omega: 17 values.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from .euler import acceleration, kicked

times = (0.0, 0.5, 0.5, 1.0)


@fused
def start(q, spin, torque, inertia, dt):
    return q, spin


@fused
def on_step(q, spin, torque, inertia, dt):
    return q, spin


@fused
def stage(q, omega, base_q, base_omega, sum_q, sum_omega, torque, inertia, weight, step):
    """Add the rates of the trial state to the sums, and make the next trial state with them, `step` (s) after the base."""
    dq, domega = rate_of(q, omega), acceleration(omega, torque, inertia)
    sum_q, sum_omega = moved(sum_q, dq, weight), kicked(sum_omega, domega, weight)
    return moved(base_q, dq, step), kicked(base_omega, domega, step) + base_q + base_omega + sum_q + sum_omega


@fused
def first(q, spin, torque, inertia, dt):
    omega, none = (spin[0], spin[1], spin[2]), (0.0, 0.0, 0.0)
    return stage(q, omega, q, omega, (0.0, 0.0, 0.0, 0.0), none, torque, inertia, 1.0, 0.5 * dt)


@fused
def parts(spin):
    """omega of the trial state, q(n), omega(n), and the sums of the rates of q and omega."""
    return (
        (spin[0], spin[1], spin[2]),
        (spin[3], spin[4], spin[5], spin[6]),
        (spin[7], spin[8], spin[9]),
        (spin[10], spin[11], spin[12], spin[13]),
        (spin[14], spin[15], spin[16]),
    )


@fused
def second(q, spin, torque, inertia, dt):
    omega, base_q, base_omega, sum_q, sum_omega = parts(spin)
    return stage(q, omega, base_q, base_omega, sum_q, sum_omega, torque, inertia, 2.0, 0.5 * dt)


@fused
def third(q, spin, torque, inertia, dt):
    omega, base_q, base_omega, sum_q, sum_omega = parts(spin)
    return stage(q, omega, base_q, base_omega, sum_q, sum_omega, torque, inertia, 2.0, dt)


@fused
def fourth(q, spin, torque, inertia, dt):
    omega, base_q, base_omega, sum_q, sum_omega = parts(spin)
    dq, domega = rate_of(q, omega), acceleration(omega, torque, inertia)
    q = unit(moved(base_q, moved(sum_q, dq, 1.0), dt / 6.0))
    omega = kicked(base_omega, kicked(sum_omega, domega, 1.0), dt / 6.0)
    return q, omega + q + omega + sum_q + sum_omega


stages = (first, second, third, fourth)
