"""Checks of single values. Each returns the value or raises ValueError with the rule and what was given."""

import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from ..errors import LISTED, nearest
from ..shapes import MAX_SPHERES
from .accepting import JSON, accepts, accepts_names
from .plugins import known_after_search, plugin_hint
from .writing import brief, key_text, shown, value_text

MAX_COUNT = 10**7  # frames, energy rows
MAX_BODIES = 10**9  # of one [[place]]; the model checks the memory once the clumps are known
EDGES = ("plain", "corrected")
MASS_SOURCES = ("spheres", "mesh")
NAME = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}"
PRECISIONS = ("double", "single")
FIELDS = ("position", "velocity", "orientation", "angular_velocity")  # of the frames of a trajectory
NEEDED_FIELDS = ("position", "orientation")  # without these nothing can be drawn
MAX_WALLS = 1000  # each body is compared with each wall
MAX_CLUMPS = 10_000  # the mass properties of each take about 1 ms
MAX_MATERIALS = 100  # each material is compared with each other one
# Numbers in SI units, of any size and kind that there is. Products such as energies and the squares of masses stay finite.
LEAST, MOST = 1e-30, 1e30
LEAST_FACTOR, MOST_FACTOR = 1e-100, 1e100  # of what is used as a factor: moduli, and masses
MAX_PACKING = 0.75  # just above the densest packing of equal spheres, 0.7405


def unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    """The message for a name that is none of the valid ones: the nearest, and all of them."""
    names = sorted(valid)
    if not names:
        return f"unknown {kind} {shown(name)}; the file has no [{kind}.NAME] table"
    meant = nearest(name, names)
    hint = f" did you mean {value_text(meant)}?" if meant else ""
    listed = [brief(key_text(name)) for name in names[: 2 * LISTED]]
    others = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
    return f"unknown {kind} {shown(name)};{hint} valid names: {', '.join(listed)}{others}"


@accepts(type="number")
def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {shown(value)}")
    if not abs(value) <= sys.float_info.max:  # also catches NaN, and integers too large for a float
        raise ValueError(f"must be a finite number, got {shown(value)}")
    return float(value)


def above(bound: float, below: float = math.inf) -> Callable[[Any], float]:
    """The check for a number between two bounds, both excluded."""
    bounds = {"exclusiveMinimum": bound} | ({"exclusiveMaximum": below} if below < math.inf else {})

    @accepts(type="number", **bounds)
    def check(value: Any) -> float:
        given = number(value)
        if given <= bound:
            raise ValueError(f"must be above {bound}, got {shown(value)}")
        if given >= below:
            raise ValueError(f"must be below {below}, got {shown(value)}")
        return given

    return check


positive = above(0)


def between(low: float, high: float) -> Callable[[Any], float]:
    """The check for a positive number between two bounds, both included."""

    @accepts(type="number", minimum=low, maximum=high)
    def check(value: Any) -> float:
        given = positive(value)
        if not low <= given <= high:
            raise ValueError(f"must be between {low} and {high}, got {shown(value)}")
        return given

    return check


size = between(LEAST, MOST)
factor = between(LEAST_FACTOR, MOST_FACTOR)


@accepts(type="number", minimum=-MOST, maximum=MOST)
def component(value: Any) -> float:
    """A component of a place, a velocity or an acceleration."""
    given = number(value)
    if abs(given) > MOST:
        raise ValueError(f"must be between {-MOST} and {MOST}, got {shown(value)}")
    return given


@accepts(anyOf=[{"type": "number", "exclusiveMinimum": 0}, {"const": False}])
def limit(value: Any) -> float:
    """A positive limit; infinite for false."""
    if value is False or value == math.inf:
        return math.inf
    try:
        return positive(value)
    except ValueError as error:
        raise ValueError(f"{error}; false for no limit") from None


