"""Compile a rotational integrator, given its name."""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..compile.kernels import fused, in_this_process, kernel
from ..compile.pointers import rotation_pointer
from .checking import scheme_fault
from .registry import SCHEMES, Scheme


class Stage(NamedTuple):
    """One torque evaluation of a step and the function that uses it.

    The time comes first: numba warns about tuples that begin with a function pointer.
    """

    time: float  # of the torque, in steps after n
    move: Any  # function pointer, see compile/pointers.py


class Rotation(NamedTuple):
    """A compiled scheme: function pointers that act on ranges of bodies. rotation/__init__.py says what each one does."""

    values: int  # rows of `spin`
    starts: tuple[Stage, ...]
    stages: tuple[Stage, ...]
    on_step: Any
    foresee: Any

    @property
    def start(self) -> Any:
        """The function pointer of the first start."""
        return self.starts[0].move

    @property
    def advance(self) -> Any:
        """The function pointer of the step, for schemes with one torque evaluation per step."""
        return self.stages[0].move


def rotation(name: str) -> Rotation:
    """The compiled scheme of that name."""
    return compiled(SCHEMES[name])


@cache
def compiled(scheme: Scheme) -> Rotation:
    """The function pointers of a scheme, from the disk cache if they are there."""
    parts = scheme.parts or vars(import_module(scheme.module))
    # The name of the cache folder covers the sources of the package only. A scheme from elsewhere may have been edited.
    compiler = kernel if scheme.parts is None else in_this_process

    def pointer(functions: Any, part: str) -> Any:
        """The function pointer of one function, or of a tuple of functions that act one after the other."""
        functions = functions if isinstance(functions, tuple) else (functions,)
        try:
            passes = [function if hasattr(function, "py_func") else fused(function) for function in functions]
            return rotation_pointer(passes, f"{scheme.name}.{part}", scheme.values, compiler)
        except Exception:  # numba raises errors of many kinds
            if scheme.parts is None:
                raise
            raise scheme_fault(scheme, part.rstrip("0123456789"), functions[0]) from None

    def stages(functions: tuple[Any, ...], times: tuple[float, ...], part: str) -> tuple[Stage, ...]:
        distinct = {f: pointer(f, f"{part}{k}") for k, f in enumerate(dict.fromkeys(functions))}
        return tuple(Stage(time, distinct[f]) for time, f in zip(times, functions, strict=True))

    on_step = pointer(parts["on_step"], "on_step")
    return Rotation(
        scheme.values,
        stages(parts.get("starts") or (parts["start"],), parts.get("start_times", (0.0,)), "start"),
        stages(parts.get("stages") or (parts["advance"],), parts.get("times", (0.0,)), "advance"),
        on_step,
        pointer(parts["foresee"], "foresee") if "foresee" in parts else on_step,
    )
