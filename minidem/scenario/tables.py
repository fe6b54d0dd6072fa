"""Scenario files: TOML in, validated and frozen objects out.

Every mistake of a file is reported in one ScenarioError, a line each: ``file: key.path: what is wrong``.
The pydantic models check single values and tables; the rules that join keys or tables (``_joint_errors``)
look at the raw data, so that they are checked even while some table is wrong.
"""

import contextlib
import math
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo

from ..errors import InputError, ScenarioError, nearest

Loc = tuple[str | int, ...]  # where a value is: ("body", 2, "position")

MAX_FILE_BYTES = 16 * 1024**2
MAX_STEPS = 10**15
MAX_COUNT = 10**7  # frames, energy rows
MAX_BODIES = 10**9  # of one [[place]]; how many there is memory for is found out with the clumps at hand
MAX_SPHERES = 10_000  # of one clump: the time that its union takes goes with their square
LEAST_YOUNG, MAX_YOUNG = 1e-100, 1e100  # Pa: the kernels work with squares
MAX_PACKING = 0.75  # the densest there is, of equal spheres, has 0.7405


# --- values and places as text ------------------------------------------------------------------------------


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
    if isinstance(value, int):  # Python refuses to print integers of thousands of digits
        return str(value) if value.bit_length() < 200 else "a huge whole number"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return "a table" if isinstance(value, dict) else str(value)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _shown(value: Any) -> str:
    text = _toml_value(value)
    return text if len(text) <= 70 else text[:67] + "..."


def _path(loc: Loc) -> str:
    parts = (f"[{key}]" if isinstance(key, int) else f".{_toml_key(key)}" for key in loc)
    return "".join(parts).removeprefix(".")


def _unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    names = sorted(valid)
    if not names:
        return f"unknown {kind} {_shown(name)}; the file has no [{kind}.NAME] table"
    meant = nearest(name, names)
    hint = f" did you mean {_toml_value(meant)}?" if meant else ""
    return f"unknown {kind} {_shown(name)};{hint} valid names: {', '.join(map(_toml_key, names))}"


# --- single values: each check returns the value or raises ValueError with the rule and what was given ------


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {_shown(value)}")
    if not abs(value) <= sys.float_info.max:  # right for nan too, and for integers too large for a float
        raise ValueError(f"must be a finite number, got {_shown(value)}")
    return float(value)


def _above(bound: float, below: float = math.inf) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        number = _number(value)
        if number <= bound:
            raise ValueError(f"must be above {bound}, got {_shown(value)}")
        if number >= below:
            raise ValueError(f"must be below {below}, got {_shown(value)}")
        return number

    return check


_positive = _above(0)


def _modulus(value: Any) -> float:
    number = _positive(value)
    if not LEAST_YOUNG <= number <= MAX_YOUNG:
        raise ValueError(f"must be between {LEAST_YOUNG} and {MAX_YOUNG}, got {_shown(value)}")
    return number


def _limit(value: Any) -> float:
    """Infinite for false."""
    if value is False or value == math.inf:
        return math.inf
    try:
        return _positive(value)
    except ValueError as error:
        raise ValueError(f"{error}; false for no limit") from None


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {_shown(value)}")
    return value


def _not_negative(value: Any) -> float:
    if (number := _number(value)) < 0:
        raise ValueError(f"must not be negative, got {_shown(value)}")
    return number


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wanted = f"a whole number from {low} to {high}" if low < high else str(low)
            raise ValueError(f"must be {wanted}, got {_shown(value)}")
        return value

    return check


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text in quotes, got {_shown(value)}")
    return value


def _name(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}", _text(value)):  # it names the run directory
        rule = "must be 1 to 64 letters, digits, '_', '-' or '.' and not start with '.'"
        raise ValueError(f"{rule}, got {_shown(value)}")
    return value


