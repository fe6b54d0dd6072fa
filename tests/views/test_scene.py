"""Pictures and films before they are drawn: frames, colours, the camera, and states between two frames."""

from types import SimpleNamespace

import numpy as np
import pytest
from brute_force import random_quaternions
from scipy.spatial.transform import Rotation, Slerp

import minidem
from minidem import quaternions
from minidem.errors import InputError
from minidem.files.trajectory import Frame, Planes
from minidem.scenario.reading import parse
from minidem.views import movie
from minidem.views.camera import aim, rim
from minidem.views.colours import BODY_COLOURS, IVORY, WALNUT, field_of, fields_of, plain_colours, rgb, scaled_colours
from minidem.views.pictures import frame_at
from minidem.views.space import Space, shown_space, some_frames
from minidem.views.viewer import state_of

SCENE = """\
name = "pieces"
time = {dt = 1e-5, end = 0.004}
domain = {box = [0.5, 0.4, 0.3], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.pawn = {builtin = "chess/pawn", height = 0.05, material = "plastic"}
clump.rod = {spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]], material = "plastic"}
place = [{clump = "pawn", count = 3, speed = 2, spin = 20}, {clump = "rod", count = 2, speed = 3, spin = 10}]
output = {frames = 5, energies = 5}
"""


@pytest.fixture(scope="module")
def trajectory():
    return minidem.run(parse(SCENE)).trajectory


def frame_of(position, velocity, orientation=(1.0, 0, 0, 0), angular_velocity=(0.0, 0, 0)):
    return Frame(*(np.array([values], float) for values in (position, velocity, orientation, angular_velocity)))


# --- frames and colours --------------------------------------------------------------------------------------


def test_frame_by_number_or_time(trajectory):
    assert [frame_at(trajectory, k, None, "run") for k in (None, 0, 4, -1, -5)] == [0, 0, 4, 4, 0]
    assert [frame_at(trajectory, None, t, "run") for t in (0.0, 0.0014, 0.0016, 0.004)] == [0, 1, 2, 4]
    for k in (5, -6):
        with pytest.raises(InputError, match=r"run: has 5 frames.* 0 to 4"):
            frame_at(trajectory, k, None, "run")
    for t in (-1e-9, 0.0041, float("nan")):
        with pytest.raises(InputError, match=r"run: --time .* from 0 to 0.004 s"):
            frame_at(trajectory, None, t, "run")


def test_fields(trajectory):
    frame = trajectory.frame(2)
    assert field_of(trajectory, frame, "species") is None and field_of(trajectory, frame, "body") is None
    assert np.array_equal(field_of(trajectory, frame, "speed"), np.linalg.norm(frame.velocity, axis=1))
    assert np.array_equal(field_of(trajectory, frame, "spin"), np.linalg.norm(frame.angular_velocity, axis=1))
    for k in range(5):  # compared with the energy log, which the engine computes
        log = {name: values[k] for name, values in trajectory.observables.items()}
        energy = field_of(trajectory, trajectory.frame(k), "energy")
        assert energy.shape == (5,)
        assert energy.sum() == pytest.approx(log["kinetic_translational"] + log["kinetic_rotational"], rel=1e-9)


def test_half_of_the_pawns_is_white(trajectory):
    colours = plain_colours(trajectory)
    pawns = np.flatnonzero(trajectory.species == 0)
    expected = [rgb(colour).tolist() for colour in (IVORY, IVORY, WALNUT)]
    assert colours["species"][pawns].tolist() == expected
    rods = np.flatnonzero(trajectory.species == 1)
    assert colours["species"][rods].tolist() == [rgb(BODY_COLOURS[1]).tolist()] * 2
    assert len({tuple(colour) for colour in colours["body"]}) == 5


def test_colours_follow_the_scale():
    colours = scaled_colours(np.array([0.0, 1.0, 2.0, 5.0, -3.0, np.nan]), (0.0, 2.0)).astype(int)
    assert (colours[3] == colours[2]).all() and (colours[4] == colours[0]).all() and (colours[5] == colours[0]).all()
    assert colours[0].sum() < colours[1].sum() < colours[2].sum()  # from dark to light


