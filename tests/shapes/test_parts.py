"""The parts of a clump, and the warning of `minidem clump` about spheres that are apart from the others."""

import numpy as np
import pytest
import pyvista

from minidem.shapes.builtin import builtin_spheres
from minidem.shapes.parts import parts_of
from minidem.shapes.sphere_files import read_spheres


def test_spheres_that_overlap_or_touch_are_one_part():
    """A chain whose links touch within round-off, given in any order; a gap of 1e-6 of the radii separates."""
    chain = np.array([[0.2 * k, 0, 0, 0.1] for k in range(20)])
    shuffled = np.random.default_rng(1).permutation(chain)
    assert parts_of(shuffled).tolist() == 20 * [0]
    shuffled[shuffled[:, 0] > 2.3, 0] += 2e-7
    assert (parts_of(shuffled) == (shuffled[:, 0] > 2.3)).all() and np.count_nonzero(parts_of(shuffled)) == 8


def test_the_largest_part_is_the_first():
    spheres = np.array([[9, 0, 0, 1], [0, 0, 0, 1], [5, 0, 0, 0.1], [5, 0.1, 0, 0.1], [5, 0, 0.2, 0.1], [0, 1, 0, 0.5]])
    assert parts_of(spheres).tolist() == [2, 1, 0, 0, 0, 1]


def test_a_sphere_within_another_is_no_part_of_its_own():
    assert parts_of(np.array([[0, 0, 0, 1.0], [0.1, 0, 0, 0.2]])).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["rod", "dumbbell", "tetrapod", "cube", "cylinder", "chess/queen"])
def test_built_in_shapes_are_one_part(name):
    assert parts_of(builtin_spheres(name, 0.07)).max() == 0


def ell(path):
    """Write an L, 40 by 40 by 12."""
    base = np.array([[0, 0, 0], [40, 0, 0], [40, 12, 0], [12, 12, 0], [12, 40, 0], [0, 40, 0]], float)
    faces = []
    for k in range(6):  # sides, then top and bottom
        m = (k + 1) % 6
        faces += [[k, m, m + 6], [k, m + 6, k + 6]]
    faces += [f for k in range(1, 5) for f in ([6, k + 6, k + 7], [0, k + 1, k])]
    points = np.vstack([base, base + np.array([0, 0, 12])])
    pyvista.PolyData(points, faces=np.insert(np.array(faces), 0, 3, axis=1).ravel()).save(path)


def test_clump_warns_of_spheres_that_are_apart(minidem_command, directory):
    ell(directory / "ell.stl")
    options = ("clump", "ell.stl", "--spheres", 50, "--scale", 0.001, "--overwrite")
    found = minidem_command(*options, "--json")
    assert found.code == 0
    parts = parts_of(read_spheres(directory / "ell.csv"))
    count, apart = int(parts.max()) + 1, np.count_nonzero(parts)
    assert apart > 0 and (found.json["parts"], found.json["detached"]) == (count, apart)
    assert f"warning: the clump is in {count} parts that do not touch: {apart} of 50 spheres" in found.stderr
    assert found.json["note"] == found.stderr.strip() and "--spheres" in found.stderr
    remedy = found.stderr.split("for example ")[1].split(",")[0]
    whole = minidem_command(*options, "--min-radius", remedy)
    assert whole.stderr == "" and whole.code == 0 and "parts" not in whole.stdout
    assert parts_of(read_spheres(directory / "ell.csv")).max() == 0
