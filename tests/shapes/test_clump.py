"""Unions of spheres: closed forms, counting, invariances. Clumps. Reading files."""

from itertools import product

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation
from unions import random_clump, shell

from minidem.errors import InputError
from minidem.shapes.clump import make_clump
from minidem.shapes.sphere_files import LARGEST_FILE, read_spheres
from minidem.shapes.union import Moments, overlapping, union_moments

PI = np.pi


def difference(a, b):
    """Largest relative difference of two (volume, centre, second moments)."""
    scale = np.trace(b[2])
    length = np.sqrt(scale / b[0])
    return max(abs(a[0] / b[0] - 1), np.abs(a[1] - b[1]).max() / length, np.abs(a[2] - b[2]).max() / scale)


def along_x(pieces):
    """Exact moments of slices of spheres along the x axis, each (centre x, radius, from x, to x)."""
    moments = np.zeros(4)  # 1, x, x^2, y^2
    for center, radius, start, end in pieces:
        u = Polynomial([0, 1])  # x - center
        x, disc = u + center, radius**2 - u**2
        for k, integrand in enumerate((PI * disc, PI * disc * x, PI * disc * x**2, PI / 4 * disc**2)):
            moments[k] += integrand.integ()(end - center) - integrand.integ()(start - center)
    volume, first, xx, yy = moments
    return volume, np.array([first / volume, 0, 0]), np.diag([xx - first**2 / volume, yy, yy])


# closed forms -------------------------------------------------------------------------------------


def test_one_sphere():
    volume, center, second = union_moments([[1.0, -2.0, 3.0, 0.5]])
    assert volume == pytest.approx(4 / 3 * PI * 0.125, rel=1e-15)
    np.testing.assert_array_equal(center, [1, -2, 3])
    np.testing.assert_allclose(second, 4 / 15 * PI * 0.5**5 * np.eye(3), rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "r1, r2, d", [(1, 1, 1), (1, 0.5, 1.2), (1, 0.5, 0.6), (1, 0.01, 1.003), (1, 0.9999, 0.001), (1, 1, 1e-6), (1, 1, 2e-12)]
)
def test_two_overlapping_spheres(r1, r2, d):
    plane = (d * d + r1 * r1 - r2 * r2) / (2 * d)
    expected = along_x([(0, r1, -r1, plane), (d, r2, plane, d + r2)])
    assert difference(union_moments([[0, 0, 0, r1], [d, 0, 0, r2]]), expected) < 1e-13


def test_volume_of_the_lens():
    assert union_moments([[0, 0, 0, 1], [1, 0, 0, 1]])[0] == pytest.approx(8 / 3 * PI - 5 / 12 * PI, rel=1e-14)


@pytest.mark.parametrize(
    "inner", [[0.2, 0.1, 0.3, 0.4], [0, 0, 0, 0.7], [0.5, 0, 0, 0.5], [0, 0, 0, 1], [0.6, 0, 0.8, 1e-9]]
)
def test_sphere_inside_another_adds_nothing(inner):
    # inside; concentric; touching from inside; the same; a speck on the surface
    assert difference(union_moments([inner, [0, 0, 0, 1]]), along_x([(0, 1, -1, 1)])) < 1e-14


@pytest.mark.parametrize(
    "spheres",
    [
        [(0, 1), (2, 1)],  # touching
        [(0, 0.1), (0.4, 0.3)],  # touching, with round-off in the sum
        [(-2, 1), (0, 1), (2, 1)],  # three in a row
        [(0, 1), (1.001, 0.001)],  # a thousand times smaller
        [(0, 1), (7, 2), (3000, 0.5)],  # apart
    ],
)
def test_spheres_that_do_not_overlap_add_up(spheres):
    expected = along_x([(x, r, x - r, x + r) for x, r in spheres])
    assert difference(union_moments([[x, 0, 0, r] for x, r in spheres]), expected) < 1e-13


def test_spheres_through_one_circle():
    # all pass through the unit circle of the plane x = 0; only the outermost two count
    spheres = [[x, 0, 0, np.sqrt(1 + x * x)] for x in (-2, -1, -0.5, 0, 0.25, 1, 1.5)]
    expected = along_x([(-2, np.sqrt(5), -2 - np.sqrt(5), 0), (1.5, np.sqrt(3.25), 0, 1.5 + np.sqrt(3.25))])
    assert difference(union_moments(spheres), expected) < 1e-13


