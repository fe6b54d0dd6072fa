"""What a run recorded as tables of pandas and xarray, and how Python and notebooks show it."""

import sys

import numpy as np
import pytest
from runs import scene

import minidem
from minidem.files.series import FRAME
from minidem.notebook import card


@pytest.fixture(scope="module")
def result():
    return minidem.run(scene("chess"))


def test_energy_as_a_dataframe(result):
    log = result.energy
    frame = log.to_dataframe()
    assert list(frame.columns[:3]) == ["step", "time", "kinetic_translational"] and len(frame) == 33
    assert np.array_equal(frame["total"], log["total"]) and frame["step"].dtype == np.int64
    assert np.array_equal(frame[["momentum_x", "momentum_y", "momentum_z"]], log["momentum"])
    units = frame.attrs["units"]
    assert set(units) == set(frame.columns)
    assert (units["time"], units["elastic"], units["momentum_y"]) == ("s", "J", "kg m s-1")
    assert units["angular_momentum_z"] == "kg m+2 s-1"


def test_the_energy_log_is_still_a_dictionary_of_arrays(result):
    assert result.energy.keys() == result.trajectory.observables.keys() == result.trajectory.energy.keys()
    assert isinstance(result.energy, dict) and isinstance(result.energy["time"], np.ndarray)


@pytest.mark.parametrize("frames", [slice(None), slice(2, 7, 2), slice(None, None, -3), slice(4, 4), slice(-2, None)])
def test_frames_as_a_dataset(result, frames):
    trajectory = result.trajectory
    dataset = trajectory.to_xarray(frames)
    assert set(dataset.data_vars) == set(FRAME)
    for name, (size, unit) in FRAME.items():
        last = "component" if size == 3 else "quaternion"
        assert dataset[name].dims == ("time", "body", last) and dataset[name].attrs["units"] == unit
        assert np.array_equal(dataset[name], np.asarray(getattr(trajectory, name))[frames])
    assert np.array_equal(dataset["time"], trajectory.time[frames])
    assert np.array_equal(dataset["step"], trajectory.step[frames])
    assert np.array_equal(dataset["mass"], trajectory.mass)
    assert dataset["clump"].values.tolist() == ["king"] * 8 + ["pawn"] * 8


def test_dataset_by_labels(result):
    dataset = result.trajectory.to_xarray()
    height = dataset["position"].sel(component="z").isel(body=3, time=-1)
    assert height == result.trajectory[-1].position[3, 2]
    assert dataset["orientation"].sel(quaternion="w").isel(time=2, body=1) == result.trajectory[2].orientation[1, 0]


def test_only_what_was_recorded_is_in_the_dataset():
    scenario = scene("rods").with_changes({"output.fields": ["position", "orientation", "velocity"]})
    assert set(minidem.run(scenario).trajectory.to_xarray().data_vars) == {"position", "orientation", "velocity"}


@pytest.mark.parametrize(("package", "call"), [("pandas", "to_dataframe"), ("xarray", "to_xarray")])
def test_missing_packages(result, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    holder = result.energy if package == "pandas" else result.trajectory
    with pytest.raises(
        ImportError, match=rf"^{package} is not installed; install it with: pip install 'minidem\[analysis\]'$"
    ):
        getattr(holder, call)()


def test_what_python_shows(result, tmp_path):
    """One line each, with what matters."""
    scenario = scene("chess")
    assert repr(scenario) == str(scenario) == '<Scenario "scene": 16 bodies, spiral, dt 2e-05 s, end 0.0032 s>'
    assert repr(result).startswith("<Result ok, 160 of 160 steps, 16 bodies of 1,600 spheres, spiral, dt 2e-05 s, ")
    assert repr(result).endswith("in memory>")
    assert repr(result.trajectory) == (
        "<Trajectory of the run in memory: 9 frames from 0 to 0.0032 s, 16 bodies of 1,600 spheres, "
        "position, velocity, orientation, angular_velocity>"
    )
    assert repr(result.energy).startswith("<EnergyLog, 33 rows from 0 to 0.0032 s: step, time, kinetic_tr")
    assert repr(result.trajectory[4]).startswith("<Frame of 16 bodies at 0.0016 s, step 80: ")
    minidem.run(scene("rods"), tmp_path / "run").trajectory.close()
    trajectory = minidem.Trajectory(tmp_path / "run")
    trajectory.close()
    assert repr(trajectory) == f"<Trajectory of {tmp_path / 'run/trajectory.h5'}: closed>"


def test_what_notebooks_show(result):
    """Tables whose texts cannot be taken for HTML."""
    scenario = scene("chess").with_changes(
        {"clump.king.material": "<b>", "material.<b>": scene("chess").material["soft"].numbers}
    )
    assert "<details><summary>with every default</summary><pre>schema = 1\n" in scenario._repr_html_()
    assert "&lt;b&gt;" in scenario._repr_html_() and "<b>" not in scenario._repr_html_()
    assert '<td style="text-align:left">status</td><td style="text-align:left">ok</td>' in result._repr_html_()
    assert '<td style="text-align:left">a&lt;b</td>' in card("run", {"bodies": "a<b"}) and "&lt;" in card("a<b", {})
    assert "9 frames from 0 to 0.0032 s" in result.trajectory._repr_html_()
    assert ">total</td>" in result.energy._repr_html_()
