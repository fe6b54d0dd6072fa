"""Films of runs: MP4 with ffmpeg, or GIF."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..errors import InputError, WriteError
from ..files.trajectory import Frame, Trajectory
from ..files.whole import check_free, replacing
from .camera import aim, light, pixels_per_metre, rim
from .inset import WIDTH, Inset
from .look import DEFAULT, Look
from .overlays import put_bar, put_scale_bar, write_time
from .pictures import room_of, scale_of
from .plotter import fineness_of, image_of, new_plotter
from .scene import Scene
from .space import outline, shown_space

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SUFFIXES = (".mp4", ".gif")
GIF_FPS = 50  # browsers slow down faster ones
MOST = 100_000  # pictures in a film: about an hour of film, and a day of drawing
SHADOWS = 8  # samples: a quarter of those of single pictures, in a quarter of the time


@dataclass(frozen=True)
class Options:
    """How a film is drawn."""

    fps: int = 30
    size: tuple[int, int] = (1280, 720)  # pixels
    slow: float | None = None  # seconds of film per simulated second; None shows each frame of the run once
    orbit: float = 0.0  # degrees that the camera turns about the bodies
    energy: bool = False  # energies over time, in a corner
    colour_by: str = "species"
    spheres: bool = False
    shadows: bool = True
    look: Look = DEFAULT


class Stopped(Exception):
    """Drawing was stopped on request; nothing is written."""


# --- time ---------------------------------------------------------------------------------------------------


def times_of(recorded: Array, slow: float | None, fps: int) -> Array:
    """Simulated time of each picture, shape (pictures,), s."""
    if slow is None:
        return recorded
    span = float(recorded[-1] - recorded[0])
    count = slow * span * fps
    if not 1 <= count <= MOST:
        enough = f"give {1 / (span * fps):.2g} to {MOST / (span * fps):.2g}"
        raise InputError(f"--slow {slow:g}: makes {count:.3g} pictures of {span:.4g} s; {enough}")
    return np.linspace(recorded[0], recorded[-1], round(count) + 1)


def between(first: Frame, second: Frame, gap: float, part: float) -> Frame:
    """State at fraction `part` of the time `gap` (s) between two frames.

    Positions are cubic in time with the velocities of both frames; orientations turn at a constant rate.
    """
    if part == 0.0:
        return first
    a, b = (1 + 2 * part) * (1 - part) ** 2, part**2 * (3 - 2 * part)
    c, d = gap * part * (1 - part) ** 2, gap * part**2 * (part - 1)
    return Frame(
        position=a * first.position + b * second.position + c * first.velocity + d * second.velocity,
        velocity=(1 - part) * first.velocity + part * second.velocity,
        orientation=quaternions.slerp(first.orientation, second.orientation, part),
        angular_velocity=(1 - part) * first.angular_velocity + part * second.angular_velocity,
    )


def states_at(trajectory: Trajectory, recorded: Array, start: int, times: Array) -> Iterator[Frame]:
    """States at ascending times (s), between frames `start`, `start` + 1, ... that were recorded at times `recorded` (s)."""
    here, pair = -1, None
    for time in times:
        k = min(int(np.searchsorted(recorded, time, side="right")) - 1, len(recorded) - 2)
        if k != here:
            here, pair = k, (trajectory.frame(start + k), trajectory.frame(start + k + 1))
        assert pair is not None
        gap = float(recorded[k + 1] - recorded[k])
        part = float(np.clip((time - recorded[k]) / gap, 0.0, 1.0))
        yield pair[1] if part == 1.0 else between(*pair, gap, part)


def chosen_frames(text: str, count: int) -> tuple[int, int]:
    """First frame and frame after the last of START:STOP, as in Python slices."""
    first, colon, last = text.partition(":")
    try:
        if not colon:
            raise ValueError
        start, stop, _ = slice(int(first) if first else None, int(last) if last else None).indices(count)
    except ValueError:
        raise InputError(f"--frames {text}: must be START:STOP, as in 0:100, 50: or :-10") from None
    if stop - start < 2:
        raise InputError(f"--frames {text}: a film needs two frames; the run has {count}, numbered from 0")
    return start, stop


# --- pictures -----------------------------------------------------------------------------------------------


def pictures(trajectory: Trajectory, recorded: Array, start: int, times: Array, options: Options) -> Iterator[Bytes]:
    """The pictures of a film, shape (height, width, 3) each."""
    look, size = options.look, options.size
    plotter = new_plotter(size, off_screen=True, fineness=fineness_of(size))
    try:
        some = [trajectory.frame(start + int(k)) for k in np.unique(np.linspace(0, len(recorded) - 1, 20).astype(int))]
        space = shown_space(trajectory, some)
        scene = Scene(plotter, trajectory, space, options.colour_by, options.spheres, coarse=True, look=look)
        scene.use(options.colour_by, some)
        light(plotter, space.size, SHADOWS if options.shadows else 0)
        seen, radii = (rim(space), 0.0) if options.orbit else outline(trajectory, space, some)
        bar = scale_of(scene, size[1])
        room = {"left": WIDTH if options.energy else 0.0, "right": room_of(bar, size[0])}
        inset = Inset(trajectory, recorded, size, look) if options.energy else None
        for k, (time, state) in enumerate(zip(times, states_at(trajectory, recorded, start, times), strict=True)):
            scene.show(state)
            aim(plotter, seen, options.orbit * k / (len(times) - 1), **room, place=look.camera, zoom=look.zoom, radii=radii)
            image = image_of(plotter, size[0])
            write_time(image, time, look.ink)
            if look.scale_bar:
                put_scale_bar(image, pixels_per_metre(plotter, size), look.ink, round(room["right"] * size[0]))
            if bar is not None:
                put_bar(image, bar)
            if inset is not None:
                inset.draw_on(image, time)
            yield np.asarray(image)
    finally:
        plotter.close()


# --- files --------------------------------------------------------------------------------------------------


def film(
    trajectory: Trajectory,
    name: str,
    file: Path,
    options: Options,
    frames: str | None = None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Write a film of the run called `name` in messages; returns the number of pictures."""
    count = len(trajectory)
    if count == 0:
        raise InputError(f"{name}: has no frames yet; wait until the first are written, or run it again")
    if count == 1:
        raise InputError(f"{name}: has one frame only, a film needs two; minidem view makes a picture of it")
    start, end = (0, count) if frames is None else chosen_frames(frames, count)
    recorded = trajectory.time[start:end]
    times = times_of(recorded, options.slow, options.fps)

    def watched() -> Iterator[Bytes]:
        for done, image in enumerate(pictures(trajectory, recorded, start, times, options), start=1):
            yield image
            on_progress(done, len(times))
            if stop():
                raise Stopped

    try:
        with replacing(file) as new:
            (write_gif if file.suffix.lower() == ".gif" else write_mp4)(new, watched(), len(times), options)
    except OSError as error:
        raise WriteError(f"{file}: could not be written: {error.strerror or str(error).splitlines()[0]}") from None
    return len(times)