@pytest.mark.parametrize("offset", [0.0, 2e-16, 1e-15, 1e-13, 1e-11, 1e-9])
def test_nearly_coinciding_circles(offset):
    # as before, moved by about the tolerances of the arc decisions; the moments change by no more than that
    spheres = np.array([[x, 0, 0, np.sqrt(1 + x * x)] for x in (-2, -1, -0.5, 0, 0.25, 1, 1.5)] * 3)
    expected = union_moments(spheres)
    rng = np.random.default_rng(4)
    for _ in range(100):
        moved = spheres + offset * rng.normal(size=spheres.shape)
        assert difference(union_moments(moved), expected) < 10 * offset + 1e-13


def test_square_of_spheres_through_its_centre():
    # four spheres of radius 1/sqrt 2 on a unit square: diagonal ones touch, at the point where all four meet.
    # Each pair of neighbours shares a lens; triple intersections have no volume.
    r = np.sqrt(0.5)
    lens = PI * (4 * r + 1) * (2 * r - 1) ** 2 / 12
    spheres = [[x, y, 0, r] for x, y in product((0, 1), repeat=2)]
    volume, center, second = union_moments(spheres)
    assert volume == pytest.approx(4 * (4 / 3 * PI * r**3 - lens), rel=1e-13)
    np.testing.assert_allclose(center, [0.5, 0.5, 0], atol=1e-14)
    np.testing.assert_allclose(second, np.diag(np.diag(second)), atol=1e-14)


# an independent method (others: test_slices.py) ------------------------------------------------------


@pytest.mark.parametrize("spheres", [random_clump(100, 1), shell()], ids=["100 spheres", "shell"])
def test_against_counting(spheres):
    low, high = (spheres[:, :3] - spheres[:, 3:]).min(axis=0), (spheres[:, :3] + spheres[:, 3:]).max(axis=0)
    points = np.random.default_rng(7).uniform(low, high, (400_000, 3))
    inside = np.zeros(len(points), bool)
    for sphere in spheres:
        inside |= np.sum((points - sphere[:3]) ** 2, axis=1) < sphere[3] ** 2
    volume, center, second = union_moments(spheres)
    arm = points - center
    for sample, exact in [
        (inside, volume),
        *((inside * arm[:, a], 0.0) for a in range(3)),
        *((inside * arm[:, a] * arm[:, b], second[a, b]) for a in range(3) for b in range(a, 3)),
    ]:
        box = np.prod(high - low)
        assert abs(box * sample.mean() - exact) < 4 * box * sample.std() / np.sqrt(len(points))


