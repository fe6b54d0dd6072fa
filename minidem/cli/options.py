"""Options that mean the same in every command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..scenario.reading import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario file.", show_default=False)]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a scenario key; repeatable.")
]
PluginFiles = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE.py", help="Load an integrator or a contact law of your own; repeatable."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the random placement.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, help="Number of threads [default: automatic]. Results do not depend on it."
    ),
]
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", min=1, help="Parallel runs [default: one per core].")
]
CheckpointEvery = Annotated[
    float, typer.Option("--checkpoint-every", metavar="S", min=0, help="Wall time between checkpoints, s.")
]
MaxWall = Annotated[
    str | None,
    typer.Option(
        "--max-wall", metavar="T", help="Save a checkpoint and stop within this wall time: 2h, 90m, 1h30m, or seconds."
    ),
]
Colour = Annotated[
    str, typer.Option("--colour", metavar="FIELD", help="Colour bodies by species, body, speed, spin or energy.")
]
Spheres = Annotated[bool, typer.Option("--spheres", help="Draw chess pieces as spheres, not as smooth surfaces.")]
Camera = Annotated[
    str | None,
    typer.Option(
        "--camera",
        metavar="A,E",
        help="Azimuth and elevation of the camera, degrees, or front, back, left, right, top, bottom [default: -58,21.7].",
    ),
]
Zoom = Annotated[float, typer.Option("--zoom", metavar="Z", help="Enlarge the middle of the picture.")]
Background = Annotated[
    str, typer.Option("--background", metavar="COLOUR", help="Colour of the background: a name, or #RRGGBB.")
]
Range = Annotated[
    str | None,
    typer.Option("--range", metavar="LOW:HIGH", help="Ends of the colour scale [default: those of the frames shown]."),
]
ColourMap = Annotated[
    str | None, typer.Option("--cmap", metavar="NAME", help="Colour map of matplotlib for numbers [default: viridis].")
]
ScaleBar = Annotated[bool, typer.Option("--scale-bar", help="Draw a bar of known length, true in the middle of the scene.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no summary.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing results.")]


def loaded(
    path: Path, changes: list[str] | None, seed: int | None, plugins: list[Path] | None = None
) -> tuple["Scenario", str]:
    """The scenario of a file with the changes of --set and --seed, and the text of the file. Loads the plugins first."""
    from ..scenario.plugins import load_plugins
    from ..scenario.reading import parse, read_text

    load_plugins(plugins or ())
    text = read_text(path)
    return parse(text, path.name, path.parent, [*(changes or []), *([] if seed is None else [f"seed={seed}"])]), text
