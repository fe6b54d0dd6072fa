"""The file of a checkpoint: what is written comes back, the one before stays, damage and foreign files are found, and
nothing is lost if the power fails."""

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from minidem.errors import InputError
from minidem.files import checkpoint as module
from minidem.files.checkpoint import (
    Checkpoint,
    differences,
    head_of,
    last_checkpoint,
    read_checkpoint,
    resolves_to,
    write_checkpoint,
)
from minidem.files.names import CHECKPOINT, PREVIOUS
from minidem.scenario.reading import parse

STATE = {
    "step": np.array(33),
    "bodies/velocity": np.linspace(0.1, 1.2, 12).reshape(3, 4),
    "places/sphere": np.array([0, 3, 7], np.int64),
    "rank": np.array([2, 0, 1], np.uint16),
}
UNITS = {"step": "1", "bodies/velocity": "m s-1", "places/sphere": "1", "rank": "1"}
ORIGIN = {"scenario.toml": 'name = "µ"\n', "minidem": "1.2", "clump.rod": "0f"}
PLACES = {"position/value": np.array([2048, 9184], np.int64)}
WHOLE = Checkpoint(STATE, ORIGIN, frames=5, rows=17, places=PLACES, wall_s=2.5)


def write(directory, **changes):
    write_checkpoint(directory, replace(WHOLE, **changes), UNITS)


def sealed(path):
    """The digest of what the file holds now."""
    with open(path, "r+b") as raw:
        head = head_of(raw)
        raw.seek(0)
        raw.write(head)


def assert_same(found, expected):
    assert found.state.keys() == expected.state.keys()
    for name, values in expected.state.items():
        assert np.array_equal(found.state[name], values) and found.state[name].dtype == values.dtype, name
    assert found.places.keys() == expected.places.keys()
    assert all(np.array_equal(found.places[name], at) for name, at in expected.places.items())
    assert replace(found, state={}, places={}) == replace(expected, state={}, places={})


def test_what_is_written_comes_back(tmp_path):
    write(tmp_path)
    found = read_checkpoint(tmp_path / CHECKPOINT)
    assert_same(found, WHOLE)
    assert [type(value) for value in (found.frames, found.rows, found.wall_s)] == [int, int, float]
    assert os.listdir(tmp_path) == [CHECKPOINT]
    with h5py.File(tmp_path / CHECKPOINT, "r") as file:
        assert {name: file[f"state/{name}"].attrs["unit"].decode() for name in STATE} == UNITS


def test_head_of_the_file(tmp_path):
    """As documented: its layout and the SHA-256 of all that follows."""
    write(tmp_path)
    data = (tmp_path / CHECKPOINT).read_bytes()
    head, rest = data[:512], data[512:]
    assert head.rstrip(b"\0") == f"minidem checkpoint 5\nsha256 {hashlib.sha256(rest).hexdigest()}\n".encode()


def test_the_one_before_stays(tmp_path):
    for step in (1, 2, 3):
        write(tmp_path, state=STATE | {"step": np.array(step)})
        assert int(read_checkpoint(tmp_path / CHECKPOINT).state["step"]) == step
        assert (tmp_path / PREVIOUS).exists() == (step > 1)
    assert int(read_checkpoint(tmp_path / PREVIOUS).state["step"]) == 2
    assert sorted(os.listdir(tmp_path)) == [CHECKPOINT, PREVIOUS]


def test_a_killed_writer_leaves_nothing_that_the_next_one_minds(tmp_path):
    """Its file is replaced, and there is never more than one."""
    (tmp_path / ".checkpoint.new.h5").write_bytes(b"half a checkp")
    write(tmp_path)
    assert_same(read_checkpoint(tmp_path / CHECKPOINT), WHOLE)
    assert os.listdir(tmp_path) == [CHECKPOINT]


