"""The tables of a scenario file, checked and frozen."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from ..errors import InputError
from ..shapes import MAX_SPHERES
from . import values
from .values import LEAST, MOST, Count, Factor, Limit, Normal, NotNegative, Number3, Quaternion, Size, Sphere, Text, Vector
from .writing import LISTED_TABLES, NAMED_TABLES, Loc


class Table(BaseModel):
    """A table of a scenario file; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def about(description: str, unit: str = "", default: str = "") -> Any:
    """What the schema and the reference say about a key: its meaning, its unit, and its default if that is not a value."""
    return Field(description=description, json_schema_extra={"unit": unit, "default": default})


class Time(Table):
    """The time step and the end of the run."""

    dt: Annotated[
        float | str,
        PlainValidator(values.time_step),
        about('Time step: seconds, a multiple such as "0.1 rayleigh", or "drift 1e-5" for that energy drift.', "s"),
    ]
    end: Annotated[Size, about("End of the run.", "s")]


class Integrator(Table):
    """How bodies are advanced."""

    rotation: Annotated[
        str, PlainValidator(values.integrator), about("Rotational integrator; `minidem integrators` lists them.")
    ] = "spiral"


class Contact(Table):
    """How bodies in contact push each other."""

    law: Annotated[str, PlainValidator(values.contact_law), about("Contact law; `minidem laws` lists them.")] = "hertz"
    edges: Annotated[
        str, PlainValidator(values.edges), about("Whether the energy error where contacts begin and end is taken out.")
    ] = "plain"


class Domain(Table):
    """The closed box, if any, and gravity."""

    box: Annotated[
        Number3 | None,
        PlainValidator(values.box),
        about("Edge lengths of a closed box with a corner at the origin.", "m", "open space"),
    ] = None
    material: Annotated[
        str | None, PlainValidator(values.text), about("Material of the walls of the box.", default="required with a box")
    ] = None
    gravity: Annotated[Vector, about("Acceleration; its potential is part of the total energy.", "m/s^2")] = (0.0, 0.0, 0.0)


class Material(Table):
    """A material. Besides these it has the keys that a contact law declares; all of them are positive factors."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Factor] = Field(init=False)

    young: Annotated[Factor, about("Young's modulus.", "Pa")]
    poisson: Annotated[float, PlainValidator(values.above(-1, below=0.5)), about("Poisson's ratio.")]
    density: Annotated[Size, about("Density.", "kg/m^3")]

    @property
    def numbers(self) -> dict[str, float]:
        """Young's modulus (Pa), Poisson's ratio, density (kg/m^3) and the keys of contact laws, by key."""
        return self.model_dump()


class ClumpSpec(Table):
    """Where a clump's spheres come from: exactly one of spheres, file and builtin."""

    spheres: Annotated[
        tuple[Sphere, ...] | None,
        BeforeValidator(values.sphere_list),
        about("Rows of x, y, z, radius.", "m", "one of spheres, file and builtin is required"),
    ] = None
    file: Annotated[
        str | None,
        PlainValidator(values.text),
        about("File with rows of x, y, z, radius, relative to the scenario file.", default="see spheres"),
    ] = None
    builtin: Annotated[
        str | None, PlainValidator(values.builtin), about("Name of a built-in shape.", default="see spheres")
    ] = None
    scale: Annotated[
        float | None, PlainValidator(values.positive), about("Factor for the numbers of spheres or file.", default="1")
    ] = None
    height: Annotated[
        float | None, PlainValidator(values.size), about("Height of a built-in shape.", "m", "that of the shape")
    ] = None
    count: Annotated[
        int | None,
        PlainValidator(values.whole(1, MAX_SPHERES)),
        about("Number of spheres of a built-in shape.", default="that of the shape"),
    ] = None
    density: Annotated[
        float | None,
        PlainValidator(values.size),
        about("Density, instead of that of the material.", "kg/m^3", "that of the material"),
    ] = None
    mass: Annotated[
        float | None, PlainValidator(values.factor), about("Mass, instead of a density.", "kg", "density times volume")
    ] = None
    mass_from: Annotated[
        str,
        PlainValidator(values.mass_source),
        about("What mass properties are computed from: the union of the spheres, or the mesh that the file was fitted to."),
    ] = "spheres"
    material: Annotated[Text, about("Name of a [material.NAME] table.")]

    def sphere_rows(self) -> NDArray[np.float64]:
        """Spheres (n, 4): x, y, z, radius in the user's frame, scaled, m."""
        if self.builtin is not None:
            from ..shapes.builtin import builtin_spheres

            return builtin_spheres(self.builtin, self.height, self.count)
        if self.file is None:
            rows = np.array(self.spheres)
        else:
            from ..shapes.sphere_files import read_spheres

            rows = read_spheres(self.file)
        with np.errstate(over="ignore"):
            rows = rows * (self.scale or 1.0)
        if not (rows[:, 3] >= LEAST).all() or not (np.abs(rows) <= MOST).all():
            rule = f"radii must be at least {LEAST} m, and all numbers at most {MOST} m"
            raise InputError(f"{rule}, after scaling by {self.scale}; lengths are in metres")
        return rows


