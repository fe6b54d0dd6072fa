"""The keys of [output]: which numbers the frames hold, how they are stored, and the room they take."""

import shutil

import h5py
import numpy as np
import pytest
from runs import assert_same, scene

import minidem
from minidem.files.series import FRAME
from minidem.running import recorder as recorder_module
from minidem.scenario.values import FIELDS
from minidem.views.colours import field_of
from minidem.views.export.writing import export_run

FEWER = {"output.fields": ["orientation", "position"]}
SMALL = {"output.precision": "single", "output.compression": 4}


def values_in(run, name="position"):
    with h5py.File(run / "trajectory.h5") as file:
        return file[f"particles/bodies/{name}/value"]


def test_every_field_has_a_unit():
    assert tuple(FRAME) == FIELDS


def test_the_defaults_store_doubles_as_they_are(tmp_path):
    minidem.run(scene("rods"), tmp_path / "run").trajectory.close()
    with h5py.File(tmp_path / "run/trajectory.h5") as file:
        for name in FRAME:
            values = file[f"particles/bodies/{name}/value"]
            assert values.dtype == np.float64 and values.compression is None and not values.shuffle


def test_single_precision_and_compression(tmp_path):
    """The numbers of the same run, rounded; steps, times and the energy log keep every bit."""
    whole = minidem.run(scene("rods")).trajectory
    minidem.run(scene("rods").with_changes(SMALL), tmp_path / "run").trajectory.close()
    with h5py.File(tmp_path / "run/trajectory.h5") as file:
        for name in FRAME:
            values = file[f"particles/bodies/{name}/value"]
            assert (values.dtype, values.compression, values.compression_opts) == (np.float32, "gzip", 4)
    with minidem.Trajectory(tmp_path / "run") as trajectory:
        for name in FRAME:
            found, exact = np.asarray(getattr(trajectory, name)), np.asarray(getattr(whole, name))
            assert found.dtype == np.float64 and np.array_equal(found, exact.astype(np.float32))
            assert np.array_equal(getattr(trajectory[3], name), found[3])
        assert np.array_equal(trajectory.time, whole.time)
        for name, column in whole.observables.items():
            assert np.array_equal(trajectory.observables[name], column), name


def test_compressed_numbers_keep_their_bits(tmp_path):
    whole = minidem.run(scene("rods")).trajectory
    minidem.run(scene("rods").with_changes({"output.compression": 9}), tmp_path / "run").trajectory.close()
    with minidem.Trajectory(tmp_path / "run") as trajectory:
        assert all(np.array_equal(getattr(trajectory, name), getattr(whole, name)) for name in FRAME)


def test_fields_that_are_left_out(tmp_path):
    """They are not in the file; what needs them says which key to set, what does not need them works."""
    minidem.run(scene("rods").with_changes(FEWER), tmp_path / "run").trajectory.close()
    with minidem.Trajectory(tmp_path / "run") as trajectory, h5py.File(tmp_path / "run/trajectory.h5") as file:
        assert trajectory.fields == ("position", "orientation")
        assert set(file["particles/bodies"]) == {"box", "id", "mass", "orientation", "position", "species"}
        frame = trajectory[-1]
        assert frame.finite and frame.position.shape == (16, 3) and len(trajectory.spheres(-1).radii) == 48
        assert trajectory.position.shape == (9, 16, 3) and not hasattr(frame, "velocity") and "velocity" not in repr(frame)
        for holder in (trajectory, frame):
            with pytest.raises(minidem.InputError, match='velocity is not recorded; add "velocity" to output'):
                _ = holder.velocity
        for needs_it in (
            lambda: trajectory.kinetic_energy(frame),
            lambda: field_of(trajectory, frame, "spin"),
            lambda: export_run(tmp_path / "run", tmp_path / "x.xyz"),
        ):
            with pytest.raises(minidem.InputError, match="is not recorded; add"):
                needs_it()


def test_order_of_the_fields_does_not_matter():
    one, other = (scene("rods").with_changes({"output.fields": names}) for names in (FIELDS, FIELDS[::-1]))
    assert one == other == scene("rods")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output.fields": ["position"]}, 'output.fields: must contain "orientation"'),
        ({"output.fields": ["position", "orientation", "velocitty"]}, 'unknown field "velocitty"; did you mean "velocity"'),
        ({"output.fields": "position"}, 'output.fields: must be a list of names such as ["position", "orientation"]'),
        ({"output.fields": [["position"], 3]}, "output.fields: must be text in quotes"),
        ({"output.precision": "half"}, 'output.precision: must be "double" or "single", got "half"'),
        ({"output.compression": 10}, "output.compression: must be a whole number from 0 to 9, got 10"),
        ({"output.compression": "gzip"}, "output.compression: must be a whole number from 0 to 9"),
    ],
)
def test_bad_values(changes, message):
    with pytest.raises(minidem.ScenarioError) as caught:
        scene("rods").with_changes(changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("changes", [FEWER, SMALL, FEWER | SMALL], ids=["fields", "storage", "both"])
def test_an_interrupted_run_is_resumed(tmp_path, changes):
    scenario = scene("rods").with_changes(changes)
    minidem.run(scenario, tmp_path / "whole").trajectory.close()
    minidem.run(scenario, tmp_path / "run", every=10, call=lambda sim: sim.step == 70).trajectory.close()
    minidem.resume(tmp_path / "run").trajectory.close()
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_compressed_frames_are_written_seldom(tmp_path, monkeypatch):
    """In a file that is read while it is written, a chunk that is written again takes new space."""
    monkeypatch.setattr(recorder_module, "FLUSH_EVERY", 0.0)
    sizes = {}
    for name, seldom in (("seldom", 1e9), ("often", 0.0)):
        monkeypatch.setattr(recorder_module, "PACKED_FLUSH_EVERY", seldom)
        scenario = scene("rods").with_changes({"output.compression": 4, "output.frames": 161})
        minidem.run(scenario, tmp_path / name, checkpoint_every=1e9).trajectory.close()
        sizes[name] = (tmp_path / name / "trajectory.h5").stat().st_size
    assert sizes["seldom"] < 0.5 * sizes["often"]


def test_check_says_how_much_disk_a_run_takes(minidem_command, directory, monkeypatch):
    """As much as the run then took, within a half; a warning where it does not fit."""
    arguments = ("box.toml", "--set", "output.frames=101", "--set", "output.energies=101")
    said = minidem_command("check", *arguments, "--json").json
    assert minidem_command("run", *arguments, "--quiet").code == 0
    taken = sum(path.stat().st_size for path in (directory / "output/some-rods").iterdir())
    assert 1e6 * said["disk_mb"] == pytest.approx(taken, rel=0.5)
    single = minidem_command("check", *arguments, "--set", "output.precision=single", "--json").json
    saved = 1e6 * (said["disk_mb"] - single["disk_mb"])
    assert saved == pytest.approx(4 * 101 * 5 * 13)
    assert "disk          about" in minidem_command("check", *arguments).stdout
    shutil.rmtree(directory / "output")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 0, 1000))
    told = minidem_command("check", *arguments)
    assert told.code == 0 and "1 kB are free on the disk of output/some-rods; lower output.frames" in told.stderr
    notes = minidem_command("check", *arguments, "--json").json["notes"]
    assert any("free on the disk" in note for note in notes)