def _numbers(*names: str) -> Callable[[Any], tuple[float, ...]]:
    def check(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(names):
            raise ValueError(f"must be [{', '.join(names)}], got {_shown(value)}")
        try:
            return tuple(map(_number, value))
        except ValueError as error:
            raise ValueError(f"each entry {error} in {_shown(value)}") from None

    return check


_vector = _numbers("x", "y", "z")


def _box(value: Any) -> tuple[float, ...]:
    if min(lengths := _vector(value)) <= 0:
        raise ValueError(f"each length must be above 0, got {_shown(value)}")
    return lengths


def _sphere(value: Any) -> tuple[float, ...]:
    if (row := _numbers("x", "y", "z", "radius")(value))[3] <= 0:
        raise ValueError(f"the radius must be above 0, got {_shown(row[3])}")
    return row


def _unit(*names: str) -> Callable[[Any], tuple[float, ...]]:
    def check(value: Any) -> tuple[float, ...]:
        vector = _numbers(*names)(value)
        if (largest := max(map(abs, vector))) == 0:
            raise ValueError(f"must not be all zeros, got {_shown(value)}")
        scaled = [x / largest for x in vector]  # huge squares overflow, tiny ones vanish
        norm = math.hypot(*scaled)
        # A unit vector but for round-off is left alone, so that what is written out reads back equal.
        return vector if abs(norm * largest - 1) < 1e-15 else tuple(x / norm for x in scaled)

    return check


def _rayleigh_fraction(text: str) -> float:
    number, _, unit = text.strip().partition(" ")
    if unit.strip() != "rayleigh":
        raise ValueError
    return _positive(float(number))


def _time_step(value: Any) -> float | str:
    if not isinstance(value, str):
        return _positive(value)
    try:
        _rayleigh_fraction(value)
    except ValueError:
        rule = 'must be seconds or a positive multiple such as "0.1 rayleigh"'
        raise ValueError(f"{rule}, got {_shown(value)}") from None
    return value


def _integrator(value: Any) -> str:
    from ..engine.rotation.registry import SCHEMES

    if _text(value) not in SCHEMES:
        raise ValueError(_unknown("integrator", value, SCHEMES))
    if (evaluations := SCHEMES[value].torque_evaluations) > 1:
        raise ValueError(f'"{value}" needs {evaluations} torque evaluations a step: only for `minidem rotor`')
    return value


def _builtin(value: Any) -> str:
    from ..shapes.builtin import BUILTINS

    if _text(value) not in BUILTINS:
        raise ValueError(_unknown("built-in shape", value, BUILTINS))
    return value


def _builtin_height(name: Any) -> float:
    from ..shapes.builtin import BUILTINS

    return BUILTINS[_builtin(name)].height


def _mass_source(value: Any) -> str:
    if value not in ("spheres", "mesh"):
        raise ValueError(f'must be "spheres" or "mesh", got {_shown(value)}')
    return str(value)


def _sphere_list(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of one or more [x, y, z, radius] rows, got {_shown(value)}")
    return value


def _table_list(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of tables, written [[{info.field_name}]]")
    return value


Number3 = tuple[float, float, float]
Number4 = tuple[float, float, float, float]
Vector = Annotated[Number3, PlainValidator(_vector)]
Normal = Annotated[Number3, PlainValidator(_unit("x", "y", "z"))]
Quaternion = Annotated[Number4, PlainValidator(_unit("w", "x", "y", "z"))]
Sphere = Annotated[Number4, PlainValidator(_sphere)]
Positive = Annotated[float, PlainValidator(_positive)]
NotNegative = Annotated[float, PlainValidator(_not_negative)]
Limit = Annotated[float, PlainValidator(_limit)]
Text = Annotated[str, PlainValidator(_text)]
Count = Annotated[int, PlainValidator(_whole(1, MAX_COUNT))]


# --- tables -------------------------------------------------------------------------------------------------


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Time(Table):
    dt: Annotated[float | str, PlainValidator(_time_step)]  # s, or "x rayleigh"
    end: Positive  # s


class Integrator(Table):
    rotation: Annotated[str, PlainValidator(_integrator)] = "spiral"


class Domain(Table):
    box: Annotated[Number3 | None, PlainValidator(_box)] = None  # m, a corner at the origin; None: open space
    material: Annotated[str | None, PlainValidator(_text)] = None  # of the box's walls
    gravity: Vector = (0.0, 0.0, 0.0)  # m/s^2


class Material(Table):
    young: Annotated[float, PlainValidator(_modulus)]  # Pa
    poisson: Annotated[float, PlainValidator(_above(-1, below=0.5))]
    density: Positive  # kg/m^3


class ClumpSpec(Table):
    """Where a clump's spheres come from: exactly one of spheres, file and builtin."""

    spheres: Annotated[tuple[Sphere, ...] | None, BeforeValidator(_sphere_list)] = None
    file: Annotated[str | None, PlainValidator(_text)] = None  # absolute, once loaded
    builtin: Annotated[str | None, PlainValidator(_builtin)] = None
    scale: Annotated[float | None, PlainValidator(_positive)] = None  # of spheres and file
    height: Annotated[float | None, PlainValidator(_positive)] = None  # m, of a builtin; its own if not given
    count: Annotated[int | None, PlainValidator(_whole(1, MAX_SPHERES))] = None  # spheres of a builtin; its own if not given
    density: Annotated[float | None, PlainValidator(_positive)] = None  # kg/m^3, instead of the material's
    mass: Annotated[float | None, PlainValidator(_positive)] = None  # kg, instead of a density
    mass_from: Annotated[str, PlainValidator(_mass_source)] = "spheres"  # or "mesh": of the mesh that the file was fitted to
    material: Text

    def sphere_rows(self) -> np.ndarray:
        """(n, 4) x, y, z, radius in the user's frame, scaled, m."""
        if self.builtin is not None:
            from ..shapes.builtin import builtin_spheres

            return builtin_spheres(self.builtin, self.height, self.count)
        if self.file is None:
            rows = np.array(self.spheres)
        elif not os.path.isfile(self.file):
            raise InputError(f"{self.file}: no such file")
        else:
            from ..shapes.clump import read_spheres

            rows = read_spheres(self.file)
        if len(rows) > MAX_SPHERES:
            raise InputError(f"{len(rows)} spheres are more than the {MAX_SPHERES} that a clump may have; take fewer")
        with np.errstate(over="ignore"):
            rows = rows * (self.scale or 1.0)
        if not (np.isfinite(rows).all() and (rows[:, 3] > 0).all()):
            raise InputError(f"some sphere has no finite, positive radius after scaling by {self.scale}")
        return rows


class Place(Table):
    """Bodies at random places: so many, without overlap, or so dense that they press on each other."""

    clump: Text
    count: Annotated[int | None, PlainValidator(_whole(1, MAX_BODIES))] = None
    packing_fraction: Annotated[float | None, PlainValidator(_above(0, below=MAX_PACKING))] = None  # volume over the box's
    speed: NotNegative = 0.0  # m/s, in a random direction
    spin: NotNegative = 0.0  # rad/s, about a random axis


class Body(Table):
    clump: Text
    position: Vector  # m, of the centre of mass
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)  # m/s
    angular_velocity: Vector = (0.0, 0.0, 0.0)  # rad/s, world frame


class Wall(Table):
    point: Vector  # m
    normal: Normal  # to the side the bodies live on
    material: Text


class Output(Table):
    frames: Count = 250
    energies: Count = 1000


class Guard(Table):
    """When a run is stopped, because it can no longer be right; each is a number, or false: no such guard."""

    energy: Limit = 100.0  # the total energy deviates by so many times its first value
    overlap: Limit = 0.5  # of two spheres, or of one and a wall, in radii of the smaller sphere
    travel: Limit = 0.25  # of a body in one step, in radii of the smallest sphere
    turn: Limit = 0.5  # of a body in one step, rad
    outside: Annotated[bool, PlainValidator(_switch)] = True  # a centre of mass is behind a wall
    rayleigh: Limit = 1.0  # dt in Rayleigh times; a warning
    contact: Limit = 1.0  # dt in Hertz contact times; no run


class Scenario(Table):
    """A whole scenario, made by ``load`` or ``parse``: these also check what joins the tables."""

    schema_version: Annotated[int, PlainValidator(_whole(1, 1))] = Field(default=1, alias="schema")
    name: Annotated[str, PlainValidator(_name)]
    seed: Annotated[int, PlainValidator(_whole(0, 2**63 - 1))] = 0
    time: Time
    integrator: Integrator = Integrator()
    domain: Domain = Domain()
    material: dict[str, Material] = {}
    clump: dict[str, ClumpSpec] = {}
    place: Annotated[tuple[Place, ...], BeforeValidator(_table_list)] = ()
    body: Annotated[tuple[Body, ...], BeforeValidator(_table_list)] = ()
    wall: Annotated[tuple[Wall, ...], BeforeValidator(_table_list)] = ()
    output: Output = Output()
    guard: Guard = Guard()

    @property
    def used_clumps(self) -> list[str]:
        """Names of the clumps that have a body, in the file's order."""
        used = {place.clump for place in self.place} | {body.clump for body in self.body}
        return [name for name in self.clump if name in used]

    def rayleigh_time(self, spheres: Mapping[str, np.ndarray]) -> float:
        """The smallest of all spheres of the used clumps, s; spheres: (n, 4) rows by clump name."""
        return min(
            rayleigh_time(float(spheres[name][:, 3].min()), self.material[self.clump[name].material])
            for name in self.used_clumps
        )

    def dt_seconds(self, spheres: Mapping[str, np.ndarray]) -> float:
        """The time step, s; spheres as for ``rayleigh_time``."""
        if isinstance(self.time.dt, float):
            return self.time.dt
        return _rayleigh_fraction(self.time.dt) * self.rayleigh_time(spheres)

    def steps(self, dt: float, source: str = "") -> int:
        """How many steps of dt seconds; at least one. The source names the scenario in a message."""
        if not 0 < dt < math.inf or self.time.end / dt > MAX_STEPS:
            rule = f"must allow the end to be reached in at most {MAX_STEPS:.0e} steps"
            raise ScenarioError([f"{source or self.name}: time.dt: {rule}, got {dt:g} s"])
        return max(1, round(self.time.end / dt))

    def with_changes(self, changes: Mapping[str, Any]) -> "Scenario":
        """A checked copy: {"time.end": 1.0, "body[0].velocity": (1, 0, 0)}; None removes a key.

        A relative clump file is looked for in the working directory.
        """
        data = _plain(self._as_tables())
        for path, value in changes.items():
            _assign(data, _split_path(path), _plain(value), path)
        return _build(data, self.name, ".", {})

    def to_toml(self) -> str:
        """With every default filled in; parses back to an equal scenario."""
        return _toml_document(self._as_tables())

    def _as_tables(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


TABLES: dict[str, type[Table]] = {
    "time": Time,
    "integrator": Integrator,
    "domain": Domain,
    "material": Material,
    "clump": ClumpSpec,
    "place": Place,
    "body": Body,
    "wall": Wall,
    "output": Output,
    "guard": Guard,
}
NAMED_TABLES = ("material", "clump")  # written [material.NAME]
LISTED_TABLES = ("place", "body", "wall")  # written [[place]]


# --- times --------------------------------------------------------------------------------------------------


def rayleigh_time(radius: float, material: Material) -> float:
    """Of a sphere, s: pi R sqrt(rho / G) / (0.1631 v + 0.8766)."""
    shear_modulus = material.young / (2 * (1 + material.poisson))
    wave_factor = 0.1631 * material.poisson + 0.8766
    return math.pi * radius * math.sqrt(material.density / shear_modulus) / wave_factor


def hertz_contact_time(
    effective_mass: float, effective_radius: float, effective_modulus: float, closing_speed: float
) -> float:
    """Duration of a Hertz collision, s: 2.87 (m*^2 / (R* E*^2 u))^(1/5); infinite without approach."""
    if closing_speed == 0:
        return math.inf
    return 2.87 * (effective_mass**2 / (effective_radius * effective_modulus**2 * closing_speed)) ** 0.2


# --- reading ------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of a file, with "table.key=value" overrides."""
    return parse(read_text(path), Path(path).name, Path(path).parent, overrides)


def read_text(path: str | os.PathLike[str], regular: bool = False) -> str:
    """The text of a scenario file, line ends and all. A user may name a pipe; what other files name must be `regular`."""
    path = Path(path)
    try:
        if regular and path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: not a regular file; give a scenario file")
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except ValueError:  # a NUL in the name
        raise InputError(f"{path}: no file can have this name; give a scenario file") from None
    except OSError as error:
        reason = "is a directory" if os.path.isdir(path) else str(error.strerror).lower()
        raise InputError(f"{path}: {reason}; give a scenario file") from None
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"{path}: larger than {MAX_FILE_BYTES // 1024**2} MB; give a scenario file")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start + 1}); give a scenario file") from None


