"""The test bench of the rotational integrators: one or two rigid bodies under a given torque, against a reference."""

from .bench import run
from .cases import CASES

__all__ = ["CASES", "run"]