def test_state_of_a_body(trajectory):
    text = state_of(trajectory, 3, 1)
    frame = trajectory.frame(3)
    assert text.startswith(f"body 1, {trajectory.clumps[trajectory.species[1]].name}, ") and "at 0.003 s" in text
    for name in ("position", "velocity", "orientation", "angular_velocity"):
        assert ", ".join(f"{value:.6g}" for value in getattr(frame, name)[1]) in text
    assert f"{field_of(trajectory, frame, 'energy')[1]:.6g} J" in text


def test_bodies_of_a_run_with_few_fields():
    """Only what it has recorded is offered and printed."""
    fields = {"output.fields": ["position", "orientation"], "output.frames": 2}
    with minidem.run(parse(SCENE).with_changes(fields | {"time.end": 1e-4})).trajectory as trajectory:
        assert fields_of(trajectory) == ["species", "body"]
        lines = [line.split("(")[0].strip() for line in state_of(trajectory, 1, 0).splitlines()[1:]]
        assert lines == ["position", "orientation"]


# --- the camera ----------------------------------------------------------------------------------------------


def seen_at(plotter, points):
    """Positions of points (p, 3) in the picture, shape (p, 2), from -1 to 1 in both directions."""
    camera, (width, height) = plotter.camera, plotter.window_size
    eye, target = np.array(camera.position), np.array(camera.focal_point)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, camera.up) / np.linalg.norm(np.cross(forward, camera.up))
    depth = (points - eye) @ forward
    assert (depth > camera.clipping_range[0]).all() and (depth < camera.clipping_range[1]).all()
    half = np.tan(np.radians(camera.view_angle / 2))
    x, y = (points - eye) @ right, (points - eye) @ np.cross(right, forward)
    return np.column_stack([x / (depth * half * width / height), y / (depth * half)])


@pytest.mark.parametrize("size", [(1200, 1000), (1280, 720), (300, 900)])
@pytest.mark.parametrize("turn", [0.0, 77.0, -200.0])
@pytest.mark.parametrize("room", [{}, {"right": 0.15}, {"left": 0.27, "right": 0.15}, {"below": 0.1}])
def test_the_box_fills_the_picture(size, turn, room):
    plotter = SimpleNamespace(window_size=size, camera=SimpleNamespace(), camera_set=False)
    points = Space(np.array([0.0, 0.1, -0.2]), np.array([0.5, 0.4, 0.3])).corners
    aim(plotter, points, turn, **room)
    seen = seen_at(plotter, points)
    left, right, below = (1 - 2 * room.get(name, 0.0) for name in ("left", "right", "below"))
    gaps = np.array([seen[:, 0].min() + left, right - seen[:, 0].max(), seen[:, 1].min() + below, 1 - seen[:, 1].max()])
    assert (gaps > 0).all()
    assert min(gaps[:2].max(), gaps[2:].max()) < 0.06  # it fills the width or the height


def test_the_box_is_shown_or_what_the_bodies_fill(trajectory):
    frames = some_frames(trajectory)
    assert len(frames) == 5
    low, high, walls = shown_space(trajectory, frames)
    assert walls == () and low.tolist() == [0, 0, 0] and high.tolist() == [0.5, 0.4, 0.3]
    no_walls = Planes(np.empty((0, 3)), np.empty((0, 3)))
    ball = SimpleNamespace(spheres=np.array([[0.0, 0, 0, 0.5]]), center=np.zeros(3))
    free = SimpleNamespace(box=None, planes=no_walls, clumps=[ball], species=np.array([0]))
    low, high, walls = shown_space(free, [frame_of((0, 0, 0), (0, 0, 0)), frame_of((3, 0, -1), (0, 0, 0))])
    assert walls == () and low.tolist() == [-0.5, -0.5, -1.5] and high.tolist() == [3.5, 0.5, 0.5]


def test_the_rim_holds_the_box_however_it_turns():
    points = rim(Space(np.array([0.0, 0.0, 0.0]), np.array([0.4, 0.3, 0.2])))
    assert np.allclose(np.linalg.norm(points[:, :2] - [0.2, 0.15], axis=1), 0.25)
    assert set(points[:, 2]) == {0.0, 0.2}


