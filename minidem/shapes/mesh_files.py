"""Mesh files: STL, OBJ and PLY."""

import re
import struct
from collections.abc import Generator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..machine import available_memory, in_bytes
from ..small_files import bytes_of
from .mesh import FAULT_FINDERS, Array, Mesh, merged

Faces = Sequence[Sequence[int]] | NDArray[np.int64]
LARGEST_FILE = 512 * 2**20  # bytes
MEMORY_PER_BYTE = 30  # of a mesh file, while it is read as text
MOST_CORNERS = 1000  # of a face: the time to split it into triangles grows as their square
LARGEST_HEADER = 2**16  # bytes, of a PLY file
LARGEST = 1e50  # m; its fifth power is finite


def read_mesh(path: str | PathLike[str]) -> Mesh:
    """A checked mesh from an STL (binary or ASCII), OBJ or PLY file."""
    path = Path(path)
    if path.suffix.lower() not in READERS:
        raise InputError(f"{path}: give a mesh file that ends in {', '.join(READERS)}")
    data = bytes_of(path, LARGEST_FILE, "give a mesh file")
    if not data:
        raise InputError(f"{path}: is empty; give a mesh file")
    if (free := available_memory()) is not None and MEMORY_PER_BYTE * len(data) > free:
        sizes = f"may need {in_bytes(MEMORY_PER_BYTE * len(data))} of memory, {in_bytes(free)} are free"
        raise InputError(f"{path}: {sizes}; reduce the number of triangles")
    try:
        points, faces = READERS[path.suffix.lower()](data)
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        triangles = in_triangles(points, faces)
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError, struct.error) as error:
        what = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(f"{path}: cannot be read as a mesh ({what})") from None
    if not len(triangles):
        raise InputError(f"{path}: holds no triangles")
    if not np.abs(points).max() < LARGEST:
        wrong = int(np.argwhere(~(np.abs(points) < LARGEST))[0, 0])
        raise InputError(f"{path}: point {wrong} is not finite, or farther than {LARGEST:g} m from the origin")
    mesh = merged(points, triangles)
    for fault in FAULT_FINDERS:
        if message := fault(mesh):
            raise InputError(f"{path}: {message}")
    return mesh


# The readers return points and faces of a file's bytes; a bad file raises one of Python's own errors.


def in_triangles(points: Array, faces: Faces) -> NDArray[np.int64]:
    """Corners (f, 3) of the triangles that faces of three or more corners are split into."""
    if not len(faces):
        return np.empty((0, 3), np.int64)
    sizes = {len(face) for face in faces} if isinstance(faces, list) else {3}
    corners = np.concatenate([np.asarray(face) for face in faces]) if len(sizes) > 1 else np.asarray(faces).reshape(-1)
    if not 3 <= min(sizes) <= max(sizes) <= MOST_CORNERS:
        raise ValueError(f"a face of less than three or more than {MOST_CORNERS} corners")
    if corners.dtype.kind not in "iu" or corners.min() < 0 or corners.max() >= len(points):
        raise ValueError(f"a face with a corner that is none of its {len(points)} points")
    if sizes == {3}:
        return corners.astype(np.int64).reshape(-1, 3)
    if not np.abs(points).max() < LARGEST:  # reported by `read_mesh`
        return corners[:3].astype(np.int64).reshape(1, 3)
    import pyvista

    listed = np.concatenate([[len(face), *face] for face in faces])
    return np.asarray(pyvista.PolyData(points, listed).triangulate().regular_faces, dtype=np.int64)


def read_stl(data: bytes) -> tuple[Array, Faces]:
    """Points (p, 3) and faces of a binary or ASCII STL file."""
    if len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("attribute", "<u2")])
        with np.errstate(invalid="ignore"):  # NaNs are reported later
            points = np.frombuffer(data, record, offset=84)["corners"].reshape(-1, 3).astype(float)
    elif data.lstrip()[:5].lower() == b"solid":
        found = re.findall(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", data, re.IGNORECASE)
        if len(found) != 3 * len(re.findall(rb"\bendfacet\b", data, re.IGNORECASE)):
            raise ValueError(f"{len(found)} corners do not make its facets")
        points = np.array([[float(x) for x in corner] for corner in found]).reshape(-1, 3)
    else:
        raise ValueError("its length does not fit its number of triangles")
    return points, np.arange(len(points)).reshape(-1, 3)


def read_obj(data: bytes) -> tuple[Any, Faces]:
    """Points (p, 3) and faces of an OBJ file."""
    points, faces = [], []
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        key, *fields = line.split("#")[0].split() or [""]
        if key == "v":
            points.append([float(x) for x in fields[:3]])
        elif key == "f":
            corners = [int(field.split("/")[0]) for field in fields]
            faces.append([c - 1 if c > 0 else len(points) + c for c in corners])  # counted from 1, or backwards from -1
    return points, faces


PLY_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "float": "f", "double": "d"}
PLY_TYPES |= {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
PLY_TYPES |= {"float32": "f", "float64": "d"}


def read_ply(data: bytes) -> tuple[Any, Faces]:
    """Points (p, 3) and faces of a PLY file."""
    header = re.match(rb"ply\s(.*?)\bend_header[ \t]*\r?\n", data[:LARGEST_HEADER], re.DOTALL)
    if not header:
        raise ValueError("no header of a PLY file")
    kind, elements = "", list[tuple[str, int, list[list[str]]]]()
    for line in header[1].decode("ascii", "replace").splitlines():
        key, *words = line.split() or [""]
        if key == "format":
            kind = words[0]
        elif key == "element":
            elements.append((words[0], int(words[1]), []))
        elif key == "property":
            elements[-1][2].append(words)
    if kind not in ("ascii", "binary_little_endian", "binary_big_endian"):
        raise ValueError(f"format {kind[:40]!r}")
    body = data[header.end() :]
    values = ascii_values(body) if kind == "ascii" else binary_values(body, "<" if "little" in kind else ">")
    next(values)
    points, faces = [], []
    for name, count, properties in elements:
        if not 0 <= count <= len(body) or not properties:  # a row takes at least a byte
            raise ValueError(f"{count} of element {name[:40]}")
        for _ in range(count):
            row = {}
            for words in properties:
                if words[0] == "list":
                    size = int(values.send((PLY_TYPES[words[1]], 1))[0])
                    row[words[3]] = values.send((PLY_TYPES[words[2]], size))
                else:
                    row[words[1]] = values.send((PLY_TYPES[words[0]], 1))[0]
            if name == "vertex":
                points.append([row["x"], row["y"], row["z"]])
            elif name == "face":
                faces.append(row["vertex_indices" if "vertex_indices" in row else "vertex_index"])
    return points, faces


Values = Generator[Any, tuple[str, int], None]


def ascii_values(body: bytes) -> Values:
    """A generator: send it a type and a count, and it yields that many values."""
    words, at, values = body.split(), 0, None
    while True:
        code, count = yield values
        if not 0 <= count <= len(words) - at:
            raise ValueError("it ends early")
        values = [float(word) if code in "fd" else int(word) for word in words[at : at + count]]
        at += count


def binary_values(body: bytes, order: str) -> Values:
    """Like `ascii_values`; `order` is "<" for little endian, ">" for big."""
    at, values = 0, None
    while True:
        code, count = yield values
        layout = f"{order}{count}{code}"
        values = struct.unpack_from(layout, body, at)
        at += struct.calcsize(layout)


READERS = {".stl": read_stl, ".obj": read_obj, ".ply": read_ply}
