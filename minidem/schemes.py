"""What a rotational scheme of your own is made of; see docs/integrators.md.

Scalar functions of one body, compiled by numba. q is a quaternion (w, x, y, z), body -> world; omega (rad/s), torque (N m)
and inertia are in the principal-axis body frame; angular momenta (J s) are in the world frame.
"""

from .engine.compile.kernels import fused
from .engine.quaternion import dot, moved, product, rate_of, to_body, to_world, turned, unit
from .engine.rotation.euler import acceleration, by_inertia, cross, kicked
from .engine.rotation.momentum import momentum_of, omega_of, pushed
from .engine.rotation.registry import register

__all__ = [
    "acceleration",
    "by_inertia",
    "cross",
    "dot",
    "fused",
    "kicked",
    "momentum_of",
    "moved",
    "omega_of",
    "product",
    "pushed",
    "rate_of",
    "register",
    "to_body",
    "to_world",
    "turned",
    "unit",
]
