"""How pictures look: whole spheres, soft light, backgrounds, colour scales, cameras, scale bars."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import minidem
from minidem.errors import InputError
from minidem.scenario.reading import parse
from minidem.views.camera import direction
from minidem.views.colours import ORANGE, SIDES, rgb, scaled_colours
from minidem.views.look import CAMERAS, Look, checked_look
from minidem.views.overlays import bar_figure, length_text, put_scale_bar, round_length, text_height
from minidem.views.pictures import picture
from minidem.views.plotter import new_plotter
from minidem.views.scene import Scene
from minidem.views.space import shown_space

OPEN = """\
schema = 1
name = "open"
time = {{dt = 1e-5, end = 1e-4}}
domain = {{{domain}}}
material.plastic = {{young = 1e9, poisson = 0.1, density = 2500}}
clump.ball = {{spheres = [[0, 0, 0, 0.015]], material = "plastic"}}
body = [{bodies}]
wall = [{walls}]
output = {{frames = 2, energies = 2}}
"""
SIZE = (320, 240)


def run_of(positions=((0, 0, 0),), speeds=(0.0,), walls="", domain=""):
    bodies = ", ".join(
        f'{{clump = "ball", position = {list(p)}, velocity = [0, {v}, 0]}}'
        for p, v in zip(positions, itertools.cycle(speeds), strict=False)
    )
    return minidem.run(parse(OPEN.format(bodies=bodies, walls=walls, domain=domain))).trajectory


@pytest.fixture(scope="module")
def ball():
    return run_of()


def image_of(trajectory, tmp_path, colour_by="species", size=SIZE, name="drawn.png", **look):
    picture(trajectory, 0, tmp_path / name, colour_by, size=size, look=Look(**look))
    with Image.open(tmp_path / name) as image:
        return np.array(image).astype(int)


def luminance(image):
    return image[:, :, :3] @ [0.2126, 0.7152, 0.0722]


def of_ball(image):
    return np.ptp(image[:, :, :3], axis=2) > 40


# --- spheres and light ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [(-58.0, 21.7), (30.0, -50.0), (-90.0, 0.0), (0.0, 90.0)])
@pytest.mark.parametrize("size", [(320, 240), (200, 400)])
def test_a_ball_is_round(ball, tmp_path, place, size):
    """Its pixels are those of a disc of the same area about their middle, up to the pixels of the edge."""
    for zoom in (0.7, 1.0):
        mask = of_ball(image_of(ball, tmp_path, camera=place, zoom=zoom, size=size))
        rows, columns = np.nonzero(mask)
        radius = np.sqrt(mask.sum() / np.pi)
        assert radius > 0.25 * min(size)
        y, x = np.mgrid[: size[1], : size[0]]
        distance = np.hypot(y - rows.mean(), x - columns.mean())
        wrong = mask != (distance < radius)
        assert np.abs(distance[wrong] - radius).max(initial=0.0) < 1.5
        assert wrong.sum() < 0.15 * 2 * np.pi * radius


@pytest.mark.parametrize("place", [(-58.0, 21.7), (10.0, 80.0)])
@pytest.mark.parametrize("positions", [[(3, 4, 5)], [(0, 0, 0), (0.05, 0, 0)], [(0, 0, 0), (0, 0.2, 0.1), (0.1, 0, 0)]])
def test_bodies_fill_the_picture_in_open_space(tmp_path, place, positions):
    """Opposite margins are a fortieth of the picture in one direction, and no less in the other."""
    rows, columns = np.nonzero(of_ball(image_of(run_of(positions=positions), tmp_path, camera=place)))
    left, right, above, below = columns.min(), 319 - columns.max(), rows.min(), 239 - rows.max()
    assert (left, right) == pytest.approx((8, 8), abs=1) or (above, below) == pytest.approx((6, 6), abs=1)
    assert min(left, right) >= 7 and min(above, below) >= 5


def test_no_side_is_black(ball, tmp_path):
    """The darkest pixel of the ball has more than a third of the luminance of its colour."""
    image = image_of(ball, tmp_path, transparent=True)
    inside = luminance(image)[image[:, :, 3] == 255]
    own = luminance(rgb(ORANGE)[None, None])[0, 0]
    assert 0.38 * own < inside.min() < 0.75 * own and 0.95 * own < inside.max() < 1.6 * own


def test_hues_of_numbers_survive_the_light(tmp_path):
    """Nine balls of nine speeds: the hue of each, in light and shade, is nearest to that of its own number."""
    speeds = np.linspace(0, 2, 9)
    trajectory = run_of(positions=[(0.04 * k, 0, 0) for k in range(9)], speeds=speeds)
    image = image_of(trajectory, tmp_path, "speed", size=(960, 240), camera=(-90.0, 0.0), span=(0.0, 2.0), transparent=True)
    shown = image[image[:, :, 3] == 255][:, :3].astype(float)
    place = np.nonzero(image[:, :, 3] == 255)[1]
    balls = shown[place < 800]
    hues = scaled_colours(speeds, (0.0, 2.0)).astype(float)
    hues /= np.linalg.norm(hues, axis=1, keepdims=True)
    found = np.argmax(balls / np.linalg.norm(balls, axis=1, keepdims=True) @ hues.T, axis=1)
    order = np.argsort(place[place < 800], kind="stable")
    assert (np.diff(found[order]) >= 0).mean() > 0.9 and set(found) == set(range(9))


# --- box, floor, background ----------------------------------------------------------------------------------


def test_the_floor_is_seen_below_the_ball(tmp_path):
    image = image_of(run_of(walls='{point = [0, 0, -0.015], normal = [0, 0, 1], material = "plastic"}'), tmp_path)
    floor = (image.min(axis=2) > 185) & (image[:, :, 0] - image[:, :, 2] > 6) & ~of_ball(image)
    assert floor.mean() > 0.15
    assert np.nonzero(floor)[0].mean() > np.nonzero(of_ball(image))[0].mean()


def test_sides_of_a_box_are_behind_the_bodies(tmp_path):
    trajectory = run_of(positions=((0.1, 0.1, 0.1),), domain='box = [0.2, 0.2, 0.2], material = "plastic"')
    for camera in ((-58.0, 21.7), (130.0, 10.0)):
        image = image_of(trajectory, tmp_path, camera=camera, background="#0000ff")
        sides = np.abs(image - rgb(SIDES).astype(int)).max(axis=2) < 12
        assert sides.mean() > 0.1 and ((np.ptp(image, axis=2) > 40) & (image[:, :, 2] < 100)).sum() > 100
        assert image[0, 0].tolist() == [0, 0, 255]


def test_transparent_background(ball, tmp_path):
    image = image_of(ball, tmp_path, transparent=True)
    assert image.shape == (240, 320, 4)
    alpha = image[:, :, 3]
    assert (alpha[0] == 0).all() and alpha[120, 160] == 255 and set(np.unique(alpha)) > {0, 255}
    opaque = image_of(ball, tmp_path)
    shown = np.round(image[:, :, :3] * alpha[:, :, None] / 255 + 255 - alpha[:, :, None])
    assert np.abs(shown - opaque).max() <= 3  # put on white paper it is the usual picture


def test_background_and_what_is_written_on_it(ball, tmp_path):
    for background, light in (("#ffffff", True), ("#101030", False)):
        image = image_of(ball, tmp_path, "speed", background=background)
        assert image[0, 0].tolist() == rgb(background).tolist()
        text = luminance(image)[:, -60:]
        assert (text.min() < 60) if light else (text.max() > 180)


# --- colour scales -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, 3e-9), (-2.5e6, 1e6), (0.9999, 1.0001), (12345.678, 12345.679), (0, 7)])
@pytest.mark.parametrize("height", [240, 720, 2000])
@pytest.mark.parametrize("title", ["speed (m/s)", "angular velocity (rad/s)"])
def test_labels_of_the_scale_do_not_overlap(span, height, title):
    figure = bar_figure(title, span, "viridis", height, "#222222")
    figure.draw_without_rendering()
    axis = figure.axes[0]
    labels = [label for label in axis.get_yticklabels() if span[0] <= label.get_position()[1] <= span[1]]
    offset = axis.yaxis.get_offset_text()
    texts = [*labels, axis.yaxis.label, *([offset] if offset.get_text() else [])]
    assert len(labels) >= 2 and axis.yaxis.label.get_text() == title
    boxes = [text.get_window_extent() for text in texts]
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)
    assert all(not box.overlaps(axis.get_window_extent()) for box in boxes[: len(labels)])


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_the_scale_of_equal_numbers_has_one_label(value, tmp_path):
    """No range is invented: one label in the middle, and one colour, that of the bodies."""
    figure = bar_figure("speed (m/s)", (value, value), "viridis", 720, "#222222")
    figure.draw_without_rendering()
    axis = figure.axes[0]
    low, high = axis.get_ylim()
    assert [label.get_text() for label in axis.get_yticklabels()] == [f"{value:g}"]
    assert axis.get_yticks().tolist() == [value] and value == (low + high) / 2
    middle = scaled_colours(np.array([0.5]), (0.0, 1.0))[0]
    assert (scaled_colours(np.array([value]), (value, value))[0] == middle).all()
    image = image_of(run_of(speeds=(value,)), tmp_path, "speed")
    bar = image[60:180, 240:][(np.abs(image[60:180, 240:] - middle) <= 1).all(axis=2)]
    assert len(bar) > 300  # pixels of this very colour, which light does not change


def test_speeds_that_differ_by_round_off_are_one(tmp_path):
    trajectory = run_of(speeds=(1.0,))
    plotter = new_plotter(SIZE, off_screen=True)
    scene = Scene(plotter, trajectory, shown_space(trajectory, [trajectory[0]]), "speed", False)
    frames = [trajectory[0], replace(trajectory[1], velocity=trajectory[1].velocity * (1 + 1e-15))]
    scene.use("speed", frames)
    assert scene.range == (1.0, 1.0)
    scene.use("speed", [frames[0], replace(frames[1], velocity=2 * frames[0].velocity)])
    assert scene.range == (1.0, 2.0)
    plotter.close()


def test_range_and_colour_map(tmp_path):
    """A speed of 1 m/s is the middle of 0 to 2, the top of 0 to 1, and another colour on another map."""
    trajectory = run_of(speeds=(1.0,))

    def hue(**look):
        image = image_of(trajectory, tmp_path, "speed", transparent=True, **look)
        ball = image[:, :160][image[:, :160, 3] == 255][:, :3].mean(axis=0)
        return ball / np.linalg.norm(ball)

    for span, colour_map in (((0.0, 2.0), "viridis"), ((0.0, 1.0), "viridis"), ((0.0, 2.0), "plasma")):
        expected = scaled_colours(np.array([1.0]), span, colour_map)[0].astype(float)
        assert hue(span=span, colour_map=colour_map) @ expected / np.linalg.norm(expected) > 0.98


# --- cameras and lengths -------------------------------------------------------------------------------------


def test_named_cameras_look_along_the_axes(tmp_path):
    """Three balls on the axes: each camera sees two of them apart, and those in the right order."""
    assert np.allclose(direction(*CAMERAS["front"]), [0, -1, 0]) and np.allclose(direction(*CAMERAS["top"]), [0, 0, 1])
    assert np.allclose(direction(*CAMERAS["right"]), [1, 0, 0]) and np.allclose(direction(-58, 21.7)[2], np.sin(0.3787364))
    trajectory = run_of(positions=((0, 0, 0), (0.1, 0, 0)), speeds=(0.0, 1.0))
    for name, bright_side in (("front", 1), ("back", -1), ("top", 1), ("bottom", 1)):
        image = image_of(trajectory, tmp_path, "speed", camera=CAMERAS[name], transparent=True)[:, :250]
        solid = image[:, :, 3] == 255
        yellow = solid & (image[:, :, 0] > image[:, :, 2] + 60)
        assert bright_side * (np.nonzero(yellow)[1].mean() - np.nonzero(solid)[1].mean()) > 20, name


def test_zoom_enlarges(ball, tmp_path):
    small, large = (of_ball(image_of(ball, tmp_path, zoom=zoom)).sum() for zoom in (0.5, 1.0))
    assert large == pytest.approx(4 * small, rel=0.02)


def test_the_scale_bar_is_as_long_as_it_says(ball, tmp_path):
    """The ball is in the middle of the scene: 30 mm across, slightly more in perspective."""
    image = image_of(ball, tmp_path, scale_bar=True, zoom=0.8, size=(960, 720))
    across = np.ptp(np.nonzero(of_ball(image))[1]) + 1
    dark = (image.max(axis=2) < 60) & ~of_ball(image)
    rows = np.nonzero(dark.sum(axis=1) > 60)[0]
    length = dark[rows[0]].sum()
    distance = 0.015 / np.sin(np.radians(15))  # the camera is farther away than this
    assert 1.0 < across / length * 0.01 / 0.03 < 1 / np.sqrt(1 - (0.015 / distance) ** 2)


@pytest.mark.parametrize("size", [(320, 240), (640, 480), (1920, 1440)])
def test_the_text_of_the_scale_bar_is_clear_of_it(size):
    canvas = Image.new("RGB", size, "white")
    put_scale_bar(canvas, 1000.0, "#000000")
    rows = np.nonzero((np.asarray(canvas).max(axis=2) < 200).any(axis=1))[0]
    (gap,) = np.diff(rows)[np.diff(rows) > 1] - 1
    assert gap >= max(3, 0.3 * text_height(size[1]))


def test_lengths():
    assert [round_length(x) for x in (1.0, 1.99, 2.0, 4.9e-3, 5e-3, 0.099, 720.0)] == pytest.approx(
        [1.0, 1.0, 2.0, 2e-3, 5e-3, 0.05, 500.0]
    )
    texts = {5e-3: "5 mm", 0.02: "2 cm", 1.0: "1 m", 2e-6: "2 µm", 2000.0: "2 km", 5e-11: "0.05 nm"}
    assert {length: length_text(length) for length in texts} == texts
    canvas = Image.new("RGB", (400, 300), "white")
    assert put_scale_bar(canvas, 1000.0, "#000000") == pytest.approx(0.05)
    dark = np.asarray(canvas).max(axis=2) < 10
    assert dark.sum(axis=1).max() == 50


def test_options_that_cannot_be():
    good = {"camera": None, "zoom": 1.0, "background": "white", "transparent": False, "span": None, "colour_map": None}
    good |= {"scale_bar": False, "colour_by": "speed"}
    assert checked_look(**good) == Look()
    whole = good | {"camera": "-30,20", "background": "navy", "span": "0:2.5", "colour_map": "plasma", "zoom": 2.0}
    assert checked_look(**whole) == Look((-30.0, 20.0), 2.0, "#000080", False, (0.0, 2.5), "plasma")
    for change, words in (
        ({"camera": "up"}, ["--camera up", "AZIMUTH,ELEVATION", "front, back"]),
        ({"camera": "0,91"}, ["--camera 0,91"]),
        ({"camera": "nan,0"}, ["--camera nan,0"]),
        ({"zoom": 0.0}, ["--zoom 0", "0.01 to 100"]),
        ({"zoom": float("nan")}, ["--zoom nan"]),
        ({"background": "wite"}, ["--background wite", "#RRGGBB"]),
        ({"background": "none"}, ["--background none"]),
        ({"span": "2:1"}, ["--range 2:1", "LOW:HIGH"]),
        ({"span": "0:inf"}, ["--range 0:inf"]),
        ({"span": "3"}, ["--range 3"]),
        ({"colour_map": "viridi"}, ["--cmap", "viridi", "did you mean viridis?"]),
        ({"colour_by": "species", "span": "0:1"}, ["--range 0:1", "--colour speed, spin, energy"]),
        ({"colour_by": "mood"}, ["mood", "species, body, speed"]),
    ):
        with pytest.raises(InputError) as caught:
            checked_look(**(good | change))
        assert all(word in str(caught.value) for word in words), caught.value


def test_command(minidem_command, directory):
    look = ["--camera", "top", "--zoom", 1.2, "--background", "#102030", "--colour", "spin", "--range", "0:20"]
    look += ["--cmap", "plasma", "--scale-bar", "--size", "320x240"]
    outcome = minidem_command("view", "box.toml", "--screenshot", "a.png", *look)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout == "written to    a.png, 320 x 240 pixels, t = 0 s\n"
    with Image.open("a.png") as image:
        assert image.getpixel((0, 0)) == (16, 32, 48)
    refused = minidem_command("view", "box.toml", "--screenshot", "a.jpg", "--transparent")
    assert refused.code == 2 and "only .png pictures can be --transparent" in refused.stderr
    refused = minidem_command("view", "box.toml", "--scale-bar")
    assert refused.code == 2 and "--scale-bar: is for pictures; give --screenshot" in refused.stderr
