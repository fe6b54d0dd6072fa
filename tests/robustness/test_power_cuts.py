"""Power cuts: from whatever a disk may hold after one, a run can be resumed from its last checkpoint, and a study has lost
nothing that it reported done.

Runs and studies (tests/helpers/power_stories.py) are recorded, operation by operation. For cuts between any two operations,
tests/helpers/power.py makes what a disk may hold then; here that is laid out, resumed, and compared with the run or study
that was never cut. The long version tries every cut with every extreme and some random parts of what was not synced.
"""

import ast
import json
import random
import re
import shutil
import tempfile
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import power_stories
import pytest
from power import EVERYTHING, EXTREMES, MARK, RENAME, SYNC, WRITE, Disk, at_random, digest, lay, recorded, tree_at
from runs import assert_same

import minidem
from minidem import InputError, resume, run
from minidem.files.manifest import never_begun, sha256
from minidem.study import conduct as study_conduct
from minidem.study.cells import run_cell
from minidem.study.conduct import Options, conduct
from minidem.study.records import read_records, results_of

PACKAGE = Path(minidem.__file__).parent
CUTS = {"interrupted": 12, "replaced": 6, "changed": 10, "swept": 5}  # with random losses, in the short version
MANY = 100  # more cells than a study has
RANDOM = 3  # random parts for each cut in the long version


class Broken(Exception):
    """A promise was not kept."""


def expect(kept, promise):
    if not kept:
        raise Broken(promise)


class Promise(NamedTuple):
    """What is promised at some moment."""

    replaced: bool = False  # another run or study takes the place of the first
    saved: int = -1  # step of the last checkpoint
    rows: int = 0  # of the energy log at that checkpoint
    changed: bool = False  # by a callback
    ended: str = ""  # the status of the run, until a new process touches its directory
    cells: frozenset = frozenset()  # of a study, reported done
    table: bool = False

    def after(self, operation):
        """What is promised after an operation or a mark."""
        if operation.kind != MARK:
            return self._replace(ended="")
        what, *values = operation.name.split()
        if what == "replaced":
            return Promise(replaced=True)
        if what == "saved":
            return self._replace(saved=int(values[0]), rows=int(values[1]))
        if what == "cell":
            return self._replace(cells=self.cells | {int(values[0])})
        return self._replace(**{what: values[0] if values else True})


