"""Extended XYZ, for OVITO and ASE."""

import re
from pathlib import Path

import numpy as np

from ...files.whole import replacing
from .cloud import Cloud
from .text import write_rows


def write_xyz(cloud: Cloud, path: Path) -> list[Path]:
    """Write extended XYZ. Columns have the names that OVITO recognises, if any: type, pos, velo, id.

    `type` holds the names of the species, because ASE expects chemical elements in `species`.
    """
    known = {"velocity": "velo", "sphere": "id"}
    names = np.array([re.sub(r"\s", "_", name) or "_" for name in cloud.names])[cloud.fixed["species"]]
    numbers = {name: values for name, values in cloud.fixed.items() if name != "species"}
    lattice = "" if cloud.box is None else 'Lattice="{!r} 0 0 0 {!r} 0 0 0 {!r}" Origin="0 0 0" '.format(*cloud.box.tolist())
    with replacing(path) as new, open(new, "w", encoding="utf-8", newline="") as file:
        for snapshot in cloud:
            columns = {"type": names, "pos": snapshot.position} | {
                known.get(name, name): values for name, values in (numbers | snapshot.moving).items()
            }
            kinds = {"U": "S", "f": "R", "i": "I"}
            properties = ":".join(
                f"{name}:{kinds[values.dtype.kind]}:{values.shape[1] if values.ndim > 1 else 1}"
                for name, values in columns.items()
            )
            head = f'{lattice}Properties={properties} Time={snapshot.time!r} Step={snapshot.step} pbc="F F F"'
            file.write(f"{len(cloud.body)}\n{head}\n")
            write_rows(file, " ", columns.values())
    return [path]
