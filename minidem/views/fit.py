"""The files of `minidem clump`: the spheres fitted to a mesh, and a picture of both."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files.whole import check_free, write_whole
from ..printable import printable
from ..shapes.fitting import csv_text, fit_clump, fit_report
from ..shapes.mesh import Mesh
from ..shapes.mesh_files import read_mesh
from .pictures import draw_side_by_side


def write_fit(
    source: Path,
    out: Path | None,
    spheres: int,
    min_radius: float,
    target_error: float,
    scale: float,
    density: float,
    overwrite: bool,
) -> dict[str, Any]:
    """Fit the mesh of a file; write the spheres as CSV and a picture beside them. Returns a report for JSON."""
    read = read_mesh(source)
    out = out or source.with_suffix(".csv")
    picture = out.with_suffix(".png")
    check_free(out, picture, overwrite=overwrite)
    if out.suffix.lower() != ".csv" or not out.parent.is_dir():
        raise InputError(f"{out}: give a file that ends in .csv, in a directory that exists")
    if not (0 < scale < np.inf and 0 < density < np.inf and np.isfinite(min_radius)):
        raise InputError("--scale and --density must be positive and finite, --min-radius finite")
    mesh = Mesh(read.points * scale, read.faces)
    fit = fit_clump(mesh, spheres, min_radius, target_error)
    report = fit_report(fit, density)
    write_whole(out, csv_text(fit, mesh, f"{printable(source.name)}, scale {scale:g}"))
    return report | {"file": str(out), "picture": drawn_fit(mesh.polydata(), fit.spheres, picture)}


def drawn_fit(surface: Any, spheres: NDArray[np.float64], file: Path) -> str:
    """Write a picture of a surface and the spheres (s, 4) fitted to it; returns the file, or "none: " and the reason."""
    try:
        draw_side_by_side([(surface, spheres)], file)
    except InputError as error:  # the fit is useful without
        return f"none: {error}"
    return str(file)
