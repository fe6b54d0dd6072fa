"""Euler's equations of rotational motion in the principal-axis body frame (SPIRAL paper, Eq. 8).

`inertia` is nine numbers per body (state.inertia_rows): I_k, 1/I_k, and (I_y - I_z)/I_x, (I_z - I_x)/I_y, (I_x - I_y)/I_z,
because a division costs as much as ten multiplications.
"""

from ..compile.kernels import fused


@fused
def acceleration(omega, torque, inertia):
    """d omega / dt = (M - omega x I omega) / I, rad/s^2."""
    wx, wy, wz = omega
    return (
        torque[0] * inertia[3] + wy * wz * inertia[6],
        torque[1] * inertia[4] + wz * wx * inertia[7],
        torque[2] * inertia[5] + wx * wy * inertia[8],
    )


@fused
def by_inertia(v, inertia):
    """v / I by components: angular acceleration from a torque, or angular velocity from an angular momentum."""
    return v[0] * inertia[3], v[1] * inertia[4], v[2] * inertia[5]


@fused
def kicked(omega, rate, dt):
    """omega + dt rate"""
    return omega[0] + dt * rate[0], omega[1] + dt * rate[1], omega[2] + dt * rate[2]


@fused
def cross(a, b):
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
