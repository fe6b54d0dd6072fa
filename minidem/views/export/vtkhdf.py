"""VTKHDF, for ParaView."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...files.whole import replacing
from .cloud import MOVING, UNITS, Cloud

LARGEST_CHUNK = 2**15  # rows


def write_vtkhdf(cloud: Cloud, path: Path) -> list[Path]:
    """Write VTKHDF 2, PolyData that changes with time: https://docs.vtk.org, VTK File Formats.

    The rows of all frames follow each other; Steps holds the first row of each frame. Values that do not change are stored
    once and start at row 0 in every frame.
    """
    points, count = len(cloud.body), len(cloud.frames)
    first_row, row_0 = points * np.arange(count), np.zeros(count, np.int64)
    with replacing(path) as new, h5py.File(new, "w") as file:
        file.attrs["species"] = cloud.names
        root = file.create_group("VTKHDF")
        root.attrs["Version"], root.attrs["Type"] = np.array([2, 0]), np.bytes_("PolyData")
        put(root, {"NumberOfPoints": [points]})
        for kind in ("Vertices", "Lines", "Polygons", "Strips"):
            cells = points if kind == "Vertices" else 0  # one vertex per point
            sizes = {"NumberOfCells": [cells], "NumberOfConnectivityIds": [cells]}
            put(root.create_group(kind), sizes | {"Offsets": np.arange(cells + 1), "Connectivity": np.arange(cells)})
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = count
        put(steps, {"Values": cloud.times, "NumberOfParts": row_0 + 1, "PartOffsets": row_0, "PointOffsets": first_row})
        by_kind = np.zeros((count, 4), np.int64)  # of cell
        put(steps, {"CellOffsets": by_kind, "ConnectivityIdOffsets": by_kind})
        if cloud.box is not None:
            put(root, {"FieldData/box": cloud.box[None]})
            put(steps, {"FieldDataOffsets/box": row_0, "FieldDataSizes/box": np.tile([3, 1], (count, 1))})
        put(root, {f"PointData/{name}": values for name, values in cloud.fixed.items()})
        put(steps, {f"PointDataOffsets/{name}": row_0 for name in cloud.fixed})
        put(steps, {f"PointDataOffsets/{name}": first_row for name in MOVING})
        rows = min(points * count, max(1024, min(points, LARGEST_CHUNK)))
        # Compression removes the values that are repeated for each sphere of a body.
        packed = {"dtype": np.float64, "compression": "gzip", "compression_opts": 1, "shuffle": True}
        positions = root.create_dataset("Points", (points * count, 3), chunks=(rows, 3), **packed)
        moving = {}
        for name, width in MOVING.items():
            shape, chunks = ((points * count, width), (rows, width)) if width > 1 else ((points * count,), (rows,))
            moving[name] = root.create_dataset(f"PointData/{name}", shape, chunks=chunks, **packed)
        for name, unit in UNITS.items():
            root[f"PointData/{name}"].attrs["unit"] = unit
        for row, snapshot in zip(first_row.tolist(), cloud, strict=True):
            positions[row : row + points] = snapshot.position
            for name, dataset in moving.items():
                dataset[row : row + points] = snapshot.moving[name]
        file.flush()
    return [path]


def put(group: h5py.Group, values: dict[str, Any]) -> None:
    """Write datasets. Each is flushed: a full disk is an error now, later h5py would only print a warning."""
    for name, value in values.items():
        group.create_dataset(name, data=value).flush()
