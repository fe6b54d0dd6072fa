"""Read HDF5 files that may be damaged, unfinished or made to do harm."""

import contextlib
import ctypes
import math
import mmap
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py

from ..errors import InputError
from ..machine import in_bytes

UNWRITTEN = 2**23  # bytes, besides a row, that a writer may have allocated but not written before it was killed
LARGEST_RATIO = 1100  # of compressed data; deflate reaches 1032
COMPRESSIONS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_LZF)  # of which one may be used; others have no bound
HARMLESS = (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)  # filters that keep the size
LARGEST_CHUNK, SMALLEST_CHUNK = 2**20, 2**12  # bytes; HDF5 reads whole chunks, and looks for each of them
SMALLEST_OBJECT = 200  # bytes that a dataset or a group takes in a file
HEAP = b"GCOL\1\0\0\0"  # HDF5 file format: a global heap
READ_ATTEMPTS = 24
# What h5py and HDF5 raise on damaged files.
DAMAGE = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def element(group: h5py.Group, path: str) -> Any:
    """The group or dataset at a path. Only hard links are followed: others may lead to other files."""
    for name in path.split("/"):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise KeyError(f"no {name} in {group.name}")
        group = group[name]
    return group


def group_at(file: h5py.Group, path: str) -> h5py.Group:
    """The group at a path; TypeError for a dataset, in which looking for a name would read all of it."""
    group = element(file, path)
    if not isinstance(group, h5py.Group):
        raise TypeError(f"{path} is no group")
    return group


def members(group: h5py.Group, path: Path | None) -> list[str]:
    """Names of what is in a group of the file at `path` (None for a file in memory). ValueError if the file cannot hold so
    many objects: then many names are links to one, and to follow each would cost more than the file is worth."""
    if path is not None and len(group) > path.stat().st_size // SMALLEST_OBJECT:
        raise ValueError(f"{group.name} names {len(group)} objects, more than the file can hold")
    return list(group)


def text_at(holder: Any, path: Path | None, name: str = "") -> str:
    """The text of a dataset, or of the attribute `name`, in the file at `path` (None for a file in memory)."""
    stored = holder.get_id(name) if name else holder.id
    kind = h5py.check_string_dtype(stored.dtype)
    if stored.shape != () or kind is None:
        raise TypeError(f"{name or holder.name} is no text")
    if path is not None and kind.length is None:
        status = path.stat()
        check_heaps(path, status.st_size, status.st_mtime_ns)
    elif path is not None:
        check_held(name or holder.name, kind.length, min(stored.get_storage_size(), path.stat().st_size))
    text = holder[name] if name else holder[()]
    return text if isinstance(text, str) else bytes(text).decode()


def numbers_at(
    group: h5py.Group,
    path: str,
    shape: tuple[int | None, ...],
    file: Path | None,
    kinds: str = "iuf",
    growing: bool = False,
) -> h5py.Dataset:
    """The dataset of numbers at a path, of the given shape (None for any length) and dtype kinds. `file` is None for a file
    in memory. With `growing`, rows are added while the file may be read.

    A few bytes can declare any size, so what reading takes is compared with what the file holds.
    """
    dataset = element(group, path)
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in kinds or not 4 <= dataset.dtype.itemsize <= 16:
        raise TypeError(f"{path} of {group.name} holds no such numbers")
    found = dataset.shape
    if found is None or len(found) != len(shape) or any(k not in (None, n) for k, n in zip(shape, found, strict=True)):
        raise ValueError(f"{dataset.name} has the shape {found}")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} is kept in other files")
    if file is not None:
        row, declared = (dataset.dtype.itemsize * math.prod(lengths) for lengths in (found[1:], found))
        held = largest_ratio(dataset) * min(dataset.id.get_storage_size(), file.stat().st_size)
        check_held(dataset.name, declared, held + (UNWRITTEN + row if growing else 0))
        if dataset.chunks and declared:
            check_chunks(dataset, declared, row if growing else declared)
    return dataset


