"""Checks of single values. Each returns the value or raises ValueError with the rule and what was given."""

import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from ..errors import nearest
from .writing import key_text, shown, value_text

MAX_COUNT = 10**7  # frames, energy rows
MAX_BODIES = 10**9  # of one [[place]]; the model checks the memory once the clumps are known
EDGES = ("plain", "corrected")
MAX_SPHERES = 10_000  # of one clump: the time for its mass properties grows as their square
LEAST_YOUNG, MAX_YOUNG = 1e-100, 1e100  # Pa: the kernels work with squares
MAX_PACKING = 0.75  # just above the densest packing of equal spheres, 0.7405


def unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    """The message for a name that is none of the valid ones: the nearest, and all of them."""
    names = sorted(valid)
    if not names:
        return f"unknown {kind} {shown(name)}; the file has no [{kind}.NAME] table"
    meant = nearest(name, names)
    hint = f" did you mean {value_text(meant)}?" if meant else ""
    return f"unknown {kind} {shown(name)};{hint} valid names: {', '.join(map(key_text, names))}"


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {shown(value)}")
    if not abs(value) <= sys.float_info.max:  # also catches NaN, and integers too large for a float
        raise ValueError(f"must be a finite number, got {shown(value)}")
    return float(value)


def above(bound: float, below: float = math.inf) -> Callable[[Any], float]:
    """The check for a number between two bounds, both excluded."""

    def check(value: Any) -> float:
        given = number(value)
        if given <= bound:
            raise ValueError(f"must be above {bound}, got {shown(value)}")
        if given >= below:
            raise ValueError(f"must be below {below}, got {shown(value)}")
        return given

    return check


positive = above(0)


def modulus(value: Any) -> float:
    """A Young's modulus, Pa."""
    given = positive(value)
    if not LEAST_YOUNG <= given <= MAX_YOUNG:
        raise ValueError(f"must be between {LEAST_YOUNG} and {MAX_YOUNG}, got {shown(value)}")
    return given


def limit(value: Any) -> float:
    """A positive limit; infinite for false."""
    if value is False or value == math.inf:
        return math.inf
    try:
        return positive(value)
    except ValueError as error:
        raise ValueError(f"{error}; false for no limit") from None


def switch(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {shown(value)}")
    return value


def not_negative(value: Any) -> float:
    """A number, zero or above."""
    if (given := number(value)) < 0:
        raise ValueError(f"must not be negative, got {shown(value)}")
    return given


def whole(low: int, high: int) -> Callable[[Any], int]:
    """The check for an integer between two bounds, both included."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wanted = f"a whole number from {low} to {high}" if low < high else str(low)
            raise ValueError(f"must be {wanted}, got {shown(value)}")
        return value

    return check


def text(value: Any) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError(f"must be text in quotes, got {shown(value)}")
    return value


def scenario_name(value: Any) -> str:
    """The name of a scenario, which is also that of its run directory."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}", given := text(value)):
        rule = "must be 1 to 64 letters, digits, '_', '-' or '.' and not start with '.'"
        raise ValueError(f"{rule}, got {shown(value)}")
    return given


