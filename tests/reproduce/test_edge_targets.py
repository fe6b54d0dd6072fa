"""The targets about the edges of contacts, in quick form, against what docs/edges.md derives."""

import pytest

from minidem.reproduce import reproduced
from minidem.reproduce.studies import Studies


def measured(outcome):
    return {c.what: c.measured for c in outcome.comparisons}


def test_one_collision():
    """Slopes of 5/2 and 5; the engine agrees with the third form in NumPy. 250 pairs: the rms is known to some per cent."""
    found = measured(reproduced("edge-collision", quick=True))
    for form in ("plain", "the law"):
        assert found[f"lone, {form}: slope"] == pytest.approx(2.5, abs=0.1)
    for form in ("first form", "third form", "plain less the account"):
        assert found[f"lone, {form}: slope"] == pytest.approx(5, abs=0.15)
    assert found["chain, first form: slope"] == pytest.approx(3.5, abs=0.25)
    third = found["lone, third form: rms error at 40 steps"]
    assert found["lone, minidem, corrected: rms error at 40 steps"] == pytest.approx(third, rel=0.15)
    assert found["lone, plain: rms error at 40 steps"] == pytest.approx(1.0e-4, rel=0.1)
    assert found["chain, plain: rms error at 40 steps"] > 1000 * found["chain, third form: rms error at 40 steps"]


def test_random_walk():
    """The rms of 16 seeds is known to about a fifth."""
    found = measured(reproduced("edge-law", quick=True))
    for scene in ("rods", "chess"):
        assert 0.3 < found[f"{scene}: exponent of the number of contacts"] < 0.8
        assert 0.6 < found[f"{scene}: rms deviation / expected, geometric mean of the rows"] < 1.6
        assert 0.9 < found[f"{scene}: share of the deviation that the account explains"] <= 1


BOXES = [("edge-rods", "3.8e-05", 200), ("edge-chess", "2.8e-06", 30)]


def pytest_generate_tests(metafunc):
    if "gain" in metafunc.fixturenames:  # the chess box takes a minute
        metafunc.parametrize(("target", "dt", "gain"), BOXES[: 2 if metafunc.config.getoption("--long") else 1])


def test_boxes(target, dt, gain, tmp_path):
    """Slope 5/2 with plain edges (three seeds: within 0.7); a scheme of first order gains nothing."""
    outcome = reproduced(target, True, Studies(tmp_path))
    found = measured(outcome)
    assert found["spiral: slope, plain"] == pytest.approx(2.5, abs=0.7)
    for name in ("spiral", "no-squish", "free-rotor"):
        assert found[f"{name}: gain at {dt} s"] > gain
    assert 0.3 < found[f"fincham-yade: gain at {dt} s"] < 3
    assert set(outcome.more) == {"small"} and set(outcome.data["failed"]) == {0}
