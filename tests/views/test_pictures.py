"""Pictures and films, checked pixel by pixel. They fail without the libraries of .ci/run."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from command import PATIENCE, Outcome, in_a_shell
from disk import file_size_limit
from PIL import Image

import minidem
from minidem.errors import InputError
from minidem.scenario.reading import parse
from minidem.views import movie
from minidem.views import viewer as window
from minidem.views.camera import aim, light
from minidem.views.colours import IVORY, ORANGE, WALNUT, rgb
from minidem.views.pictures import picture
from minidem.views.plotter import choose_window, new_plotter
from minidem.views.scene import Scene
from minidem.views.space import shown_space
from minidem.views.viewer import Viewer, state_of

PAWNS = """\
schema = 1
name = "pawns"
time = {dt = 4e-6, end = 0.02}
domain = {box = [0.3, 0.2, 0.2], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.pawn = {builtin = "chess/pawn", height = 0.1, material = "plastic"}
body = [
    {clump = "pawn", position = [0.08, 0.1, 0.1], velocity = [2, 0, 0]},
    {clump = "pawn", position = [0.22, 0.1, 0.1], velocity = [0.5, 0, 0], angular_velocity = [0, 40, 0]},
]
output = {frames = 5, energies = 21}
"""
BALL = """\
schema = 1
name = "ball"
time = {dt = 1e-5, end = 0.1}
domain = {box = [0.3, 0.2, 0.2], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.ball = {spheres = [[0, 0, 0, 0.015]], material = "plastic"}
body = [{clump = "ball", position = [0.05, 0.04, 0.05], velocity = [2, 1, 0.9]}]
output = {frames = 11, energies = 11}
"""
SIZE = (320, 240)
SMALL = ["--size", "320x240"]


@pytest.fixture(scope="module", autouse=True)
def something_can_be_drawn():
    """Draw with VTK alone, in a process of its own because it may crash."""
    try:
        choose_window(interactive=False)
    except InputError as error:
        pytest.fail(str(error))
    draw = "import pyvista as p; q = p.Plotter(off_screen=True); q.add_mesh(p.Sphere()); assert q.screenshot().std() > 1"
    if subprocess.run([sys.executable, "-c", draw], capture_output=True).returncode != 0:
        pytest.fail("VTK cannot draw here; install libegl1 and libgl1-mesa-dri")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Directory with the runs of two pawns, and of a ball that flies across its box."""
    directory = tmp_path_factory.mktemp("runs")
    for text in (PAWNS, BALL):
        scenario = parse(text)
        minidem.run(scenario, directory / scenario.name, text=text)
    return directory


def drawn(runs, name, frame=0, **options):
    """The picture of a frame, shape (height, width, 3)."""
    file = runs / "drawn.png"
    with minidem.Trajectory(runs / name) as trajectory:
        picture(trajectory, frame, file, size=SIZE, **options)
    return pixels_of(file)


def pixels_of(file):
    with Image.open(file) as image:
        return np.array(image.convert("RGB")).astype(int)


def near(image, colour):
    """Which pixels have the hue of a colour, whatever their brightness."""
    wanted = rgb(colour).astype(float)
    brightness = image.sum(axis=2) / wanted.sum()
    off = np.abs(image - brightness[:, :, None] * wanted).max(axis=2)
    return (off < 0.06 * image.max(axis=2) + 2) & (np.ptp(image, axis=2) > 0.15 * image.max(axis=2))


# --- pictures ------------------------------------------------------------------------------------------------


def test_pawns_are_ivory_and_walnut_in_a_box(runs):
    image = drawn(runs, "pawns")
    assert image.shape == (240, 320, 3)
    assert (image[0, 0] == 255).all()  # the background
    ivory, walnut = near(image, IVORY), near(image, WALNUT)
    for piece, side in ((ivory, -1), (walnut, 1)):
        rows, columns = np.nonzero(piece)
        assert 300 < len(rows) < 10_000
        assert np.ptp(rows) > 40  # it stands upright, a third of the height of the box
        assert side * (columns.mean() - 160) > 10
    assert image[walnut].mean() < image[ivory].mean() - 50
    rows, columns = np.nonzero((image < 120).all(axis=2) & (np.ptp(image, axis=2) < 12))  # grey: the edges of the box
    assert min(np.ptp(rows) / 240, np.ptp(columns) / 320) > 0.7
    assert min(rows.min(), columns.min(), 239 - rows.max(), 319 - columns.max()) > 0


def test_spheres_and_colours_look_different(runs):
    plain = drawn(runs, "pawns")
    spheres = drawn(runs, "pawns", spheres=True)
    difference = np.abs(plain - spheres).max(axis=2) > 20
    assert 50 < difference.sum() < 10_000  # the same pieces at the same place, but bumpy
    assert near(spheres, WALNUT).sum() > 300
    speed = drawn(runs, "pawns", colour_by="speed")
    assert near(speed, WALNUT).sum() < 50
    assert (np.abs(plain[:, -60:] - speed[:, -60:]).max(axis=2) > 60).sum() > 100  # the scale, on the right


def test_the_ball_is_where_it_should_be(runs):
    """The centre of its pixels is its projected position, in several frames."""
    plotter = new_plotter(SIZE, off_screen=True)
    with minidem.Trajectory(runs / "ball") as trajectory:
        space = shown_space(trajectory, [trajectory.frame(0)])
        scene = Scene(plotter, trajectory, space)
        scene.use("species", [trajectory.frame(0)])
        light(plotter, space.size)
        aim(plotter, space.corners)
        found, expected = [], []
        for k in (0, 4, 8, 10):
            scene.show(trajectory.frame(k))
            plotter.render()
            image = np.array(plotter.screenshot(return_img=True)).astype(int)
            rows, columns = np.nonzero(image[:, :, 2] < 0.6 * image[:, :, 0])  # orange
            found.append((columns.mean() + 0.5, rows.mean() + 0.5))
            x, y, _, w = projection(plotter) @ [*trajectory.frame(k).position[0], 1.0]
            expected.append(((x / w + 1) / 2 * 320, (1 - y / w) / 2 * 240))
    plotter.close()
    assert np.ptp(expected, axis=0)[0] > 60
    assert np.abs(np.subtract(found, expected)).max() < 1.5


def projection(plotter):
    matrix = plotter.camera.GetCompositeProjectionTransformMatrix(SIZE[0] / SIZE[1], -1, 1)
    return np.array([[matrix.GetElement(i, j) for j in range(4)] for i in range(4)])


def test_scenario_is_seen_before_it_runs(minidem_command, directory):
    outcome = minidem_command("view", "box.toml", "--screenshot", "a.png", *SMALL)
    assert outcome == Outcome(0, "written to    a.png, 320 x 240 pixels, t = 0 s\n", "")
    image = pixels_of(directory / "a.png")
    assert near(image, ORANGE).sum() > 300
    assert not (directory / "output").exists()


def test_no_noise_without_a_display(runs):
    """No message about X servers, and no warnings."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    arguments = ["view", "pawns", "--time", "0.01", "--colour", "spin", "--screenshot", "quiet.png", "--quiet", *SMALL]
    assert in_a_shell(runs, *arguments, env=environment) == Outcome(0, "", "")
    assert pixels_of(runs / "quiet.png").shape == (240, 320, 3)
    outcome = in_a_shell(runs, "view", "pawns", env=environment)
    assert outcome.code == 2 and "no display available" in outcome.stderr and "--screenshot" in outcome.stderr


def test_pictures_that_cannot_be(minidem_command, directory, runs):
    def refused(*arguments, say):
        outcome = minidem_command("view", *arguments)
        assert outcome.code == 2 and outcome.stdout == "" and "Traceback" not in outcome.stderr
        assert all(word in outcome.stderr for word in say), outcome.stderr

    run = runs / "pawns"
    refused(run, "--colour", "mood", "--screenshot", "a.png", say=["mood", "species, body, speed, spin, energy"])
    refused(run, "--time", 3, "--screenshot", "a.png", say=["--time 3", "0 to 0.02 s"])
    refused(run, "--time", 0, "--frame", 0, "--screenshot", "a.png", say=["cannot be combined"])
    refused(run, "--size", "big", "--screenshot", "a.png", say=["--size big", "1920x1080"])
    (directory / "a.png").write_text("mine")
    refused(
        run, "--screenshot", "a.png", say=["a.png: exists already; give --overwrite to replace it, or another --screenshot"]
    )
    assert (directory / "a.png").read_text() == "mine"
    assert minidem_command("view", run, "--screenshot", "a.png", "--overwrite", *SMALL).code == 0
    assert pixels_of(directory / "a.png").shape == (240, 320, 3)


def test_a_failed_overwrite_keeps_the_old_picture(runs, tmp_path):
    (tmp_path / "a.png").write_text("old")
    with minidem.Trajectory(runs / "ball") as trajectory, file_size_limit(1000), pytest.raises(OSError, match="too large"):
        picture(trajectory, 0, tmp_path / "a.png", size=SIZE)
    assert os.listdir(tmp_path) == ["a.png"] and (tmp_path / "a.png").read_text() == "old"


@pytest.mark.parametrize("frames", [0, 1])
def test_too_few_frames(minidem_command, directory, runs, frames):
    with h5py.File(runs / "ball/trajectory.h5") as source, h5py.File(directory / "few.h5", "w") as file:
        for name in source:
            source.copy(name, file)
        for part in ("step", "time", "value"):
            for name in ("position", "velocity", "orientation", "angular_velocity"):
                element = file[f"particles/bodies/{name}"]
                if isinstance(element[part], h5py.Dataset) and element[part].maxshape[0] is None:
                    element[part].resize(frames, axis=0)
    with minidem.Trajectory(directory / "few.h5") as trajectory:
        assert len(trajectory) == frames
    outcome = minidem_command("movie", "few.h5", "--out", "a.mp4")
    assert outcome.code == 2 and ("no frames yet", "one frame only")[frames] in outcome.stderr
    outcome = minidem_command("view", "few.h5", "--screenshot", "a.png", *SMALL)
    assert outcome.code == (2, 0)[frames]
    assert frames or "no frames yet" in outcome.stderr


def test_a_killed_run_is_shown_up_to_its_last_frame(directory):
    changes = ["--set", "time.end=400", "--set", "output.frames=10001"]
    run = subprocess.Popen([sys.executable, "-m", "minidem.cli", "run", "box.toml", "--out", "run", "--quiet", *changes])
    until = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < until:
            time.sleep(0.05)
            try:
                with minidem.Trajectory("run") as trajectory:
                    if len(trajectory) > 3:
                        break
            except InputError:  # not there yet
                pass
        assert run.poll() is None
    finally:
        run.kill()
        run.wait()
    shown = in_a_shell(directory, "view", "run", "--frame", "-1", "--screenshot", "a.png", "--quiet", *SMALL)
    assert shown == Outcome(0, "", "")
    assert near(pixels_of(directory / "a.png"), ORANGE).sum() > 300
    outcome = in_a_shell(directory, "movie", "run", "--out", "a.gif", "--frames", ":3", "--json", *SMALL)
    assert outcome.json["pictures"] == 3 and outcome.stderr == ""


# --- the window ----------------------------------------------------------------------------------------------


@pytest.fixture
def viewer(runs, monkeypatch):
    """The window of the pawns, drawn in memory; its messages are collected in `said`."""
    monkeypatch.setattr(window, "new_plotter", lambda size, off_screen: new_plotter(SIZE, off_screen=True))
    said = []
    with minidem.Trajectory(runs / "pawns") as trajectory:
        viewer = Viewer(trajectory, 1, "species", False, said.append)
        viewer.said = said
        yield viewer
        viewer.plotter.close()


def image_of(viewer):
    return np.array(viewer.plotter.screenshot(return_img=True)).astype(int)


def press(viewer, key):
    interactor = viewer.plotter.iren.interactor
    interactor.SetKeySym(key)
    interactor.InvokeEvent("KeyPressEvent")


def test_slider_and_keys(viewer):
    before = image_of(viewer)
    white = np.nonzero(near(before, IVORY))[1].mean()
    slider = viewer.slider.GetRepresentation()
    slider.SetValue(4.0)
    viewer.slider.InvokeEvent("InteractionEvent")  # while it is dragged
    assert viewer.frame == 4
    assert np.nonzero(near(image_of(viewer), IVORY))[1].mean() > white + 5  # 3 cm to the right
    viewer.tick()
    assert viewer.frame == 4  # it does not play yet
    press(viewer, "space")
    for expected in (0, 1, 2):
        viewer.tick()
        assert viewer.frame == slider.GetValue() == expected
    press(viewer, "space")
    viewer.tick()
    assert viewer.frame == 2
    press(viewer, "r")
    assert viewer.frame == slider.GetValue() == 0


def test_next_colour(viewer):
    seen = [image_of(viewer)]
    for name in ("body", "speed", "spin", "energy"):
        press(viewer, "c")
        assert viewer.scene.colour_by == name
        seen.append(image_of(viewer))
        assert (np.abs(seen[-1] - seen[-2]).max(axis=2) > 20).sum() > 100
    press(viewer, "c")
    assert viewer.scene.colour_by == "species" and viewer.bar is None
    assert np.abs(image_of(viewer) - seen[0]).max() < 20


def test_click_prints_the_state_of_a_body(viewer):
    for body in (0, 1):
        x, y, _, w = projection(viewer.plotter) @ [*viewer.trajectory.frame(1).position[body], 1.0]
        picker = viewer.plotter.iren.picker
        picker.Pick((x / w + 1) / 2 * 320, (y / w + 1) / 2 * 240, 0, viewer.plotter.renderer)
        assert viewer.said[-1] == state_of(viewer.trajectory, 1, body)
    viewer.picked(None, SimpleNamespace(GetActor=lambda: None, GetPointId=lambda: -1))  # beside all bodies
    assert len(viewer.said) == 2


# --- films ---------------------------------------------------------------------------------------------------


def images_of(film):
    """Properties of a film according to ffmpeg, and its images."""
    import imageio_ffmpeg

    reader = imageio_ffmpeg.read_frames(str(film))
    about = next(reader)
    width, height = about["size"]
    return about, [np.frombuffer(data, np.uint8).reshape(height, width, 3).astype(int) for data in reader]


def test_film_in_slow_motion(runs, directory):
    """20 ms in 0.8 s: the pawn moves steadily, also between the five frames of the run."""
    outcome = in_a_shell(directory, "movie", runs / "pawns", "--out", "a.mp4", "--slow", 40, "--fps", 15, "--json", *SMALL)
    assert outcome.code == 0 and outcome.stderr == ""
    report = {"file": "a.mp4", "pictures": 13, "fps": 15, "seconds": 13 / 15, "size": [320, 240]}
    assert outcome.json == report
    assert sorted(os.listdir(directory)) == ["a.mp4", "box.toml"]
    about, images = images_of("a.mp4")
    assert (about["codec"], about["size"], about["fps"]) == ("h264", (320, 240), 15.0)
    assert about["pix_fmt"].startswith("yuv420p")
    assert len(images) == 13
    steps = np.diff([np.nonzero(near(image, IVORY) & (image.min(axis=2) < 235))[1].mean() for image in images])
    assert (steps > 0).all() and steps.max() < 3 * steps.mean()


def test_film_with_everything(minidem_command, directory, runs):
    everything = ["--orbit", 90, "--energy", "--colour", "speed", "--spheres", "--frames", "1:4", "--no-shadows"]
    outcome = minidem_command("movie", runs / "pawns", "--out", "a.mp4", "--size", "480x270", *everything)
    assert outcome == Outcome(0, "written to    a.mp4: 3 pictures, 0.1 s\n", "")
    _, images = images_of("a.mp4")
    marks = [np.nonzero((i[:, :, 0] - i[:, :, 1] > 80) & (i[:, :, 0] - i[:, :, 2] > 80))[1] for i in images]
    columns = [mark[mark < 0.27 * 480].mean() for mark in marks]
    assert columns[0] < columns[1] < columns[2]  # the line in the inset
    assert (np.abs(images[0] - images[2])[:, 140:400].max(axis=2) > 40).sum() > 500  # the box has turned


def test_gif(minidem_command, directory, runs):
    outcome = minidem_command("movie", runs / "ball", "--out", "a.gif", "--fps", 15, "--quiet", *SMALL)
    assert outcome == Outcome(0, "", "")
    with Image.open("a.gif") as film:
        assert (film.n_frames, film.size) == (11, SIZE)
        seen, duration = [], 0
        for k in range(film.n_frames):
            film.seek(k)
            duration += film.info["duration"]
            seen.append(np.array(film.convert("RGB")).astype(int))
    assert duration == pytest.approx(1000 * 11 / 15, abs=5)
    where = [np.nonzero(image[:, :, 0] - image[:, :, 2] > 60)[1].mean() for image in seen]
    assert (np.diff(where) > 0).all()


def test_gif_where_there_is_no_ffmpeg(minidem_command, directory, runs, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    outcome = minidem_command("movie", runs / "ball", "--out", "a.mp4", "--frames", ":2", *SMALL)
    assert outcome.code == 0 and "ffmpeg, which was not found" in outcome.stderr and "writing a.gif" in outcome.stderr
    assert Image.open("a.gif").n_frames == 2 and not (directory / "a.mp4").exists()


def test_earlier_film_is_replaced_on_request_only(minidem_command, directory, runs):
    (directory / "a.gif").write_text("mine")
    assert minidem_command("movie", runs / "ball", "--out", "a.gif", *SMALL).code == 2
    assert (directory / "a.gif").read_text() == "mine"
    arguments = ["movie", runs / "ball", "--out", "a.gif", "--overwrite", "--frames", "3:5", "--quiet", *SMALL]
    assert minidem_command(*arguments).code == 0
    assert Image.open("a.gif").n_frames == 2


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_film_leaves_nothing(runs, directory, suffix, number):
    command = [sys.executable, "-m", "minidem.cli", "movie", runs / "ball", "--out", f"a{suffix}", "--slow", "10000", *SMALL]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + PATIENCE
    while not list(directory.glob(".a.*")) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(directory.glob(".a.*"))
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stdout, stderr) == (128 + number, "", f"a{suffix}: stopped; nothing was written\n")
    assert os.listdir(directory) == ["box.toml"]


def test_film_on_a_full_disk(runs, directory):
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    for suffix in (".mp4", ".gif"):
        outcome = in_a_shell(directory, "movie", runs / "ball", "--out", f"a{suffix}", *SMALL, preexec_fn=limit_file_size)
        assert outcome.code == 1 and f"a{suffix}: could not be written" in outcome.stderr
        assert "Traceback" not in outcome.stderr
        assert os.listdir(directory) == ["box.toml"]


def test_film_where_one_may_not_write():
    """Tried as user nobody if the tests run as root, who may write everywhere."""
    options = movie.Options(30, (320, 240), None, 0.0, False, "species", False, False)
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        locked = Path(parent) / "locked"
        locked.mkdir(mode=0o555)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                movie.film_file(locked / "a.gif", False, options)
            except InputError as error:
                os._exit(0 if "a.gif: the directory" in str(error) and "may not be written to" in str(error) else 2)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
