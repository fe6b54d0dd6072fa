"""view, movie: pictures of a run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import Colour, Json, Overwrite, Quiet, Spheres, loaded
from .terminal import film_bar, print_message, stop_signals

if TYPE_CHECKING:
    from ..files.trajectory import Trajectory


def view(
    run_dir: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Run directory, or a scenario file to see its initial state.", show_default=False
        ),
    ],
    frame: Annotated[
        int | None, typer.Option("--frame", metavar="N", help="Frame number; -1 is the last [default: 0].")
    ] = None,
    time: Annotated[
        float | None, typer.Option("--time", metavar="T", help="Show the frame nearest to this time, s.")
    ] = None,
    colour: Colour = "species",
    spheres: Spheres = False,
    screenshot: Annotated[
        Path | None, typer.Option("--screenshot", metavar="FILE.png", help="Write a picture instead of opening a window.")
    ] = None,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="Size of the picture, pixels.")] = "1200x1000",
    overwrite: Overwrite = False,
) -> None:
    """Show a run in a window with a time slider, or as a picture.

    Given a scenario file, shows its initial state.
    """
    from ..views.colours import check_colour
    from ..views.pictures import check_picture, frame_at, picture
    from ..views.plotter import choose_window
    from ..views.viewer import Viewer

    if frame is not None and time is not None:
        raise InputError("--time: cannot be combined with --frame")
    if screenshot is not None:
        check_picture(screenshot, overwrite)
    check_colour(colour)
    choose_window(interactive=screenshot is None)
    with to_see(run_dir) as trajectory:
        chosen = frame_at(trajectory, frame, time, str(run_dir))
        if screenshot is not None:
            picture(trajectory, chosen, screenshot, colour, spheres, pixels(size))
        else:
            Viewer(trajectory, chosen, colour, spheres).plotter.show()


def to_see(run: Path) -> "Trajectory":
    """The trajectory of a run directory, or of the initial state of a scenario file."""
    if run.suffix == ".toml":
        chosen, text = loaded(run, None, None)
        from ..running.conduct import initial_state

        return initial_state(chosen, run.name, text)
    from ..files.trajectory import Trajectory

    return Trajectory(run)


def pixels(text: str) -> tuple[int, int]:
    """Width and height of a size such as 1920x1080."""
    width, x, height = text.partition("x")
    if x and width.isdecimal() and height.isdecimal() and 16 <= int(width) <= 8000 and 16 <= int(height) <= 8000:
        return int(width), int(height)
    raise InputError(f"--size {text}: must be WIDTHxHEIGHT in pixels, 16 to 8000 each, as in 1920x1080")


def movie(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Video file: .mp4 or .gif.", show_default=False)],
    fps: Annotated[int, typer.Option("--fps", metavar="N", min=1, max=240, help="Pictures per second of video.")] = 30,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="Size of the video, pixels.")] = "1280x720",
    slow: Annotated[
        float | None,
        typer.Option("--slow", metavar="S", help="Seconds of video per simulated second [default: each frame once]."),
    ] = None,
    orbit: Annotated[
        float, typer.Option("--orbit", metavar="DEGREES", help="Angle by which the camera orbits the scene.")
    ] = 0.0,
    energy: Annotated[bool, typer.Option("--energy", help="Plot the energies over time in a corner.")] = False,
    colour: Colour = "species",
    spheres: Spheres = False,
    shadows: Annotated[bool, typer.Option(help="Draw soft shadows; takes more than half of the time.")] = True,
    frames: Annotated[
        str | None,
        typer.Option("--frames", metavar="START:STOP", help="Use only these frames of the run; STOP is excluded."),
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a video of a run (MP4 or GIF)."""
    from ..files.trajectory import Trajectory
    from ..views import movie
    from ..views.colours import check_colour
    from ..views.plotter import choose_window

    check_colour(colour)
    options = movie.Options(fps, pixels(size), slow, orbit, energy, colour, spheres, shadows)
    file = movie.film_file(out, overwrite, options)
    if file != out and not quiet:
        print_message(f"{out}: MP4 needs ffmpeg, which was not found (pip install imageio-ffmpeg); writing {file}")
    choose_window(interactive=False)
    with Trajectory(run_dir) as trajectory, stop_signals() as received, film_bar(file.name, quiet) as on_progress:
        try:
            count = movie.film(trajectory, str(run_dir), file, options, frames, on_progress, stop=lambda: bool(received))
        except movie.Stopped:
            print_message(f"{file}: stopped; nothing was written")
            raise typer.Exit(128 + received[0]) from None
    report = {"file": str(file), "pictures": count, "fps": fps, "seconds": count / fps, "size": list(options.size)}
    if json_:
        print(json.dumps(report))
    elif not quiet:
        print(f"written to    {file}: {count} pictures, {count / fps:.3g} s")
