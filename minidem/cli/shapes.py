"""clump: spheres fitted to a mesh."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Overwrite, Quiet
from .terminal import print_message


def clump(
    mesh: Annotated[
        Path, typer.Argument(metavar="MESH", help="Closed surface mesh: .stl, .obj or .ply.", show_default=False)
    ],
    spheres: Annotated[
        int, typer.Option("--spheres", metavar="N", min=1, max=10_000, help="Maximum number of spheres.")
    ] = 100,
    min_radius: Annotated[float, typer.Option("--min-radius", metavar="R", min=0, help="Smallest radius allowed, m.")] = 0.0,
    target_error: Annotated[
        float,
        typer.Option("--target-error", metavar="E", min=0, max=1, help="Fraction of the volume that may remain uncovered."),
    ] = 0.0,
    scale: Annotated[float, typer.Option("--scale", metavar="S", help="Length of one mesh unit, m.")] = 1.0,
    density: Annotated[float, typer.Option("--density", metavar="D", help="Density for the printed mass, kg/m3.")] = 1000.0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.csv", help="Output file [default: MESH.csv].")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a clump of spheres to a surface mesh.

    Writes the spheres as CSV, for `file = ` in a scenario, and a picture of both.
    Warns if spheres are apart from the others.
    """
    from ..views.fit import write_fit

    report = write_fit(mesh, out, spheres, min_radius, target_error, scale, density, overwrite)
    if report["note"]:
        print_message(report["note"])
    if json_:
        print(json.dumps(report))
    if json_ or quiet:
        return
    errors = report["errors"]
    parts = f", in {report['parts']} parts" if report["parts"] > 1 else ""
    print(f"spheres       {report['spheres']}{parts}, smallest radius {report['smallest_radius']:.4g} m")
    print(f"mass          {report['mass']:.5g} kg, volume {report['volume']:.5g} m3")
    print(f"fit           relative volume error {errors['volume']:.1e}, centre off by {errors['centre']:.1e} of the size,")
    print(f"              largest relative error of a principal moment {errors['inertia']:.1e},")
    print(f"              mean surface distance {errors['mean_distance']:.1e} m, largest {errors['max_distance']:.1e} m")
    print(f"written to    {report['file']}\npicture       {report['picture']}")