class Place(Table):
    """Bodies placed at random: `count` of them without overlap, or packed to `packing_fraction`."""

    clump: Annotated[Text, about("Name of a [clump.NAME] table.")]
    count: Annotated[
        int | None,
        PlainValidator(values.whole(1, values.MAX_BODIES)),
        about("Number of bodies, placed without overlap.", default="count or packing_fraction is required"),
    ] = None
    packing_fraction: Annotated[
        float | None,
        PlainValidator(values.above(0, below=values.MAX_PACKING)),
        about("Fraction of the box that the bodies fill, packed until they touch.", default="see count"),
    ] = None
    speed: Annotated[NotNegative, about("Speed, in a random direction.", "m/s")] = 0.0
    spin: Annotated[NotNegative, about("Angular speed, about a random axis.", "rad/s")] = 0.0


class Body(Table):
    """One body."""

    clump: Annotated[Text, about("Name of a [clump.NAME] table.")]
    position: Annotated[Vector, about("Position of the centre of mass.", "m")]
    orientation: Annotated[
        Quaternion, about("Quaternion (w, x, y, z) from the clump as given to the world; scaled to length one.")
    ] = (1.0, 0.0, 0.0, 0.0)
    velocity: Annotated[Vector, about("Velocity.", "m/s")] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, about("Angular velocity, world frame.", "rad/s")] = (0.0, 0.0, 0.0)


class Wall(Table):
    """A half-space."""

    point: Annotated[Vector, about("A point of the plane.", "m")]
    normal: Annotated[Normal, about("Normal to the side of the bodies; scaled to length one.")]
    material: Annotated[Text, about("Name of a [material.NAME] table.")]


class Output(Table):
    """What a run records."""

    frames: Annotated[Count, about("Number of trajectory frames, evenly spaced; 1: the last step only.")] = 250
    energies: Annotated[Count, about("Number of rows in the energy log, evenly spaced.")] = 1000
    fields: Annotated[
        tuple[str, ...],
        PlainValidator(values.fields),
        about("What is recorded of the bodies in each frame; position and orientation are needed."),
    ] = values.FIELDS
    precision: Annotated[str, PlainValidator(values.precision), about("Precision of the numbers in the frames.")] = "double"
    compression: Annotated[
        int, PlainValidator(values.whole(0, 9)), about("Level of gzip compression of the frames; 0: none.")
    ] = 0


class Guard(Table):
    """The limits at which a run is stopped because it can no longer be right; false switches one off."""

    energy: Annotated[Limit, about("Stop if abs(E - E0) exceeds this many abs(E0).")] = 100.0
    overlap: Annotated[Limit, about("Stop if spheres overlap by more than this fraction of the smaller radius.")] = 0.5
    travel: Annotated[
        Limit, about("Stop if a body moves by more than this fraction of the smallest radius in one step.")
    ] = 0.25
    turn: Annotated[Limit, about("Stop if a body turns by more than this angle in one step.", "rad")] = 0.5
    outside: Annotated[
        bool, PlainValidator(values.switch), about("Whether to stop if a centre of mass is behind a wall.")
    ] = True
    rayleigh: Annotated[Limit, about("Warn if dt exceeds this many Rayleigh times.")] = 1.0
    contact: Annotated[Limit, about("Refuse to start if dt exceeds this many contact times.")] = 1.0


TABLES: dict[str, type[Table]] = {
    "time": Time,
    "integrator": Integrator,
    "contact": Contact,
    "domain": Domain,
    "material": Material,
    "clump": ClumpSpec,
    "place": Place,
    "body": Body,
    "wall": Wall,
    "output": Output,
    "guard": Guard,
}


def tables_in(data: Mapping[str, Any]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Each table of a scenario as read, with its place; values that should be tables and are not are left out."""
    for key in TABLES:
        value = data.get(key)
        entries: list[tuple[Loc, Any]] = [((key,), value)]
        if key in NAMED_TABLES:
            entries = [((key, n), table) for n, table in value.items()] if isinstance(value, dict) else []
        elif key in LISTED_TABLES:
            entries = [((key, i), table) for i, table in enumerate(value)] if isinstance(value, list) else []
        yield from ((loc, table) for loc, table in entries if isinstance(table, dict))


def valid_keys(table: str) -> list[str]:
    """The keys that a table of this name may have."""
    keys = list(TABLES[table].model_fields)
    if table == "material":
        from ..engine.contact.registry import LAWS

        keys += [key for law in LAWS.values() for key in law.keys]
    return list(dict.fromkeys(keys))