@accepts(type="boolean")
def switch(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {shown(value)}")
    return value


@accepts(type="number", minimum=0, maximum=MOST)
def not_negative(value: Any) -> float:
    """A number from zero to MOST."""
    if (given := number(value)) < 0:
        raise ValueError(f"must not be negative, got {shown(value)}")
    if given > MOST:
        raise ValueError(f"must be at most {MOST}, got {shown(value)}")
    return given


def whole(low: int, high: int) -> Callable[[Any], int]:
    """The check for an integer between two bounds, both included."""

    @accepts(type="integer", minimum=low, maximum=high)
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wanted = f"a whole number from {low} to {high}" if low < high else str(low)
            raise ValueError(f"must be {wanted}, got {shown(value)}")
        return value

    return check


@accepts(type="string")
def text(value: Any) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError(f"must be text in quotes, got {shown(value)}")
    return value


@accepts(type="string", pattern=f"^{NAME}$")
def scenario_name(value: Any) -> str:
    """The name of a scenario, which is also that of its run directory."""
    if not re.fullmatch(NAME, given := text(value)):
        rule = "must be 1 to 64 letters, digits, '_', '-' or '.' and not start with '.'"
        raise ValueError(f"{rule}, got {shown(value)}")
    return given


def numbers(*names: str, entry: Callable[[Any], float] = number) -> Callable[[Any], tuple[float, ...]]:
    """The check for a list of as many numbers as there are names; `entry` is the check of each."""

    @accepts(type="array", items={"type": "number"}, minItems=len(names), maxItems=len(names))
    def check(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(names):
            raise ValueError(f"must be [{', '.join(names)}], got {shown(value)}")
        try:
            return tuple(map(entry, value))
        except ValueError as error:
            raise ValueError(f"each entry {error} in {shown(value)}") from None

    return check


vector = numbers("x", "y", "z", entry=component)


@accepts(type="array", items={"type": "number", "exclusiveMinimum": 0}, minItems=3, maxItems=3)
def box(value: Any) -> tuple[float, ...]:
    """Three positive lengths, m."""
    if min(lengths := vector(value)) <= 0:
        raise ValueError(f"each length must be above 0, got {shown(value)}")
    if min(lengths) < LEAST:
        raise ValueError(f"each length must be at least {LEAST}, got {shown(value)}")
    return lengths


@accepts(type="array", items={"type": "number"}, minItems=4, maxItems=4)
def sphere(value: Any) -> tuple[float, ...]:
    """x, y, z and a positive radius, m."""
    if (row := numbers("x", "y", "z", "radius")(value))[3] <= 0:
        raise ValueError(f"the radius must be above 0, got {shown(row[3])}")
    return row


def unit(*names: str) -> Callable[[Any], tuple[float, ...]]:
    """The check for a vector of any length but zero; it is scaled to length one."""

    @accepts(type="array", items={"type": "number"}, minItems=len(names), maxItems=len(names))
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
    word, wish = [*(given.split(maxsplit=1) if isinstance(given, str) else ()), "", ""][:2]
    return drift(float(wish)) if word == "drift" else None


_NUMBER = r"[0-9.]+([eE][+-]?[0-9]+)?"


@accepts(
    anyOf=[
        {"type": "number", "exclusiveMinimum": 0, "maximum": MOST},
        {"type": "string", "pattern": rf"^\s*({_NUMBER} +rayleigh|drift\s+{_NUMBER})\s*$"},
    ]
)
def time_step(value: Any) -> float | str:
    """A time step: seconds, or a text such as "0.1 rayleigh" or "drift 1e-5"."""
    if not isinstance(value, str):
        if (given := positive(value)) > MOST:
            raise ValueError(f"must be at most {MOST}, got {shown(value)}")
        return given
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


def _integrators() -> list[str]:
    from ..engine.rotation.registry import SCHEMES

    return [name for name, scheme in SCHEMES.items() if scheme.torque_evaluations == 1]


def _laws() -> list[str]:
    from ..engine.contact.registry import LAWS

    return list(LAWS)


def _builtins() -> list[str]:
    from ..shapes.builtin import BUILTINS

    return list(BUILTINS)


@accepts_names(_integrators)
def integrator(value: Any) -> str:
    """The name of a rotational integrator with one torque evaluation per step."""
    from ..engine.rotation.registry import SCHEMES

    if not known_after_search(name := text(value), SCHEMES):
        raise ValueError(unknown("integrator", name, SCHEMES) + plugin_hint())
    if (evaluations := SCHEMES[name].torque_evaluations) > 1:
        raise ValueError(f'"{name}" needs {evaluations} torque evaluations per step: only for `minidem rotor`')
    return name


@accepts_names(_laws)
def contact_law(value: Any) -> str:
    """The name of a contact law."""
    from ..engine.contact.registry import LAWS

    if not known_after_search(name := text(value), LAWS):
        raise ValueError(unknown("contact law", name, LAWS) + plugin_hint())
    return name


@accepts(enum=list(EDGES))
def edges(value: Any) -> str:
    """How the edges of contacts are treated."""
    if value not in EDGES:
        raise ValueError(f"must be {' or '.join(map(shown, EDGES))}, got {shown(value)}")
    return str(value)


@accepts(type="string", enum=list(PRECISIONS))
def precision(value: Any) -> str:
    """The precision of the numbers in the frames."""
    if value not in PRECISIONS:
        raise ValueError(f"must be {' or '.join(map(shown, PRECISIONS))}, got {shown(value)}")
    return str(value)


@accepts(
    type="array",
    items={"type": "string", "enum": list(FIELDS)},
    allOf=[{"contains": {"const": name}} for name in NEEDED_FIELDS],
)
def fields(value: Any) -> tuple[str, ...]:
    """What the frames hold: position, orientation and any of the other fields."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of names such as {shown(NEEDED_FIELDS)}, got {shown(value)}")
    for name in map(text, value):
        if name not in FIELDS:
            raise ValueError(unknown("field", name, FIELDS))
    for name in NEEDED_FIELDS:
        if name not in value:
            raise ValueError(f"must contain {shown(name)}, got {shown(value)}")
    return tuple(name for name in FIELDS if name in value)


@accepts_names(_builtins)
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


@accepts(enum=list(MASS_SOURCES))
def mass_source(value: Any) -> str:
    """What the mass properties of a clump are computed from."""
    if value not in MASS_SOURCES:
        raise ValueError(f'must be "spheres" or "mesh", got {shown(value)}')
    return str(value)


@accepts(type="array", items=JSON[sphere](), minItems=1)
def sphere_list(value: Any) -> Any:
    """A list that is not empty."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of one or more [x, y, z, radius] rows, got {shown(value)}")
    if len(value) > MAX_SPHERES:
        raise ValueError(f"{len(value)} spheres are more than the {MAX_SPHERES} that a clump may have; take fewer")
    return value


def table_list(value: Any, info: ValidationInfo) -> Any:
    """A list."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of tables, written [[{info.field_name}]]")
    return value


def few_tables(most: int) -> Callable[[Any], Any]:
    """The check for at most so many tables, if they are tables."""

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple | dict) and len(value) > most:
            raise ValueError(f"must be at most {most} tables, got {len(value)}")
        return value

    return check


Number3 = tuple[float, float, float]
Number4 = tuple[float, float, float, float]
Vector = Annotated[Number3, PlainValidator(vector)]
Normal = Annotated[Number3, PlainValidator(unit("x", "y", "z"))]
Quaternion = Annotated[Number4, PlainValidator(unit("w", "x", "y", "z"))]
Sphere = Annotated[Number4, PlainValidator(sphere)]
Size = Annotated[float, PlainValidator(size)]
Factor = Annotated[float, PlainValidator(factor)]
NotNegative = Annotated[float, PlainValidator(not_negative)]
Limit = Annotated[float, PlainValidator(limit)]
Text = Annotated[str, PlainValidator(text)]
Count = Annotated[int, PlainValidator(whole(1, MAX_COUNT))]
