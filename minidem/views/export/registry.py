"""The formats of `minidem export`: one module and one row each."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .cloud import Cloud
from .csv import write_csv
from .gsd import write_gsd
from .vtkhdf import write_vtkhdf
from .vtp import series_of, write_vtp
from .xyz import write_xyz


class Format(NamedTuple):
    """How a run is written in one format."""

    suffixes: tuple[str, ...]  # that choose the format; the first is the default
    write: Callable[[Cloud, Path], list[Path]]  # writes the file and returns all files written
    series_of: Callable[[Path], Path] | None = None  # directory of the frames, if the file only lists them
    centred: bool = False  # whether positions are relative to the middle of the box


FORMATS = {
    "vtkhdf": Format((".vtkhdf",), write_vtkhdf),
    "vtp": Format((".pvd", ".vtp"), write_vtp, series_of=series_of),
    "xyz": Format((".xyz", ".extxyz"), write_xyz),
    "csv": Format((".csv",), write_csv),
    "gsd": Format((".gsd",), write_gsd, centred=True),
}
