"""CSV, for spreadsheets."""

import re
from pathlib import Path

import numpy as np

from ...files.spreadsheets import cell_text
from ...files.whole import replacing
from .cloud import Cloud, Columns
from .text import write_rows


def write_csv(cloud: Cloud, path: Path) -> list[Path]:
    """Write a row for each point of each frame."""
    cells = [cell_text(name) for name in cloud.names]
    quoted = ['"' + cell.replace('"', '""') + '"' if re.search('[",;\\s]', cell) else cell for cell in cells]
    names = np.array(quoted)[cloud.fixed["species"]]
    numbers = {name: values for name, values in cloud.fixed.items() if name != "species"}
    with replacing(path) as new, open(new, "w", encoding="utf-8", newline="") as file:
        for snapshot in cloud:
            same = np.ones(len(names), np.int64)
            columns: Columns = {"frame": snapshot.frame * same, "time": snapshot.time * same, "species": names, **numbers}
            columns |= {"": snapshot.position} | snapshot.moving
            if snapshot.frame == cloud.frames[0]:
                file.write(",".join(header_of(columns)) + "\n")
            write_rows(file, ",", columns.values())
    return [path]


def header_of(columns: Columns) -> list[str]:
    """A name for each component, such as x, velocity_x and quaternion_w."""
    axes = {name: "wxyz"[-values.shape[1] :] if values.ndim > 1 else "" for name, values in columns.items()}
    return [f"{name}_{axis}".strip("_") for name in columns for axis in axes[name] or [""]]
