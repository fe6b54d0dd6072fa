"""A rotational integrator from a user's script: docs/own_scheme.py, and what can go wrong with one."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import minidem
from minidem.engine.rotation.registry import SCHEMES
from minidem.rotor import bench
from minidem.rotor.cases import CASES

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def catalogue_as_it_was():
    before = dict(SCHEMES)
    yield
    SCHEMES.clear()
    SCHEMES.update(before)


def test_example_of_the_documentation():
    """On the bench and for the free body of the example: second order; in a run of many bodies, the energy drifts little."""
    orientation = runpy.run_path(str(ROOT / "docs" / "own_scheme.py"))["orientation"]
    errors = [abs(orientation("exponential-midpoint", dt) - orientation("free-rotor", 1e-3)).max() for dt in (4e-3, 2e-3)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    dts = 1e-3 * 0.5 ** np.arange(4)
    found = [bench.errors(CASES["constant-torque"], "exponential-midpoint", dt) for dt in dts]
    slopes = np.polyfit(np.log(dts), np.log([[e.q, e.omega] for e in found]), 1)[0]
    assert slopes == pytest.approx([2, 2], abs=0.15)
    rods = minidem.load(ROOT / "scenarios" / "rods.toml").with_changes(
        {"integrator.rotation": "exponential-midpoint", "time.end": 0.05}
    )
    result = minidem.run(rods)
    assert result.summary["integrator"] == "exponential-midpoint"
    assert 0 < result.summary["energy"]["drift_max"] < 0.05


def frozen(q, spin, torque, inertia, dt):
    return q, spin


def doubled(q, spin, torque, inertia, dt):
    return q, (2.0 * spin[0], 2.0 * spin[1], 2.0 * spin[2])


def test_a_changed_function_is_not_the_old_one():
    """Such functions are not kept in the disk cache, whose folder only knows the package's own sources."""
    for advance, factor in ((frozen, 1.0), (doubled, 2.0), (frozen, 1.0), (doubled, 2.0)):
        minidem.register("mine", frozen, advance, frozen)
        motion = bench.integrated(CASES["free-body"], "mine", 50.0, end=100.0)
        assert motion.omega[-1] == pytest.approx(factor**2 * CASES["free-body"].omega)


def keeps_count(q, spin, torque, inertia, dt):
    return q, (spin[0], spin[1], spin[2], spin[3] + 1.0)


def count_as_omega(q, spin, torque, inertia, dt):
    return q, (spin[3], spin[1], spin[2], spin[3])


def test_more_values_a_body():
    minidem.register("counting", frozen, keeps_count, count_as_omega, values=4)
    motion = bench.integrated(CASES["free-body"], "counting", 1.0, end=7.0)
    assert motion.omega[:, 0, 0].tolist() == list(range(8))


def brakes(t, dt, q, omega, torque):
    torque[0, 0], torque[1, 0], torque[2, 0] = -omega[0, 0], 0.0, 0.0


def foresees_seven(q, spin, torque, inertia, dt):
    return q, (7.0, 0.0, 0.0)


def keeps_torque(q, spin, torque, inertia, dt):
    return q, torque


def test_prediction_of_its_own():
    """`foresee` says for which omega the torque is asked."""
    from dataclasses import replace

    case = replace(CASES["free-body"], torque=brakes)
    minidem.register("foreseeing", frozen, keeps_torque, frozen, foresee=foresees_seven)
    assert bench.integrated(case, "foreseeing", 1.0, end=1.0).omega[-1, 0, 0] == -7.0


def test_names_of_built_in_schemes_are_taken():
    with pytest.raises(ValueError, match='"spiral" is empty or the name of a built-in'):
        minidem.register("spiral", frozen, frozen, frozen)
    with pytest.raises(ValueError, match="is empty"):
        minidem.register("", frozen, frozen, frozen)
    with pytest.raises(ValueError, match='"my/scheme": the name of an integrator has only letters'):
        minidem.register("my/scheme", frozen, frozen, frozen)
    with pytest.raises(ValueError, match="values: must be 3 or more"):
        minidem.register("thin", frozen, frozen, frozen, values=2)