def numbers(*names: str) -> Callable[[Any], tuple[float, ...]]:
    """The check for a list of as many finite numbers as there are names."""

    def check(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(names):
            raise ValueError(f"must be [{', '.join(names)}], got {shown(value)}")
        try:
            return tuple(map(number, value))
        except ValueError as error:
            raise ValueError(f"each entry {error} in {shown(value)}") from None

    return check


vector = numbers("x", "y", "z")


def box(value: Any) -> tuple[float, ...]:
    """Three positive lengths, m."""
    if min(lengths := vector(value)) <= 0:
        raise ValueError(f"each length must be above 0, got {shown(value)}")
    return lengths


def sphere(value: Any) -> tuple[float, ...]:
    """x, y, z and a positive radius, m."""
    if (row := numbers("x", "y", "z", "radius")(value))[3] <= 0:
        raise ValueError(f"the radius must be above 0, got {shown(row[3])}")
    return row


def unit(*names: str) -> Callable[[Any], tuple[float, ...]]:
    """The check for a vector of any length but zero; it is scaled to length one."""

    def check(value: Any) -> tuple[float, ...]:
        given = numbers(*names)(value)
        if (largest := max(map(abs, given))) == 0:
            raise ValueError(f"must not be all zeros, got {shown(value)}")
        scaled = [x / largest for x in given]  # huge squares would overflow, tiny ones vanish
        norm = math.hypot(*scaled)
        # Vectors of length one within round-off stay as they are, so that a written scenario reads back equal.
        return given if abs(norm * largest - 1) < 1e-15 else tuple(x / norm for x in scaled)

    return check


def rayleigh_fraction(given: str) -> float:
    """The x of "x rayleigh"; ValueError without a message if the text is none."""
    fraction, _, unit_ = given.strip().partition(" ")
    if unit_.strip() != "rayleigh":
        raise ValueError
    return positive(float(fraction))


drift = above(0, 1)


def drift_wish(given: Any) -> float | None:
    """The x of "drift x"; None if this is no such text, ValueError without a message if x is no drift."""
    word, _, wish = given.strip().partition(" ") if isinstance(given, str) else ("", "", "")
    return drift(float(wish)) if word == "drift" else None


def time_step(value: Any) -> float | str:
    """A time step: seconds, or a text such as "0.1 rayleigh" or "drift 1e-5"."""
    if not isinstance(value, str):
        return positive(value)
    rule = 'must be seconds, a positive multiple such as "0.1 rayleigh" or a largest drift such as "drift 1e-5"'
    try:
        if value.split()[:1] == ["drift"]:
            rule = 'must have a number between 0 and 1 after "drift", such as "drift 1e-5"'
            drift_wish(value)
        else:
            rayleigh_fraction(value)
    except ValueError:
        raise ValueError(f"{rule}, got {shown(value)}") from None
    return value


def integrator(value: Any) -> str:
    """The name of a rotational integrator with one torque evaluation per step."""
    from ..engine.rotation.registry import SCHEMES

    if (name := text(value)) not in SCHEMES:
        raise ValueError(unknown("integrator", name, SCHEMES))
    if (evaluations := SCHEMES[name].torque_evaluations) > 1:
        raise ValueError(f'"{name}" needs {evaluations} torque evaluations per step: only for `minidem rotor`')
    return name


def contact_law(value: Any) -> str:
    """The name of a contact law."""
    from ..engine.contact.registry import LAWS

    if (name := text(value)) not in LAWS:
        raise ValueError(unknown("contact law", name, LAWS))
    return name


def edges(value: Any) -> str:
    """How the edges of contacts are treated."""
    if value not in EDGES:
        raise ValueError(f"must be {' or '.join(map(shown, EDGES))}, got {shown(value)}")
    return str(value)


def builtin(value: Any) -> str:
    """The name of a built-in shape."""
    from ..shapes.builtin import BUILTINS

    if (name := text(value)) not in BUILTINS:
        raise ValueError(unknown("built-in shape", name, BUILTINS))
    return name


def builtin_height(value: Any) -> float:
    """The default height of a built-in shape, m."""
    from ..shapes.builtin import BUILTINS

    return BUILTINS[builtin(value)].height


def mass_source(value: Any) -> str:
    """What the mass properties of a clump are computed from."""
    if value not in ("spheres", "mesh"):
        raise ValueError(f'must be "spheres" or "mesh", got {shown(value)}')
    return str(value)


def sphere_list(value: Any) -> Any:
    """A list that is not empty."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of one or more [x, y, z, radius] rows, got {shown(value)}")
    return value


def table_list(value: Any, info: ValidationInfo) -> Any:
    """A list."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of tables, written [[{info.field_name}]]")
    return value


Number3 = tuple[float, float, float]
Number4 = tuple[float, float, float, float]
Vector = Annotated[Number3, PlainValidator(vector)]
Normal = Annotated[Number3, PlainValidator(unit("x", "y", "z"))]
Quaternion = Annotated[Number4, PlainValidator(unit("w", "x", "y", "z"))]
Sphere = Annotated[Number4, PlainValidator(sphere)]
Positive = Annotated[float, PlainValidator(positive)]
NotNegative = Annotated[float, PlainValidator(not_negative)]
Limit = Annotated[float, PlainValidator(limit)]
Text = Annotated[str, PlainValidator(text)]
Count = Annotated[int, PlainValidator(whole(1, MAX_COUNT))]