def test_a_writer_that_fails_leaves_the_last_one(tmp_path):
    write(tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(KeyError):
        write_checkpoint(tmp_path, WHOLE, {})
    assert (tmp_path / CHECKPOINT).read_bytes() == before and os.listdir(tmp_path) == [CHECKPOINT]


def test_what_is_renamed_is_on_the_disk(tmp_path, monkeypatch):
    """All of the file is synced before it gets its name; the recorder syncs the names."""
    write(tmp_path)
    events, real = [], {"fsync": os.fsync, "replace": os.replace}

    def fsync(handle):
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        events.append(("directory",) if path == tmp_path else ("file", path.name, path.read_bytes()))
        real["fsync"](handle)

    def renamed(old, new):
        events.append(("renamed", Path(old).name, Path(new).name))
        real["replace"](old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", renamed)
    write(tmp_path, frames=6)
    monkeypatch.undo()
    assert events == [
        ("file", ".checkpoint.new.h5", (tmp_path / CHECKPOINT).read_bytes()),
        ("renamed", CHECKPOINT, PREVIOUS),
        ("renamed", ".checkpoint.new.h5", CHECKPOINT),
    ]


# --- damage ---------------------------------------------------------------------------------------------------


def assert_damaged(path, message="not a whole checkpoint"):
    with pytest.raises(InputError) as caught:
        read_checkpoint(path)
    assert str(caught.value) == f"{path}: {message}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None  # the user sees no other error


@pytest.mark.parametrize("place", [0, 30, 100, 511, 512, 700, -1])
def test_any_other_byte(tmp_path, place):
    """In the head, in what it seals, and in the zeros between."""
    write(tmp_path)
    data = bytearray((tmp_path / CHECKPOINT).read_bytes())
    data[place] ^= 1
    (tmp_path / CHECKPOINT).write_bytes(data)
    assert_damaged(tmp_path / CHECKPOINT)


@pytest.mark.parametrize("content", [b"", b"minidem", bytes(512), bytes(5000)])
def test_files_that_are_none(tmp_path, content):
    (tmp_path / CHECKPOINT).write_bytes(content)
    assert_damaged(tmp_path / CHECKPOINT)


def test_a_sealed_file_that_is_not_hdf5(tmp_path):
    (tmp_path / CHECKPOINT).write_bytes(bytes(1000))
    sealed(tmp_path / CHECKPOINT)
    assert_damaged(tmp_path / CHECKPOINT)


def test_what_is_no_file(tmp_path):
    assert_damaged(tmp_path / CHECKPOINT)
    (tmp_path / CHECKPOINT).mkdir()
    assert_damaged(tmp_path / CHECKPOINT)


def test_a_pipe_is_not_read(tmp_path):
    """It might never end."""
    os.mkfifo(tmp_path / CHECKPOINT)
    pipe = os.open(tmp_path / CHECKPOINT, os.O_RDWR | os.O_NONBLOCK)
    os.write(pipe, bytes(1000))
    assert_damaged(tmp_path / CHECKPOINT)
    assert len(os.read(pipe, 2000)) == 1000
    os.close(pipe)


@pytest.mark.parametrize("layout", [b"4", b"6", b"55"])
def test_another_layout(tmp_path, layout):
    write(tmp_path)
    data = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(data.replace(b"checkpoint 5\n", b"checkpoint " + layout + b"\n", 1))
    assert_damaged(tmp_path / CHECKPOINT, "not a whole checkpoint for this version of minidem")


def unwritten(file, name, values):
    """HDF5 reads zeros for what was never written."""
    file.create_dataset(name, values.shape, values.dtype)


def elsewhere(file, name, values):
    """In another file."""
    other = Path(file.filename).with_name("other.bin")
    other.write_bytes(values.tobytes())
    file.create_dataset(name, values.shape, values.dtype, external=[(str(other), 0, values.nbytes)])


def virtual(file, name, values):
    """Also in another file."""
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as source:
        source["values"] = values
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[:] = h5py.VirtualSource(other, "values", values.shape)
    file.create_virtual_dataset(name, layout)


def in_chunks(file, name, values):
    """Which may be compressed, by any factor."""
    file.create_dataset(name, data=values, chunks=values.shape)


def in_words(file, name, values):
    file.create_dataset(name, data=np.full(values.shape, b"1.0"))


@pytest.mark.parametrize("replaced", [unwritten, elsewhere, virtual, in_chunks, in_words])
def test_a_file_that_does_not_hold_its_numbers(tmp_path, replaced):
    """The digest is right: it says nothing of what the file leaves out."""
    write(tmp_path)
    path, name = tmp_path / CHECKPOINT, "state/bodies/velocity"
    with h5py.File(path, "r+") as file:
        values = file[name][()]
        del file[name]
        replaced(file, name, values)
    sealed(path)
    with h5py.File(path, "r") as file:
        assert file[name][()].shape == values.shape  # HDF5 has no objections
    assert_damaged(path)


def test_names_may_declare_no_more_bytes_than_the_file_has(tmp_path):
    """They may be links to one dataset: a small file could unfold to any size."""
    path = tmp_path / CHECKPOINT

    def twice(count):
        """Write a state with two names of `count` bytes. Returns the bytes that all names declare less those of the file."""
        write_checkpoint(tmp_path, replace(WHOLE, state={"bytes": np.ones(count, np.uint8)}), {"bytes": "1"})
        with h5py.File(path, "r+") as file:
            file["state/again"] = file["state/bytes"]
            declared = []
            file.visit_links(lambda name: declared.append(getattr(file[name], "nbytes", 0)))
        sealed(path)
        return sum(declared) - path.stat().st_size

    just = 10_000 - twice(10_000)
    assert twice(just) == 0 and len(read_checkpoint(path).state["again"]) == just
    assert twice(just + 1) == 1
    assert_damaged(path)


@pytest.mark.parametrize(("count", "refused"), [(1000, False), (1001, True)])
def test_a_state_of_very_many_arrays_is_refused(tmp_path, count, refused):
    state = {f"a{k}": np.array(k) for k in range(count)}
    write_checkpoint(tmp_path, replace(WHOLE, state=state), dict.fromkeys(state, "1"))
    if refused:
        assert_damaged(tmp_path / CHECKPOINT)
    else:
        assert read_checkpoint(tmp_path / CHECKPOINT).state == state


@pytest.mark.parametrize("name", ["state", "origin", "frames", "rows", "wall_s"])
def test_a_file_without_a_part(tmp_path, name):
    write(tmp_path)
    with h5py.File(tmp_path / CHECKPOINT, "r+") as file:
        del file[name]
    sealed(tmp_path / CHECKPOINT)
    assert_damaged(tmp_path / CHECKPOINT)


def test_the_last_whole_one(tmp_path):
    """And notes about the damaged."""
    assert last_checkpoint(tmp_path) == (None, [])
    write(tmp_path)
    write(tmp_path, frames=6)
    found, notes = last_checkpoint(tmp_path)
    assert (found.frames, notes) == (6, [])
    (tmp_path / CHECKPOINT).write_bytes(b"")
    found, notes = last_checkpoint(tmp_path)
    assert found.frames == 5
    assert notes == [f"{tmp_path / CHECKPOINT}: not a whole checkpoint; looking for the one before"]
    (tmp_path / CHECKPOINT).unlink()
    found, notes = last_checkpoint(tmp_path)
    assert (found.frames, notes) == (5, [])
    (tmp_path / CHECKPOINT).symlink_to("nowhere")  # there, and not whole
    assert len(last_checkpoint(tmp_path)[1]) == 1
    (tmp_path / PREVIOUS).write_bytes(b"")
    with pytest.raises(InputError) as caught:
        last_checkpoint(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no checkpoint is whole; start again with: minidem run {tmp_path / 'scenario.toml'} --out ANOTHER"
        f"\n  {tmp_path / CHECKPOINT}: not a whole checkpoint\n  {tmp_path / PREVIOUS}: not a whole checkpoint"
    )


# --- origins --------------------------------------------------------------------------------------------------


def test_differences_of_origins():
    now = {"scenario.toml": "a\nb\nd\n", "minidem": "1.3", "clump.rod": "1e", "numba": "0.6"}
    then = {"scenario.toml": "a\nc\nd\n", "minidem": "1.2", "clump.rod": "0f", "clump.old": "2d"}
    lines = [
        *("scenario.toml:", "  -c", "  +b"),
        "minidem: was 1.2, is 1.3",
        "clump.rod: its spheres or masses have changed; was a file edited?",
        "numba: was none, is 0.6",
        "clump.old: its spheres or masses have changed; was a file edited?",
    ]
    assert differences(then, now) == lines
    assert differences(then, now, but=("scenario.toml", "clump.rod")) == [lines[3], *lines[5:]]
    assert differences(then, dict(then)) == []
    long = "\n".join(str(number) for number in range(100))
    assert differences({"x.toml": long}, {"x.toml": ""})[30:] == ["  -29", "  ... and 70 lines more"]
    assert [len(line) for line in differences({"numba": "1" * 9999}, {"numba": "2"})] == [200]
    assert differences({}, {"x.toml": "one\ntwo"}) == ["x.toml:", "  -none", "  +one", "  +two"]


def test_differences_of_plugins():
    """By the first digits of their SHA-256."""
    old, new = "0123456789abcdef" * 4, "fedcba9876543210" * 4
    changed = ["plugin.law: the plugin has changed: its SHA-256 was 0123456789abcdef..., is fedcba9876543210"]
    assert differences({"plugin.law": old}, {"plugin.law": new}) == changed
    assert differences({}, {"plugin.law": new}) == ["plugin.law: the plugin has changed: it was not from a plugin before"]


def test_scenarios_are_compared_by_what_they_mean():
    text = "time = {dt = 1e-3, end = 1}\nmaterial.m = {young = 1e9, poisson = 0.1, density = 1}\n"
    text += 'clump.ball = {spheres = [[0, 0, 0, 1]], material = "m"}\nbody = [{clump = "ball", position = [0, 0, 0]}]\n'
    scenario = parse(text)
    assert resolves_to({"resolved.toml": scenario.to_toml()}, scenario)
    assert resolves_to({"resolved.toml": f"# older\n{text}"}, scenario)
    assert not resolves_to({"resolved.toml": text.replace("end = 1", "end = 2")}, scenario)
    assert not resolves_to({"resolved.toml": re.sub("clump.*", "", text)}, scenario)
    assert not resolves_to({}, scenario)


def test_layout_and_size_of_the_head():
    """Both are part of the format: older files are recognised by them."""
    assert (module.LAYOUT, module.HEAD) == (5, 512)
