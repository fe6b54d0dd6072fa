"""Where the rows of a trajectory are in its file, so that they can be read without HDF5.

HDF5 finds rows through metadata that it overwrites in place. A power cut may leave half of that on the disk, and then HDF5
finds no row at all. Rows themselves stay where they are: a checkpoint knows the place of each chunk recorded before it.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np
from numpy.typing import NDArray

from .series import parts_of

Places = dict[str, NDArray[np.int64]]  # offset of each chunk in the file, bytes, by part; see `parts_of`


def places_of(group: h5py.Group, names: tuple[str, ...], rows: int, known: Mapping[str, NDArray[np.int64]]) -> Places:
    """The places of the first `rows` rows of a series, all of which are written. Those `known` already do not change."""
    places = {}
    for part in parts_of(names):
        dataset, before = group[part], known.get(part, np.empty(0, np.int64))
        length, *others = dataset.chunks
        first_rows = range(len(before) * length, rows, length)  # of the chunks that are new
        at = [dataset.id.get_chunk_info_by_coord((row, *(0 for _ in others))).byte_offset for row in first_rows]
        places[part] = np.append(before, np.array(at, np.int64))
    return places


def copy_chunks(
    path: Path, places: Mapping[str, NDArray[np.int64]], new: h5py.Group, names: tuple[str, ...], rows: int, last: int
) -> bool:
    """Copy the first `rows` rows of a series, up to step `last`, from their places in the file at `path`. Returns whether
    they are there; if not, nothing is changed."""
    parts = parts_of(names)
    fits = path.is_file() and places.keys() >= set(parts)  # a pipe might never end
    if not fits or any(len(places[part]) != -(-rows // new[part].chunks[0]) for part in parts):
        return False
    with open(path, "rb") as file:
        try:
            for part in parts:
                deque(chunks_at(file, places[part], new[part]), maxlen=0)  # all can be read
            found = [np.empty(0, np.int64), *chunks_at(file, places[parts[-1]], new[parts[-1]])]
        except (OSError, ValueError):
            return False
        steps = np.concatenate(found)[:rows]
        if (np.diff(steps, prepend=-1) <= 0).any() or (steps > last).any():
            return False  # places in another file
        for part in parts:
            target, begin = new[part], 0
            target.resize(rows, axis=0)
            for values in chunks_at(file, places[part], target):
                target[begin : begin + len(values)] = values[: rows - begin]
                begin += len(values)
            target.flush()  # a full disk raises an error here; later HDF5 would crash
    return True


def chunks_at(file: BinaryIO, places: NDArray[np.int64], like: h5py.Dataset) -> Iterator[NDArray[Any]]:
    """The chunks at some places in a file, of the type and shape of those of a dataset; OSError if one is not there."""
    size = like.dtype.itemsize * int(np.prod(like.chunks))
    for place in places.tolist():
        file.seek(place)
        data = file.read(size)
        if len(data) < size:
            raise OSError("the file ends before")
        yield np.frombuffer(data, like.dtype).reshape(like.chunks)