def parse(
    text: str,
    source: str = "scenario",
    directory: str | os.PathLike[str] = ".",
    overrides: Sequence[str] = (),
) -> Scenario:
    """The scenario of a TOML text; source is its name in messages, clump files are relative to directory."""
    try:
        data = _plain(tomllib.loads(text.removeprefix("\ufeff")))  # some editors mark UTF-8 so
    except (ValueError, RecursionError) as error:
        raise ScenarioError([f"{source}: {_syntax_message(str(error), text)}"]) from None
    set_by = {}
    for override in overrides:
        keys, value = _split_override(override)
        set_by[_assign(data, keys, value, f"--set {override}")] = f"--set {override}"
    return _build(data, source, directory, set_by)


def _build(data: dict[str, Any], source: str, directory: str | os.PathLike[str], set_by: Mapping[Loc, str]) -> Scenario:
    """Check everything; set_by: what to name instead of the source for the values at and below a place."""
    order = list(data)
    unknown, mended = _mend_keys(data)
    _fill_in(data, source, directory)
    found: list[tuple[Loc, str]] = []
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as failure:
        found = [(error["loc"], _table_message(error)) for error in failure.errors(include_url=False)]
    found += _joint_errors(data, {loc for loc, _ in found})
    # What lies under a misspelt key can be judged once the key is right.
    found = [error for error in found if not any(error[0][: len(loc)] == loc for loc in mended)]

    errors = unknown + found
    errors.sort(key=lambda error: order.index(error[0][0]) if error[0][0] in order else len(order))
    lines = []
    for loc, message in errors:
        setters = [text for place, text in set_by.items() if loc[: len(place)] == place]
        lines.append(f"{setters[-1] if setters else source}: {_path(loc)}: {message}")
    if lines:
        raise ScenarioError(lines)
    return scenario


