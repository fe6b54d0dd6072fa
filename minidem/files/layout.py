"""What is in a trajectory file before its first row: H5MD 1.1, with the scenario, its clumps and walls."""

import getpass
from typing import TYPE_CHECKING

import h5py
import numpy as np

from ..machine import version
from ..scenario.reading import Scenario
from .series import FRAME, LOG, VECTORS, fixed, fixed_length, series

if TYPE_CHECKING:
    from ..model.building import Model


def lay_out(file: h5py.File, scenario: Scenario, model: "Model", text: str, resolved: str) -> None:
    """Write all of a trajectory but its rows to an empty file; `text` is the scenario as its author wrote it."""
    file.create_group("h5md").attrs["version"] = np.array([1, 1], dtype=np.int32)
    file["h5md"].create_group("author").attrs["name"] = fixed_length(user_name())
    creator = file["h5md"].create_group("creator")
    creator.attrs["name"], creator.attrs["version"] = fixed_length("minidem"), fixed_length(version("minidem"))
    units = file["h5md"].create_group("modules/units")
    units.attrs["version"], units.attrs["system"] = np.array([1, 0], dtype=np.int32), fixed_length("SI")

    bodies = file.create_group("particles/bodies")
    box = bodies.create_group("box")
    box.attrs["dimension"] = 3
    box.attrs["boundary"] = np.array([b"none"] * 3)
    if scenario.domain.box is not None:
        fixed(box, "edges", np.array(scenario.domain.box), "m")
    fixed(bodies, "species", model.species.astype(np.int32), "1")
    fixed(bodies, "mass", model.mass, "kg")
    fixed(bodies, "id", np.arange(len(model.species)), "1")
    output, fields = scenario.output, {name: FRAME[name] for name in scenario.output.fields}
    elements: dict[str, tuple[tuple[int, ...], str]] = {
        name: ((len(model.species), size), unit) for name, (size, unit) in fields.items()
    }
    series(bodies, elements, output.precision, output.compression)
    observables: dict[str, tuple[tuple[int, ...], str]] = {name: ((), "J") for name in LOG}
    series(file.create_group("observables"), observables | {name: ((3,), unit) for name, unit in VECTORS.items()})

    parameters = file.create_group("parameters/minidem")
    fixed(parameters, "scenario", fixed_length(text), "1")
    fixed(parameters, "resolved", fixed_length(resolved), "1")
    for k, clump in enumerate(model.clumps):
        group = parameters.create_group(f"clumps/{k}")
        group.attrs["name"], group.attrs["material"] = fixed_length(clump.name), fixed_length(clump.material)
        fixed(group, "spheres", clump.spheres, "m")
        fixed(group, "mass", clump.mass, "kg")
        fixed(group, "volume", clump.volume, "m+3")
        fixed(group, "center", clump.center, "m")
        fixed(group, "inertia", clump.inertia, "kg m+2")
        if builtin := scenario.clump[clump.name].builtin:
            group.attrs["builtin"] = fixed_length(builtin)
    planes = parameters.create_group("walls/planes")  # without those of the box, which has its own edges
    fixed(planes, "point", np.array([wall.point for wall in scenario.wall]).reshape(-1, 3), "m")
    fixed(planes, "normal", np.array([wall.normal for wall in scenario.wall]).reshape(-1, 3), "1")


def user_name() -> str:
    """The name of the user, for the trajectory's author."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
