"""Conversions between body-frame angular velocity and world-frame angular momentum, for schemes that keep the latter."""

from ..compile.kernels import fused
from ..quaternion import to_body, to_world
from .euler import by_inertia


@fused
def momentum_of(q, omega, inertia):
    """World-frame angular momentum L = R I omega, J s."""
    return to_world(q, (inertia[0] * omega[0], inertia[1] * omega[1], inertia[2] * omega[2]))


@fused
def omega_of(q, momentum, inertia):
    """Body-frame angular velocity from the world-frame angular momentum, rad/s."""
    return by_inertia(to_body(q, momentum), inertia)


@fused
def pushed(q, momentum, torque, dt):
    """L + dt M, J s (world frame), with the body-frame torque M."""
    m = to_world(q, torque)
    return momentum[0] + dt * m[0], momentum[1] + dt * m[1], momentum[2] + dt * m[2]