def _plain(value: Any, depth: int = 0) -> Any:
    """A copy of dicts and lists alone, with arrays as lists."""
    if depth > 20:
        raise RecursionError("tables and lists are nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _syntax_message(message: str, text: str) -> str:
    """tomllib's "What (at line 3, column 5)" as place, what and the line itself."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if not match:
        return f"not valid TOML: {message}"
    hint = "; text needs quotes" if match[1].startswith(("Invalid value", "Expected newline")) else ""
    line = "".join(filter(str.isprintable, text.split("\n")[int(match[2]) - 1])).strip()
    return f"line {match[2]}, column {match[3]}: {match[1][0].lower()}{match[1][1:]}{hint}, in: {line[:70]}"


# --- changing single keys -----------------------------------------------------------------------------------

_KEY = r'"[^"]*"|[^\s."=\[\]]+'
_KEY_PATH = rf"(?:{_KEY})(?:\.(?:{_KEY})|\[\d+\])*"


def _split_path(path: str) -> list[str]:
    if not re.fullmatch(_KEY_PATH, path):
        raise InputError(f"{_shown(path)}: must be a path of keys such as time.end or body[0].velocity")
    return [key.strip('"') for key in re.findall(_KEY, path)]


def _split_override(text: str) -> tuple[list[str], Any]:
    match = re.fullmatch(rf"\s*({_KEY_PATH})\s*=(.*)", text)
    if not match or not text.isprintable():
        raise InputError(f"--set {_shown(text)}: must be table.key=value, for example time.end=2.5")
    try:
        value = _plain(tomllib.loads(f"value = {match[2]}")["value"])
    except (ValueError, RecursionError):  # text may go without quotes here
        value = match[2].strip()
    return _split_path(match[1]), value


def _assign(data: dict[str, Any], keys: Sequence[str], value: Any, label: str) -> Loc:
    """Set one value in place, or remove it (None); returns the place of the outermost thing that is new."""
    at: Any = data
    loc: Loc = ()
    new: Loc = ()
    for depth, key in enumerate(keys):
        index: Any = key
        if isinstance(at, list) and key in map(str, range(len(at))):
            index = int(key)
        elif not isinstance(at, dict):
            given = f"a list of {len(at)}, counted from 0" if isinstance(at, list) else _shown(at)
            raise InputError(f"{label}: {_path(loc)} has no {key}; it is {given}")
        loc += (index,)
        if depth < len(keys) - 1:
            if isinstance(at, dict) and key not in at:
                at[key] = {}
                new = new or loc
            at = at[index]
    if value is not None:
        at[loc[-1]] = value
    else:
        with contextlib.suppress(KeyError):
            del at[loc[-1]]
    return new or loc


# --- checks of the whole ------------------------------------------------------------------------------------


def _tables(data: Mapping[str, Any]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Each table with its place; what should be a table and is none is left out."""
    for key in TABLES:
        value = data.get(key)
        entries: list[tuple[Loc, Any]] = [((key,), value)]
        if key in NAMED_TABLES:
            entries = [((key, n), table) for n, table in value.items()] if isinstance(value, dict) else []
        elif key in LISTED_TABLES:
            entries = [((key, i), table) for i, table in enumerate(value)] if isinstance(value, list) else []
        yield from ((loc, table) for loc, table in entries if isinstance(table, dict))


def _mend_keys(data: dict[str, Any]) -> tuple[list[tuple[Loc, str]], set[Loc]]:
    """Report unknown keys, and move their values to the keys that were meant so that those are not missing.

    Returns the errors and the places of the moved values.
    """
    errors: list[tuple[Loc, str]] = []
    mended: set[Loc] = set()

    def mend(loc: Loc, table: dict[str, Any], valid: Sequence[str]) -> None:
        for key in [key for key in table if key not in valid]:
            meant = nearest(key, valid)
            hint = f'did you mean "{meant}"?' if meant else f"valid keys: {', '.join(valid)}"
            errors.append(((*loc, key), f"unknown key; {hint}"))
            value = table.pop(key)
            if meant and meant not in table:
                table[meant] = value
                mended.add((*loc, meant))

    mend((), data, ["schema", "name", "seed", *TABLES])
    for loc, table in _tables(data):
        if loc[:1] not in mended:
            mend(loc, table, list(TABLES[str(loc[0])].model_fields))
    return errors, mended


def _fill_in(data: dict[str, Any], source: str, directory: str | os.PathLike[str]) -> None:
    """The defaults that depend on other things than their own key."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(source).stem).lstrip(".")
    data.setdefault("name", stem[:64] or "scenario")
    for clump in [table for loc, table in _tables(data) if loc[0] == "clump"]:
        if isinstance(clump.get("file"), str):
            clump["file"] = os.path.abspath(os.path.join(directory, clump["file"]))
        if "builtin" not in clump:
            clump.setdefault("scale", 1.0)
        elif "height" not in clump:
            with contextlib.suppress(ValueError):
                clump["height"] = _builtin_height(clump["builtin"])


def _table_message(error: Any) -> str:
    """pydantic's finding in plain English."""
    key = error["loc"][0]
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        remedy = "; add a [time] table with dt and end" if error["loc"] == ("time",) else ""
        return f"required, but missing{remedy}"
    named = f"[{key}.NAME]" if key in NAMED_TABLES else f"[{key}]"
    return f"must be a table, written {f'[{named}]' if key in LISTED_TABLES else named}"


def _joint_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    """What is wrong between keys and between tables; wrong: the places that have an error of their own."""
    for loc, table in _tables(data):
        if loc[0] in NAMED_TABLES and "\0" in str(loc[1]):  # which HDF5 cannot store
            yield loc, "must have a name without the character zero"
        for key in ("material", "clump"):
            name, known = table.get(key), data.get(key, {})
            if isinstance(name, str) and isinstance(known, dict) and name not in known:
                yield (*loc, key), _unknown(key, name, known)
        if loc[0] == "clump":
            yield from _clump_errors(loc, table, wrong)

    domain, place, body = data.get("domain", {}), data.get("place", []), data.get("body", [])
    if isinstance(domain, dict):
        if "box" in domain and "material" not in domain:
            yield ("domain", "material"), "required with a box, but missing: the material of its walls"
        if "box" not in domain and isinstance(place, list) and place:
            yield ("place",), "random placement needs a box; add one to [domain] or use [[body]]"
    yield from _place_errors(data, wrong)
    if place == [] and body == []:
        yield ("body",), "there is nothing to simulate; add at least one [[body]] or [[place]]"


def _place_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    total, packed = 0.0, 0
    for loc, place in _tables(data):
        if loc[0] != "place":
            continue
        here = (*loc, "packing_fraction")
        if "packing_fraction" not in place:
            if "count" not in place:
                yield (*loc, "count"), "required, but missing; give a count or a packing_fraction"
        elif "count" in place:
            yield here, "give a count or a packing_fraction, not both"
        elif here not in wrong:
            total, packed = total + place["packing_fraction"], packed + 1
            if packed > 1 and total >= MAX_PACKING:
                yield here, f"the fractions up to here must add up to less than {MAX_PACKING}, got {total:.6g}; lower some"


def _clump_errors(loc: Loc, clump: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    if "density" in clump and "mass" in clump:
        yield (*loc, "mass"), "give a mass or a density, not both"
    if clump.get("mass_from") == "mesh" and "file" not in clump:
        yield (*loc, "mass_from"), 'must be "spheres" without a file that minidem clump made from a mesh'
    given = [key for key in ("spheres", "file", "builtin") if key in clump]
    if len(given) != 1:
        yield loc, f"needs exactly one of spheres, file and builtin, got {' and '.join(given) or 'none'}"
    elif given == ["builtin"]:
        if "scale" in clump:
            yield (*loc, "scale"), "is for spheres and files; a builtin takes its height"
        yield from _builtin_count_errors(loc, clump, wrong)
    else:
        if "height" in clump:
            yield (*loc, "height"), "is for a builtin; spheres and files take a scale"
        if "count" in clump:
            yield (*loc, "count"), "is for a builtin"
        spheres = (*loc, *given)
        if not any(place[: len(spheres)] == spheres for place in wrong):
            table = {given[0]: clump[given[0]], "material": ""}
            if (*loc, "scale") not in wrong:
                table["scale"] = clump["scale"]
            try:
                ClumpSpec.model_validate(table).sphere_rows()
                if clump.get("mass_from") == "mesh" and given == ["file"]:
                    from ..shapes.clump import read_mesh_moments

                    read_mesh_moments(clump["file"])
            except InputError as error:
                yield spheres, str(error).replace("\n", "; ")


def _builtin_count_errors(loc: Loc, clump: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    from ..shapes.builtin import BUILTINS

    if "count" in clump and not {(*loc, "count"), (*loc, "builtin")} & wrong:
        shape = BUILTINS[clump["builtin"]]
        if not shape.valid_count(clump["count"]):
            yield (*loc, "count"), f'must be {shape.count_rule} for "{clump["builtin"]}", got {clump["count"]}'


# --- writing ------------------------------------------------------------------------------------------------


def _toml_document(data: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_toml_value(value)}" for key, value in data.items() if key not in TABLES]
    for loc, table in _tables(_plain(data)):
        key, *name = loc
        header = f"[[{key}]]" if key in LISTED_TABLES else f"[{_path((key, *name))}]"
        lines += ["", header]
        for entry, value in table.items():
            text = _toml_value(value)
            if entry == "spheres":
                text = "[\n" + "".join(f"    {_toml_value(row)},\n" for row in value) + "]"
            lines.append(f"{entry} = {text}")
    return "\n".join(lines) + "\n"
