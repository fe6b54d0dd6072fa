"""Targets that run studies: their arithmetic on hand-made records, and the cells that they run."""

import math

import numpy as np
import pytest

from minidem.files.trajectory import ClumpTemplate
from minidem.reproduce.powders import rods_fig2
from minidem.reproduce.spiral import cost as spiral_cost
from minidem.reproduce.spiral import fig7 as spiral_fig7
from minidem.reproduce.studies import DT, INTEGRATOR, account, deviation, study_of

RAYLEIGH = 4e-6  # s


def row(integrator="spiral", dt=4.85e-6, seed=0, drift=1e-4, **more):
    """A row of a run whose last deviation is smaller than the mean one."""
    record = {"status": "ok", "reason": "", "dt": dt, "dt_rayleigh": dt / RAYLEIGH, "wall_s": 1.0, "host": "here"}
    return {INTEGRATOR: integrator, DT: dt, "seed": seed, **record, "drift_mean": 2 * drift, "drift_last": drift, **more}


def failed(**more):
    """A row of a failed run."""
    return {**row(**more), "status": "failed", "reason": "its process died", "drift_mean": None, "drift_last": None}


def test_the_deviation_is_the_smaller_of_mean_and_last_in_per_cent():
    assert deviation({"drift_mean": 3e-5, "drift_last": 7e-5}) == pytest.approx(3e-3)
    assert deviation({"drift_mean": 3e-5, "drift_last": 1e-5}) == pytest.approx(1e-3)


# --- spiral-fig7 --------------------------------------------------------------------------------------------


def power_law(integrator, power, at_1_us, steps=(1e-6, 2e-6, 4.85e-6, 9e-6)):
    """Rows of two seeds per step, with deviations of 0.5 and 1.5 times a power of dt that is `at_1_us` (%) at 1 us."""
    return [
        row(integrator, dt, seed, part * at_1_us / 100 * (dt / 1e-6) ** power)
        for dt in steps
        for seed, part in enumerate((0.5, 1.5))
    ]


def test_mean_and_standard_error_over_the_seeds():
    rows = [row(seed=seed, drift=drift) for seed, drift in enumerate((1e-4, 2e-4, 6e-4))]
    (point,) = spiral_fig7.points_of([*rows, failed(seed=3), failed(dt=9e-6)])
    assert point.mean == pytest.approx(0.03)
    assert point.standard_error == pytest.approx(np.std([0.01, 0.02, 0.06], ddof=1) / math.sqrt(3))
    assert point.drift_mean == pytest.approx(0.06)
    assert (point.rayleigh, point.failed) == (pytest.approx(RAYLEIGH), 1)


@pytest.mark.parametrize("power", [1.0, 2.0, 2.4])
def test_slope(power):
    assert spiral_fig7.slope(spiral_fig7.points_of(power_law("spiral", power, 1e-3))) == pytest.approx(power, abs=1e-9)


def test_slope_of_one_point_is_unknown():
    assert math.isnan(spiral_fig7.slope(spiral_fig7.points_of([row()])))


def test_comparison_with_figure_7():
    rows = power_law("spiral", 2, 3e-4) + power_law("fincham-yade", 1, 3e-2, (3.1e-7, 1e-6, 4.85e-6))
    found = {c.what: c for c in spiral_fig7.compared(spiral_fig7.points_of(rows))}
    assert found["spiral: deviation at 4.85e-06 s (%)"].measured == pytest.approx(3e-4 * 4.85**2)
    assert found["spiral: deviation at 4.85e-06 s (%)"].published == 0.0068
    assert found["fincham-yade: deviation at 3.1e-07 s (%)"].measured == pytest.approx(9.3e-3)
    assert found["fincham-yade / spiral: deviation at 4.85e-06 s"].measured == pytest.approx(100 / 4.85)
    assert found["fincham-yade: slope"].measured == pytest.approx(1)
    assert (found["fincham-yade: slope"].published, found["spiral: slope"].published) == ("second order", "third order")
    assert not any("omelyan" in what for what in found)


def test_figure_7_of_incomplete_data():
    """One scheme with one run per step is enough."""
    figure = spiral_fig7.drawn(spiral_fig7.points_of([row("omelyan", dt, 0, dt) for dt in (1e-6, 2e-6)]), 1e-3)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    texts = [text.get_text().strip() for text in figure.axes[0].texts]
    assert labels[-2:] == ["law of edges (slope 5/2)", "omelyan"] and "0.0068 % (paper)" in texts


