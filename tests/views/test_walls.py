"""Walls in pictures, films and reports: which part of a plane is drawn, and whether it is seen."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from browser import Browser
from PIL import Image

import minidem
from minidem.files.trajectory import Frame, Planes
from minidem.scenario.reading import parse
from minidem.views import movie
from minidem.views.colours import ORANGE, rgb
from minidem.views.pictures import picture
from minidem.views.report.page import write_report
from minidem.views.report.scene_data import FAR, scene_data, shown_spaces
from minidem.views.space import NEAR, area, shown_space

ROD = """\
schema = 1
name = "rod"
time = {{dt = 1e-5, end = 0.06}}
domain = {{gravity = [0, 0, -9.81]{box}}}
material.plastic = {{young = 1e9, poisson = 0.3, density = 1200}}
clump.rod = {{spheres = [[-0.02, 0, 0, 0.01], [0, 0, 0, 0.01], [0.02, 0, 0, 0.01]], material = "plastic"}}
body = [{{clump = "rod", position = [0.05, 0.05, 0.05]}}]
wall = [{walls}]
output = {{frames = 5, energies = 5}}
"""
FLOOR = ((0, 0, 0), (0, 0, 1))
SIZE = (320, 240)


def planes(*walls):
    """Half-spaces of points and normals of any length."""
    point, normal = (np.array([wall[k] for wall in walls], float).reshape(-1, 3) for k in (0, 1))
    return Planes(point, normal / np.linalg.norm(normal, axis=1, keepdims=True))


def ball(*walls, positions=((0, 0, 0),), radius=1.0, box=None):
    """A trajectory of one ball, one frame per position."""
    clump = SimpleNamespace(spheres=np.array([[0.0, 0, 0, radius]]), center=np.zeros(3))
    frames = [Frame(np.array([position], float), *(np.zeros((1, n)) for n in (3, 4, 3))) for position in positions]
    run = SimpleNamespace(box=None if box is None else np.array(box), planes=planes(*walls), clumps=[clump])
    run.species = np.zeros(1, int)
    return run, frames


def run_of(*walls, box=""):
    rows = ", ".join(f'{{point = {list(p)}, normal = {list(n)}, material = "plastic"}}' for p, n in walls)
    return minidem.run(parse(ROD.format(walls=rows, box=box))).trajectory


def drawn(trajectory, tmp_path, frame=0):
    picture(trajectory, frame, tmp_path / "drawn.png", size=SIZE)
    with Image.open(tmp_path / "drawn.png") as image:
        return np.array(image.convert("RGB")).astype(int)


def of_rod(image):
    """Which pixels have the hue of the rod."""
    hue = image / np.maximum(image.max(axis=2, keepdims=True), 1)
    return (np.abs(hue - rgb(ORANGE) / 230.0).max(axis=2) < 0.1) & (np.ptp(image, axis=2) > 40)


def of_wall(image):
    """Which pixels have the colour of walls: light, but not white."""
    return (image.min(axis=2) > 185) & (image[:, :, 0] - image[:, :, 2] > 6) & (np.ptp(image, axis=2) < 20)


# --- which part of a wall is shown ---------------------------------------------------------------------------


def test_floor_below_a_ball():
    low, high, (wall,) = shown_space(*ball(((7, 8, -1.5), (0, 0, 2))))
    x, y = wall.points[:, 0], wall.points[:, 1]
    assert np.allclose(wall.points[:, 2], -1.5) and len(wall.points) == 4
    assert x.min() < -1.5 and x.max() > 1.5 and np.isclose(x.min(), y.min()) and np.isclose(x.max(), -x.min())
    assert low[2] == pytest.approx(-1.5) and high[2] == 1.0 and np.allclose(low[:2], x.min())


def test_points_go_round_counterclockwise_seen_from_the_bodies():
    rng = np.random.default_rng(3)
    for normal in rng.standard_normal((20, 3)):
        _, _, (wall,) = shown_space(*ball((-normal / np.linalg.norm(normal), normal)))
        round_ = np.cross(wall.points[1] - wall.points[0], wall.points[2] - wall.points[1])
        assert round_ @ wall.normal > 0 and wall.normal @ normal > 0


@pytest.mark.parametrize("normal", [(0, 0, 1), (0.3, -0.2, 1), (-1, 1.6, -0.75)])  # the last is in front of the camera
def test_far_walls_are_not_shown(normal):
    run, frames = ball()
    alone = shown_space(run, frames)
    point = np.array(normal) / np.linalg.norm(normal)
    for distance, count in ((-100, 0), (1 + 1.01 * NEAR * alone.size, 0), (1 + 0.99 * NEAR * alone.size, 1)):
        space = shown_space(*ball((-abs(distance) * point, normal)))
        assert len(space.walls) == count
        assert space.size < 5 * NEAR * alone.size
        if not count:
            assert (space.low == alone.low).all() and (space.high == alone.high).all()


def test_walls_end_where_they_meet():
    """Three slopes and a slab, none of which reaches behind another, even if one is there twice."""
    slopes = [((0, 0, -3), (np.cos(a), np.sin(a), 1.0)) for a in (0.0, 2.1, 4.2)]
    run, frames = ball(*slopes, slopes[0], ((0, 0, -2), (0, 0, 1)))
    space = shown_space(run, frames)
    assert len(space.walls) == 5
    for wall in space.walls:
        for point, normal in zip(run.planes.point, run.planes.normal, strict=True):
            assert ((wall.points - point) @ normal).min() > -1e-7
    assert space.size < 6 * shown_space(*ball()).size


def test_in_a_box_the_part_inside_is_shown():
    run, frames = ball(((0, 0, 0), (-1, 0, 1)), ((0, 0, -1), (0, 0, 1)), ((0, 0, 9), (0, 0, -1)), box=(2.0, 3.0, 4.0))
    low, high, (wall,) = shown_space(run, frames)
    assert low.tolist() == [0, 0, 0] and high.tolist() == [2, 3, 4]
    corners = {tuple(np.round(point, 6) + 0.0) for point in wall.points}
    assert corners == {(0, 0, 0), (2, 0, 2), (2, 3, 2), (0, 3, 0)}
    assert area(wall.points) == pytest.approx(3 * np.sqrt(8), rel=1e-6)


def test_run_that_blew_up_shows_no_walls():
    for lost in (np.inf, np.nan):
        run, frames = ball(FLOOR, positions=((0, 0, 1), (lost, 0, 1)))
        with np.errstate(invalid="raise"):
            assert shown_space(run, frames).walls == ()
        assert len(shown_space(run, frames[:1]).walls) == 1


# --- pictures ------------------------------------------------------------------------------------------------


def test_the_floor_is_seen_below_the_rod(tmp_path):
    image = drawn(run_of(FLOOR), tmp_path)
    rod, floor = of_rod(image), of_wall(image)
    assert rod.sum() > 1000 and floor.sum() > 8000
    assert np.nonzero(floor)[0].mean() > np.nonzero(rod)[0].max()
    assert image[0, 0].tolist() == [255, 255, 255]
    without = drawn(run_of(), tmp_path)
    assert of_wall(without).sum() < 100 and of_rod(without).sum() > rod.sum()


def test_walls_in_front_of_the_camera_hide_nothing(tmp_path):
    """The same planes, with the rod behind them and in front of them."""
    behind = drawn(run_of(((0.09, 0, 0), (-1, 0, 0)), ((0, 0.01, 0), (0, 1, 0))), tmp_path)
    before = drawn(run_of(((0.01, 0, 0), (1, 0, 0)), ((0, 0.09, 0), (0, -1, 0))), tmp_path)
    assert of_wall(behind).sum() < 300 and of_wall(before).sum() > 5000
    assert of_rod(behind).sum() > 800 and of_rod(before).sum() > 800
    grey = (behind.max(axis=2) < 200) & (np.ptp(behind, axis=2) < 12)
    assert grey.sum() > 200  # their outlines are seen


def test_tilted_wall_in_a_box(tmp_path):
    box = ', box = [0.1, 0.1, 0.1], material = "plastic"'
    plain, tilted = (drawn(run_of(*walls, box=box), tmp_path) for walls in ((), (((0.06, 0, 0), (1, 0, 1)),)))
    assert of_wall(tilted).sum() > of_wall(plain).sum() + 1500
    assert of_rod(tilted).sum() == pytest.approx(of_rod(plain).sum(), rel=0.05)  # the camera is where it was
    away = drawn(run_of(((-1, 0, 0), (1, 0, 0)), box=box), tmp_path)
    assert np.array_equal(away, plain)


def test_shadows_fall_on_walls():
    """The rod almost lies on the floor: near it, shadows make the floor darker."""
    trajectory = run_of(((0, 0, 0.0399), (0, 0, 1)))
    times = trajectory.time[:2]
    options = (movie.Options(size=SIZE, shadows=shadows) for shadows in (False, True))
    plain, shaded = (next(movie.pictures(trajectory, times, 0, times, some)).astype(int) for some in options)
    darker = of_wall(plain) & (plain - shaded > 8).all(axis=2)
    rows, columns = np.nonzero(of_rod(plain))
    assert 30 < darker.sum() < 0.2 * of_wall(plain).sum()
    assert np.nonzero(darker)[0].mean() > rows.mean() and columns.min() < np.nonzero(darker)[1].mean() < columns.max()


def test_film(tmp_path):
    trajectory = run_of(FLOOR)
    options = movie.Options(size=SIZE, orbit=120.0)
    images = list(movie.pictures(trajectory, trajectory.time, 0, trajectory.time, options))
    assert len(images) == 5
    for image in images:
        assert of_wall(image.astype(int)).sum() > 5000 and of_rod(image.astype(int)).sum() > 300


# --- reports -------------------------------------------------------------------------------------------------


def test_data_of_the_scene():
    trajectory = run_of(FLOOR)
    frames = scene_data(trajectory, [0, 2, 4])["frames"]
    (wall,) = frames[0]["walls"]
    assert all(frame["walls"] == [wall] and frame["middle"] == frames[0]["middle"] for frame in frames)  # it stands still
    assert wall["normal"] == [0, 0, 1] and len(wall["points"]) == 4 and np.abs(np.array(wall["points"])[:, 2]).max() < 1e-6
    assert json.dumps(frames, allow_nan=False)
    assert [frame["walls"] for frame in scene_data(run_of(), [0, 4])["frames"]] == [[], []]


def test_bodies_that_travel_far_are_followed():
    floor = ((0, 0, -2), (0, 0, 1))
    size = shown_space(*ball(floor)).size
    for distance, same in ((0.3 * FAR * size, True), (2.0 * FAR * size, False)):
        run, states = ball(floor, positions=((0, 0, 0), (distance, 0, 0)))
        first, last = shown_spaces(run, states)
        assert (first is last) == same
        if not same:
            assert last.low[0] == pytest.approx(first.low[0] + distance) and first.size == pytest.approx(size)
    for others in ((), (((0, 0, -100), (0, 0, 1)),)):  # without a wall nearby they always are
        first, last = shown_spaces(*ball(*others, positions=((0, 0, 0), (1, 0, 0))))
        assert first.walls == last.walls == () and (first.low[0], last.low[0]) == (-1, 0)
    first, _ = shown_spaces(*ball(floor, positions=((0, 0, 0), (np.inf, 0, 0))))  # and if the run blows up
    assert first.size == pytest.approx(size) and len(first.walls) == 1


def test_page_in_a_browser(tmp_path):
    text = ROD.format(walls='{point = [0, 0, 0], normal = [0, 0, 1], material = "plastic"}', box="")
    minidem.run(parse(text), tmp_path / "run", text=text).trajectory.close()
    write_report(tmp_path / "run", still=False)
    page = tmp_path / "run" / "report.html"
    assert re.search(r'"walls": \[\{"points"', page.read_text())
    with Browser(tmp_path / "profile") as browser:
        browser.open(page)
        above = browser.picture("#scene")
        paper, rod = above[2, 2], of_rod(above)
        floor = (np.abs(above - paper).max(axis=2) > 8) & (np.ptp(above, axis=2) < 25) & (above.min(axis=2) > 200)
        assert browser.console == [] and rod.mean() > 0.005 and floor.mean() > 0.05
        assert np.nonzero(floor)[0].mean() > np.nonzero(rod)[0].max()
        browser.drag("#scene", 0, -300)  # below the floor
        below = browser.picture("#scene")
        assert of_rod(below).mean() > 0.005
        hidden = (np.abs(below - paper).max(axis=2) > 8) & (np.ptp(below, axis=2) < 25) & (below.min(axis=2) > 200)
        assert hidden.mean() < 0.01 and browser.console == []
