"""view, movie: pictures of a run."""

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import (
    Background,
    Camera,
    Colour,
    ColourMap,
    Json,
    Overwrite,
    Quiet,
    Range,
    ScaleBar,
    Spheres,
    Zoom,
    loaded,
)
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
    browser: Annotated[
        bool, typer.Option("--browser", help="Serve a page for a web browser on this machine instead of opening a window.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port of the page [default: a free one].")
    ] = 0,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="Size of the picture, pixels.")] = "1200x1000",
    camera: Camera = None,
    zoom: Zoom = 1.0,
    background: Background = "white",
    transparent: Annotated[bool, typer.Option("--transparent", help="Leave the background of a PNG transparent.")] = False,
    range_: Range = None,
    colour_map: ColourMap = None,
    scale_bar: ScaleBar = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Show a run in a window or a web browser, or as a picture.

    Given a scenario file, shows its initial state.
    """
    from ..views.look import checked_look
    from ..views.pictures import check_picture, frame_at, picture
    from ..views.plotter import choose_window
    from ..views.viewer import Viewer

    if frame is not None and time is not None:
        raise InputError("--time: cannot be combined with --frame")
    if screenshot is not None:
        check_picture(screenshot, overwrite, transparent)
    elif transparent or scale_bar:
        option = "--transparent" if transparent else "--scale-bar"
        raise InputError(f"{option}: is for pictures; give --screenshot FILE.png as well")
    if browser and screenshot is not None:
        raise InputError("--screenshot: cannot be combined with --browser")
    look = checked_look(camera, zoom, background, transparent, range_, colour_map, scale_bar, colour)
    choose_window(interactive=screenshot is None and not browser)
    with to_see(run_dir) as trajectory:
        chosen = frame_at(trajectory, frame, time, str(run_dir))
        if screenshot is not None:
            width, height = pixels(size)
            picture(trajectory, chosen, screenshot, colour, spheres, (width, height), look)
            if not quiet:
                print(f"written to    {screenshot}, {width} x {height} pixels, t = {trajectory.time[chosen]:.6g} s")
        elif browser:
            from ..views.browser import BrowserView

            BrowserView(trajectory, chosen, colour, spheres, run_dir.name).serve(port, say_address)
        else:
            Viewer(trajectory, chosen, colour, spheres, look=look).plotter.show()


def say_address(address: str) -> None:
    """Say where the page is, and how it is seen from another machine."""
    port = address.rstrip("/").rpartition(":")[2]
    print_message(f"open {address} in a browser; end with Ctrl-C")
    print_message(f"from another machine, forward the port first: ssh -L {port}:127.0.0.1:{port} {platform.node()}")


def to_see(run: Path) -> "Trajectory":
    """The trajectory of a run directory, or of the initial state of a scenario file."""
    if run.suffix == ".toml" and not run.is_dir():
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
    shadows: Annotated[bool, typer.Option(help="Draw soft shadows; takes half of the time.")] = True,
    frames: Annotated[
        str | None,
        typer.Option("--frames", metavar="START:STOP", help="Use only these frames of the run; STOP is excluded."),
    ] = None,
    camera: Camera = None,
    zoom: Zoom = 1.0,
    background: Background = "white",
    range_: Range = None,
    colour_map: ColourMap = None,
    scale_bar: ScaleBar = False,
    overwrite: Overwrite = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a video of a run (MP4 or GIF)."""
    from ..files.trajectory import Trajectory
    from ..views import movie
    from ..views.look import checked_look
    from ..views.plotter import choose_window

    look = checked_look(camera, zoom, background, False, range_, colour_map, scale_bar, colour)
    options = movie.Options(fps, pixels(size), slow, orbit, energy, colour, spheres, shadows, look)
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