# --- between frames ------------------------------------------------------------------------------------------


def test_slerp_agrees_with_scipy():
    rng = np.random.default_rng(1)
    p, q = random_quaternions(rng, 20), random_quaternions(rng, 20)
    for part in (0.0, 0.2, 0.5, 0.9, 1.0):
        found = quaternions.slerp(p, q, part)
        for a, b, c in zip(p, q, found, strict=True):
            pair = Rotation.from_quat([np.roll(a, -1), np.roll(b, -1)])
            difference = Slerp([0, 1], pair)(part).inv() * Rotation.from_quat(np.roll(c, -1))
            assert difference.magnitude() < 1e-7


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-5, 1e-2, 1.0, 3.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_slerp_turns_steadily_the_shorter_way(angle, sign):
    def about_z(turn):
        return np.array([np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])

    for part in (0.0, 0.25, 0.5, 1.0):
        found = quaternions.slerp(about_z(0.3), sign * about_z(0.3 + angle), part)
        assert np.abs(found - about_z(0.3 + part * angle)).max() < 4e-16 / max(1e-3, np.sin(angle / 2))


def test_motion_between_frames_keeps_the_velocities():
    """A cubic motion is reproduced exactly."""
    rng = np.random.default_rng(2)
    a = rng.standard_normal((4, 3))

    def at(t):
        position = sum(a[k] * t**k for k in range(4))
        return frame_of(position, sum(k * a[k] * t ** (k - 1) for k in range(1, 4)))

    first, second = at(0.2), at(0.7)
    for part in (0.0, 0.3, 0.5, 0.99):
        found = movie.between(first, second, 0.5, part)
        assert np.abs(found.position - at(0.2 + 0.5 * part).position).max() < 1e-14


def test_a_body_that_bounced_stays_on_its_side():
    """It arrives and leaves with 1 m/s: the curve approaches the wall no farther than the body could."""
    first, second = frame_of((0, 0, 1), (0, 0, -1)), frame_of((0, 0, 1), (0, 0, 1))
    heights = [movie.between(first, second, 1.0, part).position[0, 2] for part in np.linspace(0, 1, 21)]
    assert min(heights) == pytest.approx(0.75) and heights[10] == min(heights)


def test_pictures_of_a_film_in_time():
    recorded = np.array([1.0, 1.5, 2.0])
    assert movie.times_of(recorded, None, 30) is recorded
    assert np.allclose(movie.times_of(recorded, 4.0, 5), np.linspace(1, 2, 21))  # 4 s of film, 5 pictures per second
    for slow in (0.0, -1.0, 0.001, 1e9, float("nan")):
        with pytest.raises(InputError, match=r"--slow .* give 0.033 to 3.3e[+]03"):
            movie.times_of(recorded, slow, 30)


def test_states_are_taken_from_the_frames_around():
    frames = [frame_of((x, 0, 0), (1, 0, 0)) for x in (0.0, 0.5, 1.5, 2.0)]
    recorded = np.array([0.5, 1.5, 2.0])
    source = SimpleNamespace(frame=frames.__getitem__)
    times = np.array([0.5, 0.6, 1.0, 1.5, 1.75, 2.0])
    found = list(movie.states_at(source, recorded, 1, times))
    assert [state.position[0, 0] for state in found] == pytest.approx(times)
    assert found[0] is frames[1] and found[3] is frames[2] and found[-1] is frames[3]


def test_some_frames_of_a_run():
    assert movie.chosen_frames("10:20", 100) == (10, 20)
    assert movie.chosen_frames(":", 7) == (0, 7)
    assert movie.chosen_frames("-5:", 7) == (2, 7)
    assert movie.chosen_frames("5:1000", 7) == (5, 7)
    for text in ("3", "a:b", "1:2:3", "5:5", "6:", "3:1", "1.5:3"):
        with pytest.raises(InputError, match=rf"--frames {text}: "):
            movie.chosen_frames(text, 7)
