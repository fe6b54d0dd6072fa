"""Read HDF5 files that may be damaged, unfinished or made to do harm."""

import contextlib
import ctypes
import mmap
import os
from pathlib import Path
from typing import Any

import h5py

from ..errors import InputError
from ..machine import in_bytes

UNWRITTEN = 2**26  # bytes that a writer may have allocated but not written before it was killed
LARGEST_RATIO = 1100  # of compressed data; deflate reaches 1032
HEAP = b"GCOL\1\0\0\0"  # HDF5 file format: a global heap
READ_ATTEMPTS = 24
# What h5py and HDF5 raise on damaged files.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)


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


def text_at(holder: Any, path: Path | None, name: str = "") -> str:
    """The text of a dataset, or of the attribute `name`, in the file at `path` (None for a file in memory)."""
    stored = holder.get_id(name) if name else holder.id
    kind = h5py.check_string_dtype(stored.dtype)
    if stored.shape != () or kind is None:
        raise TypeError(f"{name or holder.name} is no text")
    if kind.length is None and path is not None:
        check_heaps(path)
    text = holder[name] if name else holder[()]
    return text if isinstance(text, str) else bytes(text).decode()


def numbers_at(
    group: h5py.Group, path: str, shape: tuple[int | None, ...], file: Path | None, kinds: str = "iuf"
) -> h5py.Dataset:
    """The dataset of numbers at a path, of the given shape (None for any length) and dtype kinds. `file` is None for a file
    in memory. A few bytes can declare any size, so the declared size is compared with what the file holds."""
    dataset = element(group, path)
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in kinds or dataset.dtype.itemsize > 16:
        raise TypeError(f"{path} of {group.name} holds no such numbers")
    found = dataset.shape
    if found is None or len(found) != len(shape) or any(k not in (None, n) for k, n in zip(shape, found, strict=True)):
        raise ValueError(f"{dataset.name} has the shape {found}")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} is kept in other files")
    if dataset.nbytes > UNWRITTEN and file is not None:
        held = min(dataset.id.get_storage_size(), file.stat().st_size)
        if dataset.nbytes > UNWRITTEN + held * (LARGEST_RATIO if dataset.id.get_create_plist().get_nfilters() else 1):
            raise ValueError(f"{dataset.name} declares {in_bytes(dataset.nbytes)} and holds {in_bytes(held)}")
    return dataset


def check_heaps(path: Path) -> None:
    """Raise ValueError if a heap is damaged. Text of variable length, as in older files, is in heaps without checksums, and
    HDF5 may loop forever in a damaged one: each object must end within its heap and after its beginning."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(HEAP)
        while at >= 0:
            place, end = at + 16, at + int.from_bytes(data[at + 8 : at + 16], "little")
            while place <= end - 16:
                number, size = int.from_bytes(data[place : place + 2], "little"), data[place + 8 : place + 16]
                length = int.from_bytes(size, "little")
                step = -(-length // 8) * 8 + 16 if number else length  # number 0 is free space, header included
                if step < 16 or place + step > end:
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
