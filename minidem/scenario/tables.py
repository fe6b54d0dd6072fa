"""The tables of a scenario file, checked and frozen."""

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from ..errors import InputError
from . import values
from .values import Count, Limit, Normal, NotNegative, Number3, Positive, Quaternion, Sphere, Text, Vector
from .writing import LISTED_TABLES, NAMED_TABLES, Loc


class Table(BaseModel):
    """A table of a scenario file; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Time(Table):
    """The time step and the end of the run."""

    dt: Annotated[float | str, PlainValidator(values.time_step)]  # s, "x rayleigh" or "drift x"
    end: Positive  # s


class Integrator(Table):
    """How bodies are advanced."""

    rotation: Annotated[str, PlainValidator(values.integrator)] = "spiral"


class Contact(Table):
    """How bodies in contact push each other."""

    law: Annotated[str, PlainValidator(values.contact_law)] = "hertz"
    edges: Annotated[str, PlainValidator(values.edges)] = "plain"  # or "corrected"


class Domain(Table):
    """The closed box, if any, and gravity."""

    box: Annotated[Number3 | None, PlainValidator(values.box)] = None  # m, a corner at the origin; None: open space
    material: Annotated[str | None, PlainValidator(values.text)] = None  # of the box's walls
    gravity: Vector = (0.0, 0.0, 0.0)  # m/s^2


class Material(Table):
    """A material. Besides these it has the keys that a contact law declares; all of them are numbers above 0."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Positive] = Field(init=False)

    young: Annotated[float, PlainValidator(values.modulus)]  # Pa
    poisson: Annotated[float, PlainValidator(values.above(-1, below=0.5))]
    density: Positive  # kg/m^3

    @property
    def numbers(self) -> dict[str, float]:
        """Young's modulus (Pa), Poisson's ratio, density (kg/m^3) and the keys of contact laws, by key."""
        return self.model_dump()


class ClumpSpec(Table):
    """Where a clump's spheres come from: exactly one of spheres, file and builtin."""

    spheres: Annotated[tuple[Sphere, ...] | None, BeforeValidator(values.sphere_list)] = None  # m
    file: Annotated[str | None, PlainValidator(values.text)] = None  # an absolute path, once loaded
    builtin: Annotated[str | None, PlainValidator(values.builtin)] = None
    scale: Annotated[float | None, PlainValidator(values.positive)] = None  # of spheres and file
    height: Annotated[float | None, PlainValidator(values.positive)] = None  # m, of a builtin; None: its default
    count: Annotated[int | None, PlainValidator(values.whole(1, values.MAX_SPHERES))] = None  # likewise: spheres
    density: Annotated[float | None, PlainValidator(values.positive)] = None  # kg/m^3, instead of the material's
    mass: Annotated[float | None, PlainValidator(values.positive)] = None  # kg, instead of a density
    mass_from: Annotated[str, PlainValidator(values.mass_source)] = "spheres"  # or "mesh", which the file was fitted to
    material: Text

    def sphere_rows(self) -> NDArray[np.float64]:
        """Spheres (n, 4): x, y, z, radius in the user's frame, scaled, m."""
        if self.builtin is not None:
            from ..shapes.builtin import builtin_spheres

            return builtin_spheres(self.builtin, self.height, self.count)
        if self.file is None:
            rows = np.array(self.spheres)
        elif not os.path.isfile(self.file):
            raise InputError(f"{self.file}: no such file")
        else:
            from ..shapes.sphere_files import read_spheres

            rows = read_spheres(self.file)
        if len(rows) > values.MAX_SPHERES:
            raise InputError(f"{len(rows)} spheres are more than the {values.MAX_SPHERES} that a clump may have; take fewer")
        with np.errstate(over="ignore"):
            rows = rows * (self.scale or 1.0)
        if not (np.isfinite(rows).all() and (rows[:, 3] > 0).all()):
            raise InputError(f"some sphere has no finite, positive radius after scaling by {self.scale}")
        return rows


class Place(Table):
    """Bodies placed at random: `count` of them without overlap, or packed to `packing_fraction`."""

    clump: Text
    count: Annotated[int | None, PlainValidator(values.whole(1, values.MAX_BODIES))] = None
    packing_fraction: Annotated[float | None, PlainValidator(values.above(0, below=values.MAX_PACKING))] = None  # of the box
    speed: NotNegative = 0.0  # m/s, in a random direction
    spin: NotNegative = 0.0  # rad/s, about a random axis


class Body(Table):
    """One body."""

    clump: Text
    position: Vector  # m, of the centre of mass
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)  # m/s
    angular_velocity: Vector = (0.0, 0.0, 0.0)  # rad/s, world frame


class Wall(Table):
    """A half-space."""

    point: Vector  # m
    normal: Normal  # to the side of the bodies
    material: Text


class Output(Table):
    """The sizes of the records of a run."""

    frames: Count = 250
    energies: Count = 1000


class Guard(Table):
    """The limits at which a run is stopped because it can no longer be right; false switches one off."""

    energy: Limit = 100.0  # deviation of the total energy, in initial total energies
    overlap: Limit = 0.5  # of two spheres, or of a sphere and a wall, in radii of the smaller sphere
    travel: Limit = 0.25  # of a body per step, in radii of the smallest sphere
    turn: Limit = 0.5  # of a body per step, rad
    outside: Annotated[bool, PlainValidator(values.switch)] = True  # stop if a centre of mass is behind a wall
    rayleigh: Limit = 1.0  # dt in Rayleigh times: above it a warning
    contact: Limit = 1.0  # dt in contact times: above it the run does not start


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