def write_mp4(file: Path, images: Iterable[Bytes], count: int, options: Options) -> None:
    """Write pictures with ffmpeg; raises OSError if not all of them were written."""
    import imageio_ffmpeg

    more = {"macro_block_size": 2, "ffmpeg_log_level": "error", "output_params": ["-movflags", "+faststart"]}
    name = f"file:{file}"  # ffmpeg takes a:b.mp4 for file b of the protocol a
    writer = imageio_ffmpeg.write_frames(name, options.size, fps=options.fps, quality=7, **more)
    writer.send(None)
    try:
        for image in images:
            writer.send(np.ascontiguousarray(image))
    finally:
        writer.close()
    try:  # the exit code of ffmpeg is not available
        written = imageio_ffmpeg.count_frames_and_secs(name)[0]
    except RuntimeError:
        written = 0
    if written != count:
        raise OSError("ffmpeg did not write all pictures")


def write_gif(file: Path, images: Iterable[Bytes], count: int, options: Options) -> None:
    """Write pictures as an animation of 256 colours each."""
    from PIL import Image

    few_colours = (Image.fromarray(image).quantize(256, dither=Image.Dither.NONE) for image in images)
    # GIF stores durations in hundredths of a second.
    ends = 10 * np.round(100 * np.arange(count + 1) / options.fps).astype(int)
    first = next(few_colours)
    first.save(file, save_all=True, append_images=few_colours, duration=np.diff(ends).tolist(), loop=0, disposal=1)


def has_ffmpeg() -> bool:
    """Whether MP4 films can be written."""
    try:
        import imageio_ffmpeg

        return shutil.which(imageio_ffmpeg.get_ffmpeg_exe()) is not None
    except (ImportError, RuntimeError):
        return False


def film_file(out: Path, overwrite: bool, options: Options) -> Path:
    """The file to write, checked: a GIF instead of an MP4 if there is no ffmpeg."""
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out {out}: give a name that ends in {' or '.join(SUFFIXES)}")
    file = out.with_suffix(".gif") if out.suffix.lower() == ".mp4" and not has_ffmpeg() else out
    if not file.parent.is_dir():
        raise InputError(f"--out {file}: there is no directory {file.parent}")
    if file.is_dir():
        raise InputError(f"--out {file}: is a directory; give the name of a file")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"--out {file}: the directory {file.parent} may not be written to")
    check_free(file, overwrite=overwrite)
    width, height = options.size
    if file.suffix.lower() == ".mp4" and (width % 2 or height % 2):
        even = f"{width + width % 2}x{height + height % 2}"
        raise InputError(f"--size {width}x{height}: an MP4 has even numbers of pixels; give {even}")
    if file.suffix.lower() == ".gif" and options.fps > GIF_FPS:
        raise InputError(f"--fps {options.fps}: a GIF shows {GIF_FPS} pictures a second at most")
    if options.energy and (width < 480 or height < 270):
        raise InputError(f"--size {width}x{height}: too small for the energies, which need 480x270")
    return file