# --- what is there, and what it is compared with ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def scratch():
    """A folder in memory, where there is one: tests sync files thousands of times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="module", autouse=True)
def cells_in_this_process():
    """Processes of a study take seconds to start."""

    def in_turn(job, cut, size, stop):
        for bundle in cut(size):
            for cell in bundle:
                yield "done", run_cell(job, cell)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_conduct, "on_processes", in_turn)
        yield


class Story:
    """What was recorded of a story, and the checks of what a cut may leave of it."""

    def __init__(self, name, scratch, start=None, promise=None):
        self.name, self.scratch = name, scratch
        self.first = promise or Promise()
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            root = Path(directory)
            lay(start or {}, root)
            self.journal = recorded([power_stories.__file__, name], root, scratch)
            left = Disk(self.journal)
            for operation in self.journal.operations:
                left.do(operation)
            assert left.top.tree(EVERYTHING) == tree_at(root), "the record is not complete"
        self.faults = {}  # by what was left and promised

    def synced(self, site):
        """The names of the files and directories that are synced through a line of the package."""
        done = (op for op in self.journal.operations if op.kind == SYNC and site in op.name.split())
        return {self.what(operation) for operation in done}

    def what(self, operation):
        """What an fsync is for: the name that a file will have; "run" for every run directory."""
        if operation.other == str(self.journal.root):
            return "root"
        name = re.sub(r"^\.(\w+)(\.[0-9a-f]{32})?\.new(\.\w+)$", r"\1\3", Path(operation.other).name)
        return "run" if name.isdecimal() else name

    def cuts(self, *ignored):
        """The number of operations done before each cut, the disk then, and what is promised. With `ignored`, a line of the
        package and a name, what is synced there is not."""

        def is_ignored(operation):
            if operation.kind != SYNC or not ignored:
                return False
            site, name = ignored
            return site in operation.name.split() and self.what(operation) == name

        disk, promise = Disk(self.journal, is_ignored), self.first
        yield 0, disk, promise
        for number, operation in enumerate(self.journal.operations, 1):
            disk.do(operation)
            promise = promise.after(operation)
            yield number, disk, promise

    def kind(self, number):
        """Of the last operation before a cut."""
        return self.journal.operations[number - 1].kind if number else WRITE

    def fault(self, tree, promise, check=None):
        """The promise that is not kept with what is left on the disk; empty if there is none."""
        check = check or self.checks[-1]
        key = digest(tree), promise, check
        if key not in self.faults:
            with tempfile.TemporaryDirectory(dir=self.scratch) as directory:
                lay(tree, Path(directory))
                try:
                    check(Path(directory), promise, self.name)
                    self.faults[key] = ""
                except Broken as error:
                    self.faults[key] = str(error)
        return self.faults[key]

    @property
    def checks(self):
        """Functions that look at what is left, and that also go on with it."""
        return (study_there, check_study) if self.name == "swept" else (run_there, check_run)


@pytest.fixture(scope="module")
def story(scratch):
    return cache(lambda name: Story(name, scratch))


@cache
def whole(name):
    """The run or study that was never cut."""
    directory = Path(tempfile.mkdtemp())
    if name in power_stories.STUDIES:
        conduct(power_stories.study(name, directory), directory / "out", Options())
    else:
        run(getattr(power_stories, name)(), directory / "out").trajectory.close()
    return directory / "out"


@pytest.fixture(scope="module", autouse=True)
def no_runs_are_left():
    yield
    for name in ("scenario", "failing", *power_stories.STUDIES):
        shutil.rmtree(whole(name).parent)


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text())


def expect_same(directory, other):
    try:
        assert_same(directory, other)
    except (AssertionError, OSError) as error:
        raise Broken(f"the result differs: {error}") from None


def expect_hashes(directory):
    for name, value in manifest_of(directory)["sha256"].items():
        expect(value == sha256(directory / name), f"{name} is the one of the manifest")


# --- the promises ----------------------------------------------------------------------------------------------------


def run_there(root, promise, story):
    """What is promised of a run directory as it is."""
    directory, scenario = root / "deep/run", "failing" if promise.replaced else "scenario"
    if promise.ended:
        expect(has_begun(directory) and manifest_of(directory)["status"] == promise.ended, "the status is known")
        expect_hashes(directory)
    if promise.saved >= 0:
        expect(has_begun(directory), "a run that was recorded is not taken for none")
    if promise.rows > 0 and not promise.changed:
        log, expected = ((where / "energy.csv").read_bytes().split(b"\n") for where in (directory, whole(scenario)))
        expect(log[: 1 + promise.rows] == expected[: 1 + promise.rows], "energy.csv has the rows before the checkpoint")


def has_begun(directory):
    return (directory / "manifest.json").is_file() and not never_begun(directory)


def check_run(root, promise, story):
    """A run directory that a cut left is resumed, or used again if nothing was recorded."""
    run_there(root, promise, story)
    directory, scenario, notes = root / "deep/run", "failing" if promise.replaced else "scenario", []
    try:
        if has_begun(directory):
            result = resume(directory, on_note=notes.append)
        else:
            result = run(getattr(power_stories, scenario)(), directory, on_note=notes.append)
    except InputError as error:
        if story == "changed" and "a program made or changed this run" in str(error):
            return
        raise Broken(f"the run goes on: {error}") from None
    result.trajectory.close()
    ended = any("the run is done" in note or "a guard stopped" in note for note in notes)
    if promise.changed:
        expect(ended, "a run that was changed is not resumed")
        return
    if promise.saved >= 0 and not ended:
        expect(not any("starting again" in note for note in notes), "the run does not start again")
        resumed = manifest_of(directory)["resumed"][-1]["step"]
        expect(resumed >= promise.saved, f"resumed from {promise.saved}, not from {resumed}")
    expect(not any("damaged" in note for note in notes), f"nothing is damaged: {notes}")
    if promise.replaced and promise.saved < 0 and result.summary["status"] == "ok":
        scenario = "scenario"  # the old run is still there
    expect(result.summary["status"] == ("ok" if scenario == "scenario" else "failed"), "the status is right")
    expect_same(directory, whole(scenario))


def study_there(root, promise, story):
    """What is promised of the directory of a study as it is."""
    directory, reference = root / "studies/sweep", whole("other" if promise.replaced else "sweep")
    expected = read_records(reference, MANY)
    if promise.cells:
        try:
            found = read_records(directory, MANY)
            study_toml = (directory / "study.toml").read_text()
        except (InputError, OSError) as error:
            raise Broken(f"the study can be read: {error}") from None
        expect(study_toml == (reference / "study.toml").read_text(), "study.toml is whole")
    for cell in promise.cells:
        there = cell in found and results_of(found[cell]) == results_of(expected[cell])
        expect(there, f"the record of cell {cell} is there")
        kept = directory / "runs" / f"{cell:06d}"
        expect(has_begun(kept), f"the run of cell {cell} is there")
        expect_hashes(kept)
        expect_same(kept, reference / "runs" / f"{cell:06d}")
    if promise.table:
        for name in ("table.csv", "timing.csv"):
            expect((directory / name).is_file(), f"{name} is there")
        expect((directory / "table.csv").read_bytes() == (reference / "table.csv").read_bytes(), "table.csv is whole")
        rows = (directory / "timing.csv").read_text().count("\n")
        expect(rows == 1 + len(expected), "timing.csv is whole")


def check_study(root, promise, story):
    """The directory of a study that a cut left is gone on with."""
    study_there(root, promise, story)
    directory, name = root / "studies/sweep", "other" if promise.replaced else "sweep"
    with tempfile.TemporaryDirectory(dir=root) as base:
        study = power_stories.study(name, Path(base))
        try:
            try:
                report = conduct(study, directory, Options(resume=True))
            except InputError as error:
                if not promise.replaced or promise.cells or "made by another study" not in str(error):
                    raise
                report = conduct(study, directory, Options(overwrite=True))
        except (InputError, OSError) as error:
            raise Broken(f"the study goes on: {error}") from None
    expect(report["ran"] <= len(study.cells) - len(promise.cells), "what was done is not done again")
    everything = frozenset(range(len(study.cells)))
    study_there(root, promise._replace(cells=everything, table=True), story)


# --- the tests -------------------------------------------------------------------------------------------------------


def check_cuts(told, cuts, long):
    """Cut a story at every promise and after every rename, where the extremes differ most, and at so many other places."""
    rng, count = random.Random(told.name), len(told.journal.operations)
    others = set(rng.sample(range(count + 1), cuts))
    for number, disk, promise in told.cuts():
        some = EXTREMES if long or told.kind(number) in (MARK, RENAME) else ()
        some = (*some, *(at_random(rng) for _ in range(RANDOM if long or number in others else 0)))
        for survival in some:
            fault = told.fault(disk.top.tree(survival), promise)
            assert not fault, f"cut after operation {number} of {count}, {survival.name} left, {promise}: {fault}"
    print(f"{told.name}: {count} operations, {len(told.faults)} different states of the disk")
    assert len(told.faults) > 2 * cuts


@pytest.mark.parametrize("name", CUTS)
def test_cuts(name, story, long):
    """At every promise, and between any two operations."""
    check_cuts(story(name), CUTS[name], long)


def torn(told, scratch):
    """What cuts leave whose trajectory HDF5 cannot read, and what is promised then."""
    rng = random.Random(1)
    for _, disk, promise in told.cuts():
        left = disk.top.tree(at_random(rng)) if promise.saved > 0 and not promise.ended else {}
        if contents := left.get("deep/run/trajectory.h5"):
            (scratch / "torn.h5").write_bytes(contents)
            try:
                with minidem.Trajectory(scratch / "torn.h5") as trajectory:
                    whole_rows = len(trajectory.observables["step"])
            except InputError:
                whole_rows = 0
            if whole_rows < promise.rows:
                yield left, promise


def test_cuts_after_cuts(story, scratch, long):
    """A run is resumed from a trajectory that HDF5 can no longer read, and the power fails again."""
    starts = islice(torn(story("interrupted"), scratch), 0, None if long else 1, 40)
    for start, promise in starts:
        check_cuts(Story("again", scratch, start, promise), 5, long)


# Functions with files that no run or study needs: examples of `minidem new`, and copies of plugins for readers.
NO_PROMISE = ("write_missing", "record_plugins")


def calls_that_sync():
    """The lines of runs and studies that wait for the disk, themselves or through a function that is there for it."""
    names, found = {"fsync", "sync", "write_whole", "write_manifest", "make_directory"}, set()
    for room in ("files", "running", "study"):
        for file in (PACKAGE / room).rglob("*.py"):
            tree = ast.parse(file.read_text())
            others = [node for node in ast.walk(tree) if getattr(node, "name", "") in NO_PROMISE]
            left_out = {call for function in others for call in ast.walk(function)}
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node not in left_out]
            called = {(node.lineno, getattr(node.func, "id", getattr(node.func, "attr", ""))) for node in calls}
            found |= {f"{file.relative_to(PACKAGE)}:{line}" for line, name in called if name in names}
    return sorted(found)


@pytest.mark.parametrize("site", calls_that_sync())
def test_every_fsync_is_needed(site, story):
    """Without it, of each file or directory that it is there for, some cut breaks a promise."""
    stories = [story(name) for name in CUTS]
    names = sorted(set().union(*(told.synced(site) for told in stories)))
    assert names, "no story comes here"
    for name in names:
        told = [one for one in stories if name in one.synced(site)]
        fault = next((fault for one in told for fault in faults_without(one, site, name)), "")
        assert fault, f"nothing depends on the fsync of {name} at {site}"
        print(f"{site} {name}: {fault}")


def faults_without(told, site, name):
    """What is broken after cuts of a story in which the fsyncs of `name` at a line of the package are left out."""
    for check in told.checks:
        for (number, disk, promise), (_, intact, _) in zip(told.cuts(site, name), told.cuts(), strict=True):
            if disk.has_ignored and told.kind(number) != WRITE:
                for survival in EXTREMES:
                    left = disk.top.tree(survival)
                    if left != intact.top.tree(survival) and (fault := told.fault(left, promise, check)):
                        yield f"{survival.name}: {fault}"