def test_a_void_is_empty():
    spheres = shell()
    directions = np.random.default_rng(0).normal(size=(20_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    assert (np.linalg.norm(directions[:, None] - spheres[:, :3], axis=2).min(axis=1) < 0.35).all()  # it is closed
    plug = [[0, 0, 0, 0.9]]  # reaches into the wall everywhere
    hollow, full = union_moments(spheres)[0], union_moments(np.vstack([spheres, plug]))[0]
    assert 4 / 3 * PI * 0.65**3 < full - hollow < 4 / 3 * PI * 0.9**3
    pebble = [[0, 0, 0, 0.5]]  # touches nothing
    assert union_moments(np.vstack([spheres, pebble]))[0] - hollow == pytest.approx(4 / 3 * PI / 8, rel=1e-12)


# invariances --------------------------------------------------------------------------------------


def lattice(radius, shape=(3, 3, 3)):
    points = np.array(list(product(*map(range, shape))), dtype=float)
    return np.column_stack([points, np.full(len(points), radius)])


def ring(n, radius):
    phi = 2 * PI * np.arange(n) / n
    return np.column_stack([np.cos(phi), np.sin(phi), np.zeros(n), np.full(n, radius)])


def mixed_lattice(seed):
    rng = np.random.default_rng(seed)
    radii = np.sqrt([0.25, 0.5, 0.75, 1, 1.25, 2])
    return np.column_stack([rng.integers(0, 3, (20, 3)), rng.choice(radii, 20)]).astype(float)


BODIES = {
    "random": random_clump(60, 11),
    "sizes over 1000": np.vstack([random_clump(20, 5), random_clump(40, 6) * [1, 1, 1, 1e-3]]),
    "cubic, touching": lattice(0.5),
    "cubic, face diagonals touching": lattice(np.sqrt(0.5)),
    "cubic, space diagonals touching": lattice(np.sqrt(0.75)),
    "cubic, next neighbours touching": lattice(1.0),
    "ring through its centre": ring(8, 1.0),
    "ring of touching": ring(8, np.sin(PI / 8)),
    "ring, opposite ones overlap": ring(8, 1.2),
    "two rings": np.vstack([ring(8, 0.7), ring(8, 0.7) + np.array([0, 0, 0.7, 0])]),
    "stack": np.column_stack([np.zeros((9, 2)), np.arange(9) / 2, np.tile([1, 0.5, 0.75], 3)]),
    "concentric": np.column_stack([np.repeat([[0, 0, 0], [1, 0, 0]], 3, axis=0), [1, 0.5, 0.2, 0.9, 0.9, 0.1]]),
    **{f"mixed lattice {seed}": mixed_lattice(seed) for seed in range(6)},
}


@pytest.mark.parametrize("spheres", BODIES.values(), ids=BODIES.keys())
def test_invariances(spheres):
    volume, center, second = reference = union_moments(spheres)
    rng = np.random.default_rng(1)

    turn = Rotation.random(random_state=3).as_matrix()
    turned = np.column_stack([spheres[:, :3] @ turn.T, spheres[:, 3]])
    assert difference(union_moments(turned), (volume, turn @ center, turn @ second @ turn.T)) < 1e-12

    shift = np.array([1e3, -2e3, 500])  # costs three of sixteen digits
    assert difference(union_moments(spheres + np.append(shift, 0)), (volume, center + shift, second)) < 1e-11

    assert difference(union_moments(spheres[rng.permutation(len(spheres))]), reference) < 1e-13
    doubled = np.vstack([spheres, spheres[rng.integers(0, len(spheres), 30)]])
    assert difference(union_moments(doubled), reference) < 1e-13
    for _ in range(10):  # the same but for round-off
        nearly = np.vstack([spheres] * 3) + 2e-16 * rng.normal(size=(3 * len(spheres), 4))
        assert difference(union_moments(nearly), reference) < 1e-12
    shrunk = spheres * [1, 1, 1, 0.5]
    assert difference(union_moments(np.vstack([shrunk, spheres])), reference) < 1e-13

    for factor in (1e-6, 3.7, 1e6):
        scaled = (volume * factor**3, center * factor, second * factor**5)
        assert difference(union_moments(spheres * factor), scaled) < 1e-12


@pytest.mark.parametrize("spheres", BODIES.values(), ids=BODIES.keys())
def test_continuous_through_degenerate_positions(spheres):
    # an exactly degenerate body lies half-way between two that are not, but for terms of second order
    spheres = np.unique(spheres, axis=0)
    rng = np.random.default_rng(8)
    for size in (1e-6, 1e-7, 1e-10, 1e-11, 1e-12):
        move = size * spheres[:, 3].min() * rng.normal(size=spheres.shape)
        either, other = union_moments(spheres + move), union_moments(spheres - move)
        middle = tuple((a + b) / 2 for a, b in zip(either, other, strict=True))
        assert difference(middle, union_moments(spheres)) < 100 * size**2 + 1e-11


# clumps -------------------------------------------------------------------------------------------


def rotation_of(clump):
    w, *xyz = clump.principal_axes
    return Rotation.from_quat([*xyz, w]).as_matrix()


def test_clump_of_one_sphere():
    clump = make_clump([[1, 2, 3, 0.1]], 2500.0, "ball", "glass")
    assert (clump.name, clump.material, clump.density) == ("ball", "glass", 2500.0)
    assert clump.mass == pytest.approx(2500 * 4 / 3 * PI * 1e-3, rel=1e-15)
    np.testing.assert_allclose(clump.principal_inertia, 0.4 * clump.mass * 0.01, rtol=1e-15)
    assert len(set(clump.principal_inertia)) == 1
    np.testing.assert_array_equal(clump.principal_axes, [1, 0, 0, 0])
    np.testing.assert_allclose(clump.body_spheres, [[0, 0, 0, 0.1]], atol=1e-16)
    assert clump.bounding_radius == pytest.approx(0.1, rel=1e-15)


def test_rod_along_an_axis_keeps_the_axes():
    clump = make_clump([[x, 5, 0, 1] for x in (2, 4, 6)], 1.0)
    ball = 4 / 3 * PI
    np.testing.assert_array_equal(clump.principal_axes, [1, 0, 0, 0])
    np.testing.assert_allclose(clump.center, [4, 5, 0], atol=1e-14)
    expected = [3 * 0.4 * ball, 3 * 0.4 * ball + 8 * ball, 3 * 0.4 * ball + 8 * ball]
    np.testing.assert_allclose(clump.principal_inertia, expected, rtol=1e-14)
    assert clump.principal_inertia[1] == clump.principal_inertia[2]
    assert clump.bounding_radius == pytest.approx(3, rel=1e-14)


def test_rod_along_the_diagonal():
    a = 0.04
    clump = make_clump([[s * a, s * a, s * a, a * np.sqrt(3) / 2] for s in (-1, 0, 1)], 2500.0)
    ball = 2500 * 4 / 3 * PI * (a * np.sqrt(3) / 2) ** 3
    spin = 3 * 0.4 * ball * 0.75 * a * a
    np.testing.assert_allclose(clump.principal_inertia, [spin, spin + 6 * ball * a * a, spin + 6 * ball * a * a], rtol=1e-13)
    assert clump.principal_inertia[1] == clump.principal_inertia[2]
    axes = np.array([[1, 1, 1], [0, 1, -1], [-2, 1, 1]]) / np.sqrt([[3], [2], [6]])  # always these two, of all
    np.testing.assert_allclose(rotation_of(clump).T, axes, atol=1e-14)
    np.testing.assert_allclose(clump.body_spheres[:, :3], [[s * a * np.sqrt(3), 0, 0] for s in (-1, 0, 1)], atol=1e-16)


@pytest.mark.parametrize("name", ["random", "sizes over 1000", "mixed lattice 1", "ring of touching", "stack"])
def test_principal_frame(name):
    turn = Rotation.from_rotvec([0.4, 0.2, -0.9]).as_matrix()
    spheres = BODIES[name].copy()
    spheres[:, :3] = spheres[:, :3] @ turn.T + [3, 2, 1]
    clump = make_clump(spheres, 1000.0)
    axes = rotation_of(clump)
    assert np.linalg.norm(clump.principal_axes) == pytest.approx(1, abs=1e-15) and clump.principal_axes[0] >= 0
    scale = np.trace(clump.inertia)
    np.testing.assert_allclose(axes @ np.diag(clump.principal_inertia) @ axes.T, clump.inertia, atol=1e-9 * scale)
    back = clump.body_spheres[:, :3] @ axes.T + clump.center
    np.testing.assert_allclose(back, spheres[:, :3], atol=1e-13)
    np.testing.assert_array_equal(clump.spheres, spheres)
    np.testing.assert_array_equal(clump.body_spheres[:, 3], spheres[:, 3])
    # in its own principal frame the body is at home: nothing to turn or shift
    again = make_clump(clump.body_spheres, 1000.0)
    np.testing.assert_array_equal(again.principal_axes, [1, 0, 0, 0])
    np.testing.assert_allclose(again.principal_inertia, clump.principal_inertia, rtol=1e-9)
    np.testing.assert_allclose(again.center, 0, atol=1e-13)


@pytest.mark.parametrize("spheres", [[[x, 0, 0, 1] for x in (-1, 0, 1)], ring(8, 0.6)], ids=["rod", "ring"])
def test_axes_of_symmetric_bodies_do_not_depend_on_round_off(spheres):
    turn = Rotation.from_rotvec([0.5, -0.8, 0.3]).as_matrix()
    spheres = np.array(spheres, dtype=float)
    spheres[:, :3] = spheres[:, :3] @ turn.T
    rng = np.random.default_rng(2)
    axes = [make_clump(spheres + 1e-14 * rng.normal(size=spheres.shape), 1.0).principal_axes for _ in range(10)]
    np.testing.assert_allclose(axes, np.tile(axes[0], (10, 1)), atol=1e-12)


def test_symmetric_bodies_are_exactly_symmetric():
    assert len(set(make_clump(lattice(0.6), 1.0).principal_inertia)) == 1
    assert len(set(make_clump(ring(8, 0.6), 1.0).principal_inertia)) == 2
    assert len(set(make_clump(lattice(0.6, (1, 2, 3)), 1.0).principal_inertia)) == 3


@pytest.mark.parametrize("turn", [[0.0, 0.0, 0.0], [0.4, 0.2, -0.9]], ids=["own axes", "turned"])
@pytest.mark.parametrize(
    "moments, expected",
    [
        ([1, 1 + 3e-10, 1 + 9e-10], [1 + 4e-10] * 3),
        ([1, 1 + 8e-10, 1.5], [1 + 4e-10, 1 + 4e-10, 1.5]),
        ([1, 1.5, 1.5 + 8e-10], [1, 1.5 + 4e-10, 1.5 + 4e-10]),
        ([1, 1 + 4e-9, 1.5], [1, 1 + 4e-9, 1.5]),
    ],
    ids=["three", "the low ones", "the high ones", "none"],
)
def test_equal_moments_become_their_mean(moments, expected, turn):
    """The sum stays, so no moment is preferred. The second moments are those of principal moments: I = tr(S) 1 - S."""
    axes = Rotation.from_rotvec(turn).as_matrix()
    second = axes @ np.diag(np.sum(moments) / 2 - np.array(moments)) @ axes.T
    clump = make_clump([[0, 0, 0, 1]], 1.0, moments=Moments(1.0, np.zeros(3), second))
    np.testing.assert_allclose(np.sort(clump.principal_inertia), expected, rtol=0, atol=5e-15)
    assert len(set(clump.principal_inertia)) == len(set(expected))


@pytest.mark.parametrize("smaller", [1.0, 1e-3])
def test_spheres_that_touch_within_round_off_have_no_cap(smaller):
    """A cap that is not there cannot make a boundary that does not close; the volume that is left out is below round-off."""
    for fraction, found in ((1e-16, False), (0.7e-9, False), (1.4e-9, True)):
        spheres = np.array([[0, 0, 0, 1.0], [(1.0 + smaller) - fraction * smaller, 0, 0, smaller]])
        assert (overlapping(spheres.T, np.arange(2)) == [[False, found], [found, False]]).all()


@pytest.mark.parametrize(
    "spheres, message",
    [
        ([], "shape"),
        ([[0, 0, 0]], "shape"),
        ([[0, 0, 0, 1], [0, 0]], "four numbers"),
        ([["x", 0, 0, 1]], "four numbers"),
        ([[0, 0, 0, 1], [0, np.nan, 0, 1]], "sphere 1: not a finite"),
        ([[0, 0, 0, np.inf]], "sphere 0: not a finite"),
        ([[0, 0, 0, 0]], "sphere 0: the radius"),
    ],
)
def test_bad_spheres(spheres, message):
    with pytest.raises(InputError, match=message):
        make_clump(spheres, 1.0)


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf])
def test_bad_density(density):
    with pytest.raises(InputError, match="density"):
        make_clump([[0, 0, 0, 1]], density)