def check_held(name: str, declared: int, held: int) -> None:
    """Raise ValueError if a dataset takes more memory than what the file holds of it can be."""
    if declared > held:
        raise ValueError(f"{name} declares {in_bytes(declared)} and holds {in_bytes(held)}")


def largest_ratio(dataset: h5py.Dataset) -> int:
    """The most by which the filters of a dataset can have made it smaller; ValueError if that has no bound."""
    created = dataset.id.get_create_plist()
    filters = [created.get_filter(k)[0] for k in range(created.get_nfilters())]
    compressions = [one for one in filters if one not in HARMLESS]
    if len(compressions) > 1 or not {*compressions} <= {*COMPRESSIONS}:
        raise ValueError(f"{dataset.name} is compressed by filters {filters}; only one of {COMPRESSIONS} can be read")
    return LARGEST_RATIO if compressions else 1


def check_chunks(dataset: h5py.Dataset, declared: int, together: int) -> None:
    """Raise ValueError if the chunks of a dataset of `declared` bytes, of which so many are read `together`, are so large or
    so many that reading takes more than its values are worth."""
    size = dataset.dtype.itemsize * math.prod(dataset.chunks)
    if size > max(LARGEST_CHUNK, together):
        raise ValueError(f"{dataset.name} has chunks of {in_bytes(size)} for {in_bytes(together)}")
    count = math.prod(-(-length // edge) for length, edge in zip(dataset.shape, dataset.chunks, strict=True))
    if count > 100 + declared // SMALLEST_CHUNK:
        raise ValueError(f"{dataset.name} has {count} chunks for {in_bytes(declared)}")


@lru_cache
def check_heaps(path: Path, size: int, changed: int) -> None:
    """Raise ValueError if a heap in a file of that size (bytes), last changed then (ns), is damaged.

    Text of variable length, as in older files, is in heaps without checksums, and HDF5 may loop forever in a damaged one:
    each object must end within its heap and after its beginning.
    """
    objects = 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(HEAP)
        while at >= 0:
            place, end = at + 16, at + int.from_bytes(data[at + 8 : at + 16], "little")
            while place <= end - 16:
                number, size_there = int.from_bytes(data[place : place + 2], "little"), data[place + 8 : place + 16]
                length = int.from_bytes(size_there, "little")
                step = -(-length // 8) * 8 + 16 if number else length  # number 0 is free space, header included
                objects += 1
                if step < 16 or place + step > min(end, len(data)) or 16 * objects > len(data):  # or heaps in heaps
                    raise ValueError("a damaged heap")
                place += step
            at = data.find(HEAP, at + 8)


def opened(path: Path) -> h5py.File:
    """The HDF5 file opened for reading; in reading-while-writing mode if its writer is at work or was killed."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give a run directory or its trajectory.h5")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path}: not an HDF5 file; give a run directory or its trajectory.h5")
    with open(path, "rb") as file:
        superblock = file.read(12)
    written = superblock[8:9] == b"\3" and superblock[11] & 4 != 0  # HDF5 file format, version 3: the SWMR flag
    try:
        return opened_while_written(path) if written else h5py.File(path, "r")
    except (OSError, RuntimeError, LookupError, ValueError) as error:  # h5py raises any of these
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())})") from None


def opened_while_written(path: Path) -> h5py.File:
    """The file opened while another process writes it. What is just being written may look damaged, so HDF5 reads it again
    and doubles the wait before each attempt. Its default of a hundred attempts takes 10^21 s for a file that really is
    damaged; READ_ATTEMPTS take 10 to 20 ms."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    with contextlib.suppress(OSError, AttributeError):  # the HDF5 library is not where it is expected
        set_attempts = ctypes.CDLL(h5py.h5p.__file__).H5Pset_metadata_read_attempts
        set_attempts(ctypes.c_int64(access.id), ctypes.c_uint(READ_ATTEMPTS))
    return h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ, access))