def test_quick_cells_of_figure_7():
    for name, integrators in (
        ("spiral-fig7", ["fincham-yade", "omelyan", "spiral"]),
        ("spiral-fig7-others", ["fincham", "no-squish", "free-rotor"]),
    ):
        whole = study_of(name)
        quick = spiral_fig7.quick_study(whole)
        assert [cell.number for cell in quick.cells] == list(range(48))
        for axis, values in ((DT, list(spiral_fig7.QUICK_DT)), (INTEGRATOR, integrators), ("seed", [0, 1, 2, 3])):
            assert list(dict.fromkeys(cell.changes[axis] for cell in quick.cells)) == values
        assert (quick.name, quick.base.name) == (f"{name}-quick",) * 2
        assert quick.base.with_changes({"name": name}) == whole.base
        assert quick.identity["cells"] == [list(cell.changes.values()) for cell in quick.cells]
    assert (len(study_of("spiral-fig7").cells), len(study_of("spiral-fig7-others").cells)) == (1500, 210)


# --- spiral-cost --------------------------------------------------------------------------------------------


def test_repeats_are_the_cells_of_the_file_with_other_seeds():
    whole = study_of("spiral-cost")
    study = spiral_cost.repeated(whole, 3)
    assert [cell.changes["seed"] for cell in study.cells] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [cell.number for cell in study.cells] == list(range(9))
    assert [cell.changes for cell in study.cells[:3]] == [cell.changes for cell in whole.cells]
    assert [cell.number for cell in study.chosen(["seed=1"])] == [3, 4, 5]


def test_ratios_of_times():
    """Ratios are taken per repeat, so that a slow moment of the machine does not matter; failed repeats are left out."""
    rows = [
        row(name, seed=seed, wall_s=slow * seconds, drift=drift)
        for seed, slow in enumerate((1.0, 5.0, 1.0))
        for name, seconds, drift in (("spiral", 1.0, 1e-4), ("omelyan", 1.5, 4e-4), ("fincham-yade", 20.0, 2e-4))
    ]
    rows += [failed(seed=3, wall_s=1e9), row("omelyan", seed=3, wall_s=1e9), row("fincham-yade", seed=3, wall_s=1.0)]
    found = {c.what: c.measured for c in spiral_cost.compared(*spiral_cost.columns(rows))}
    assert found["omelyan / spiral: time"] == pytest.approx(1.5)
    assert found["fincham-yade / spiral: time"] == pytest.approx(20)
    assert found["spiral: time (s)"] == 1.0 and found["fincham-yade: time (s)"] == 20.0
    assert found["omelyan: deviation (%)"] == pytest.approx(0.04)
    assert found["omelyan / spiral: time at equal deviation"] == pytest.approx(1.5 * 2)  # (4e-4 / 1e-4)^(1/2)
    assert found["fincham-yade / spiral: time at equal deviation"] == pytest.approx(20 * 2)
    published = {c.what: c.published for c in spiral_cost.compared(*spiral_cost.columns(rows))}
    assert published["omelyan / spiral: time"] == pytest.approx(1.21, abs=0.005)
    assert published["fincham-yade / spiral: time"] == 16.0


# --- rods-fig2 ----------------------------------------------------------------------------------------------


def test_the_axis_of_the_smallest_moment():
    inertia = 3 * np.eye(3) - 2 * np.full((3, 3), 1 / 3)  # 1 about the diagonal, 3 across
    axis = rods_fig2.long_axis(ClumpTemplate("rod", np.zeros((1, 4)), np.zeros(3), 1.0, 1.0, inertia))
    np.testing.assert_allclose(np.abs(axis), 1 / math.sqrt(3))


def test_course_of_the_rods():
    time, spin = np.arange(4.0), np.array([[1.0, -3.0], [1.0, -3.0], [-7.0, -3.0], [1.0, -9.0]])
    course = rods_fig2.Course(time, np.array([1.0, 1.09, 1.11, 1.05]), time, spin)
    assert course.unstable_from == 2.0 and course.most_changed == 0 and course.change == 8.0
    assert course.largest_spin.tolist() == [3, 3, 7, 9]
    assert math.isnan(rods_fig2.Course(time, np.ones(4), time, spin).unstable_from)


def test_quick_cells_of_the_rods():
    study = rods_fig2.quick_study(study_of("rods-fig2"))
    assert [cell.changes[INTEGRATOR] for cell in study.cells] == ["omelyan", "spiral", "fincham-yade"]
    assert {cell.changes[DT] for cell in study.cells} == {38e-6} and study.keep == "runs"
    assert study.base.time.end == rods_fig2.QUICK_END


# --- all targets ----------------------------------------------------------------------------------------------------


def test_account_of_the_runs():
    assert account([row(wall_s=1.5), row(wall_s=2.0)]).startswith("2 runs, none failed; 3.5 s in total")
    assert account([row(), failed()]).startswith("2 runs; 1 failed, the first: its process died; 2 s in total")
