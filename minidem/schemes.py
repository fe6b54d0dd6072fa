"""What a rotational scheme of your own needs; see docs/own_scheme.py for an example.

A scheme is three functions of one body, `start`, `advance` and `on_step`, each (q, spin, torque, inertia, dt) -> (q, spin).
`register` adds it to the catalogue; commands load the file with --plugin. The functions below are compiled; call them from
yours.
"""

from .engine.compile.kernels import fused as compiled
from .engine.quaternion import cos_sin, cos_sinc, dot, moved, product, rate_of, to_body, to_world, turn, turned, unit
from .engine.rotation.euler import acceleration, by_inertia, cross, kicked
from .engine.rotation.momentum import momentum_of, omega_of, pushed
from .engine.rotation.registry import SCHEMES, Scheme, register

__all__ = [
    "SCHEMES",
    "Scheme",
    "acceleration",
    "by_inertia",
    "compiled",
    "cos_sin",
    "cos_sinc",
    "cross",
    "dot",
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
    "turn",
    "turned",
    "unit",
]
