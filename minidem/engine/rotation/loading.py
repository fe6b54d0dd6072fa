"""From the name of a rotational integrator to its compiled functions."""

from functools import cache
from importlib import import_module
from typing import NamedTuple

from ..compile.kernels import fused, in_this_process, kernel
from ..compile.pointers import rotation_pointer
from .registry import SCHEMES


class Rotation(NamedTuple):
    """A scheme over all bodies, as function pointers; see rotation/__init__.py."""

    values: int  # rows of `spin`
    starts: tuple
    start_times: tuple  # of the torque of each start, in steps
    stages: tuple
    times: tuple  # of the torque of each stage, in steps after n
    on_step: object
    foresee: object

    @property
    def start(self):
        return self.starts[0]

    @property
    def advance(self):
        """Of a scheme with a single torque evaluation."""
        return self.stages[0]


def rotation(name):
    return compiled(SCHEMES[name])


@cache
def compiled(scheme):
    name = scheme.name
    parts = scheme.parts or vars(import_module(scheme.module))
    # The disk cache knows the sources of the package only; a scheme from elsewhere may have been edited since.
    compiler = kernel if scheme.parts is None else in_this_process

    def pointer(functions, part):
        """Of one function, or of a tuple of them, to be gone through one after the other."""
        functions = functions if isinstance(functions, tuple) else (functions,)
        parts_of_body = [function if hasattr(function, "py_func") else fused(function) for function in functions]
        return rotation_pointer(parts_of_body, f"{name}.{part}", scheme.values, compiler)

    def pointers(functions, part):
        distinct = {f: pointer(f, f"{part}{k}") for k, f in enumerate(dict.fromkeys(functions))}
        return tuple(distinct[f] for f in functions)

    on_step = pointer(parts["on_step"], "on_step")
    return Rotation(
        scheme.values,
        pointers(parts.get("starts") or (parts["start"],), "start"),
        parts.get("start_times", (0.0,)),
        pointers(parts.get("stages") or (parts["advance"],), "advance"),
        parts.get("times", (0.0,)),
        on_step,
        pointer(parts["foresee"], "foresee") if "foresee" in parts else on_step,
    )
