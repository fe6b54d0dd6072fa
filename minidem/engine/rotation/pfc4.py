"""The scheme of PFC4 and MercuryDPM: angular velocity in the world frame, three iterations, and a first-order rotation.

    omega(n+1) = omega(n) + dt i^-1 (m(n) - omega x i omega)                three iterations for omega, i = R I R^T of time n
    R(n+1)     = (1 + dt omega(n+1)~) R(n)                                               made orthonormal

PFC4 manual; Ostanin et al., Comput. Phys. Commun. 296, 109034 (2024); SPIRAL paper, App. B.7, Eq. B.16-B.18. The papers do
not say how the matrix is kept orthonormal. Here q replaces R: the rotation of one step is made orthonormal by Gram-Schmidt,
starting with the first axis, and q is normalised. `spin` is omega (rad/s, WORLD frame).
First order.
"""

import math

from ..compile.kernels import fused
from ..quaternion import product, to_body, to_world, unit
from .euler import acceleration, cross, kicked


@fused
def start(q, omega, torque, inertia, dt):
    return q, to_world(q, omega)


@fused
def on_step(q, omega, torque, inertia, dt):
    return q, to_body(q, omega)


@fused
def direction(v):
    """v / |v|"""
    scale = 1.0 / math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return v[0] * scale, v[1] * scale, v[2] * scale


@fused
def orthonormal(v):
    """The rotation, as a quaternion, obtained from the columns of 1 + v~ by Gram-Schmidt; not yet of unit length."""
    a = direction((1.0, v[2], -v[1]))
    b = -v[2], 1.0, v[0]
    b = direction(kicked(b, a, -(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])))
    c = cross(a, b)
    # valid for rotations by less than 180 degrees
    return 1.0 + a[0] + b[1] + c[2], b[2] - c[1], c[0] - a[2], a[1] - b[0]


@fused
def advance(q, omega, torque, inertia, dt):
    old = to_body(q, omega)
    new = old
    for _ in range(3):
        new = kicked(old, acceleration(new, torque, inertia), dt)
    return unit(product(q, orthonormal((dt * new[0], dt * new[1], dt * new[2])))), to_world(q, new)