# files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0,0,0,1\n1.5,-2,3e-1,.5\n",
        "0 0 0 1\n1.5 -2 3e-1 .5",
        "0\t0\t0\t1\r\n1.5\t-2\t3e-1\t.5\r\n",
        "0; 0; 0; 1;\n1.5 ; -2 ; 3e-1 ; .5\n",
        "# clump\n\n x, y, z, r\n0, 0, 0, 1  # first\n   \n1.5, -2, 3e-1, .5\n# end",
        "\ufeffx y z radius\n  0 0 0 1  \n1.5,-2 3e-1\t.5,\n",
    ],
)
def test_read_spheres(tmp_path, text):
    path = tmp_path / "spheres.csv"
    path.write_bytes(text.encode())
    spheres = read_spheres(path)
    assert spheres.dtype == np.float64 and spheres.flags.c_contiguous
    np.testing.assert_array_equal(spheres, [[0, 0, 0, 1], [1.5, -2, 0.3, 0.5]])
    np.testing.assert_array_equal(read_spheres(str(path)), spheres)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"0 0 0 1\n0 0 0\n", "line 2: 3 columns"),
        (b"0 0 0 1\n\n# c\n1 2 3 4 5\n", "line 4: 5 columns"),
        (b"0,,0,1\n", "line 1: not a number: ''"),
        (b"0 0 0 1\nx y z r\n", "line 2: not a number: 'x'"),
        (b"x y z r\nx y z r\n0 0 0 1\n", "line 2: not a number"),
        (b"0 0 zero 1\n", "line 1: not a number: 'zero'"),
        (b"0 0 1_0 1\n", "line 1: not a number: '1_0'"),
        (b"0 0 nan 1\n", "line 1: not a finite number"),
        (b"0 0 0 1\n0 0 -inf 1\n", "line 2: not a finite number"),
        (b"0 0 1e999 1\n", "line 1: not a finite number"),
        (b"# c\n0 0 0 0\n", "line 2: the radius must be positive, got 0"),
        (b"0 0 0 -2\n", "line 1: the radius must be positive, got -2"),
        (b"", "no spheres"),
        (b"x,y,z,r\n# nothing\n", "no spheres"),
        (b"0 0 0 1\n\0\0\n", "line 2: not a text file"),
        (b"\x89PNG\r\n\x1a\n\xff", "line 1: not UTF-8 text"),
        (b"0 0 0 1\n" * (LARGEST_FILE // 8 + 1), "larger than 8 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_spheres(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "name, message", [("missing.csv", "no such file"), (".", "is a directory"), ("a\0b", "no file can have this name")]
)
def test_no_file(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        read_spheres(tmp_path / name)
