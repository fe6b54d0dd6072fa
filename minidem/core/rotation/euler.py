"""Euler's equations of rotational motion in the principal-axis body frame (SPIRAL paper, Eq. 8)."""

from ..compiling import inlined


@inlined
def acceleration(omega, torque, inertia):
    """d omega / dt = (M - omega x I omega) / I, by components."""
    wx, wy, wz = omega
    ix, iy, iz = inertia
    return (
        (torque[0] + wy * wz * (iy - iz)) / ix,
        (torque[1] + wz * wx * (iz - ix)) / iy,
        (torque[2] + wx * wy * (ix - iy)) / iz,
    )


@inlined
def by_inertia(v, inertia):
    """v / I, by components: the acceleration of a torque, the angular velocity of an angular momentum."""
    return v[0] / inertia[0], v[1] / inertia[1], v[2] / inertia[2]


@inlined
def kicked(omega, rate, dt):
    """omega + dt rate"""
    return omega[0] + dt * rate[0], omega[1] + dt * rate[1], omega[2] + dt * rate[2]


@inlined
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
