"""Ctrl-C in a program that calls minidem.run or minidem.resume, as in a notebook: the run ends at its present step with a
checkpoint, KeyboardInterrupt says how to continue, and the resumed run is the one that was not interrupted."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest
from runs import assert_same, scene

import minidem
from minidem import resume, run
from minidem.running import recorder, wall_clock

PACKAGE = Path(minidem.__file__).parent
USUAL = signal.default_int_handler
SCENE = scene("rods", steps=40)  # a frame every five steps


@pytest.fixture(autouse=True)
def one_step_at_a_time(monkeypatch):
    monkeypatch.setattr(wall_clock, "PATIENCE", 0.0)
    before = signal.signal(signal.SIGINT, USUAL)
    yield
    assert signal.getsignal(signal.SIGINT) is USUAL  # a run leaves the process as it was
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that is not interrupted."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    run(SCENE, directory).trajectory.close()
    return directory


def interrupt():
    signal.raise_signal(signal.SIGINT)


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text())


def saved_step(directory):
    with h5py.File(directory / "checkpoint.h5", "r") as file:
        return int(file["state/step"][()])


def at(step, action=interrupt):
    """A function for `on_progress` that acts at a step."""
    return lambda progress: action() if progress.step == step else None


def assert_interrupted(directory, caught, step):
    """At that step, with a checkpoint and a message that says how to continue."""
    assert str(caught.value) == f"{directory}: interrupted; continue with minidem.resume({str(directory)!r})"
    manifest = manifest_of(directory)
    assert manifest["status"] == "interrupted" == manifest["summary"]["status"]
    assert manifest["summary"]["steps"] == saved_step(directory) == step


def test_between_steps(tmp_path, whole):
    """Of a run, and of a resumed one."""
    directory = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt) as caught:
        run(SCENE, directory, on_progress=at(13))
    assert_interrupted(directory, caught, 13)
    with pytest.raises(KeyboardInterrupt) as caught:
        resume(directory, on_progress=at(31))
    assert_interrupted(directory, caught, 31)
    resume(directory).trajectory.close()
    assert_same(directory, whole)


@pytest.mark.parametrize("what", ["append", "write_checkpoint", "sync", "write_manifest"])
@pytest.mark.parametrize("number", [1, 2])
def test_while_files_are_written(tmp_path, whole, monkeypatch, what, number):
    """Frames and rows, checkpoints, fsyncs, the manifest: the file is finished first."""
    directory, calls = tmp_path / "run", []
    real = getattr(recorder, what)

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == number:
            interrupt()
        return real(*arguments)

    monkeypatch.setattr(recorder, what, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(SCENE, directory, checkpoint_every=0.0)
    monkeypatch.setattr(recorder, what, real)
    resume(directory, on_note=lambda note: None).trajectory.close()
    assert_same(directory, whole)


class Lines:
    """Counts the lines of the package that are executed once `begin` is called, and acts at some of them."""

    def __init__(self, *numbers, action=interrupt):
        self.numbers, self.action, self.count, self.begun = numbers, action, 0, False

    def begin(self):
        self.before, self.begun = sys.gettrace(), True
        sys.settrace(self.trace)
        frame = sys._getframe(1)
        while frame is not None:  # also in functions that have been called already
            frame.f_trace = self.trace
            frame = frame.f_back

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return None
        if event == "line":
            self.count += 1
            if self.count in self.numbers:
                self.action()
        return self.trace

    def end(self):
        sys.settrace(self.before)


def lines_after(step, directory, *numbers):
    """Interrupts a run at some lines after a step, with a checkpoint after each of these steps; returns how many lines there
    were, and what was raised."""
    lines, raised = Lines(*numbers), None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wall_clock, "PATIENCE", 0.0)
        patch.setattr(wall_clock.Clock, "due", property(lambda clock: lines.begun))
        try:
            run(SCENE, directory, on_progress=at(step, lines.begin)).trajectory.close()
        except KeyboardInterrupt as error:
            raised = error
        finally:
            lines.end()
    return lines.count, raised


@pytest.fixture(scope="module")
def lines_to_the_end(tmp_path_factory):
    """How many lines are executed in the last step and when the run ends, with a checkpoint in between."""
    count, raised = lines_after(38, tmp_path_factory.mktemp("lines") / "run")
    assert raised is None and count > 300
    return count


def test_at_any_line(tmp_path, whole, lines_to_the_end, long):
    """One Ctrl-C: the run always ends at the end of a step, with a checkpoint of that step."""
    for number in range(1, lines_to_the_end + 1, 1 if long else lines_to_the_end // 12):
        directory = tmp_path / f"run{number}"
        _, raised = lines_after(38, directory, number)
        manifest = manifest_of(directory)
        if raised is None:  # at the very end
            assert manifest["status"] == "ok"
        assert manifest["status"] in ("interrupted", "ok") and manifest["summary"]["steps"] == saved_step(directory)
        resume(directory, on_note=lambda note: None).trajectory.close()
        assert_same(directory, whole)


def test_twice_at_any_line(tmp_path, whole, lines_to_the_end, long):
    """A second Ctrl-C while the checkpoint is saved: there may be none of that step, but the run can be resumed at once, in
    the same process."""
    for number in range(2, lines_to_the_end + 1, 1 if long else lines_to_the_end // 12):
        directory = tmp_path / f"run{number}"
        _, raised = lines_after(38, directory, 1, number)
        assert raised is not None
        with minidem.Trajectory(directory) as trajectory:
            assert (np.diff(trajectory.step) > 0).all()  # no frame twice
            assert (np.diff(trajectory.observables["step"]) > 0).all()
        resume(directory, on_note=lambda note: None).trajectory.close()
        assert_same(directory, whole)


def test_thrice(tmp_path, whole, monkeypatch):
    """Further ones are ignored until the files are closed."""
    directory, real, calls = tmp_path / "run", (recorder.write_checkpoint, recorder.write_manifest), []

    def interrupted(number):
        def call(*arguments):
            if calls:
                calls.append(number)
                interrupt()
            real[number](*arguments)

        return call

    monkeypatch.setattr(recorder, "write_checkpoint", interrupted(0))
    monkeypatch.setattr(recorder, "write_manifest", interrupted(1))
    with pytest.raises(KeyboardInterrupt) as caught:
        run(SCENE, directory, on_progress=at(13, lambda: (calls.append(-1), interrupt())))
    assert calls == [-1, 0, 1]
    assert "continue with" in str(caught.value) and manifest_of(directory)["status"] == "interrupted"
    assert saved_step(directory) == 0  # of the start
    monkeypatch.undo()
    resume(directory, on_note=lambda note: None).trajectory.close()
    assert_same(directory, whole)


@pytest.mark.parametrize("resumed", [False, True])
def test_while_the_directory_is_set_up(tmp_path, whole, monkeypatch, resumed):
    """By a second Ctrl-C: its files are closed, also while a notebook keeps the error."""
    directory, real, notes = tmp_path / "run", recorder.write_manifest, []
    if resumed:
        run(SCENE, directory, every=5, call=lambda sim: sim.step == 15).trajectory.close()

    def twice(*arguments):
        interrupt()
        interrupt()

    monkeypatch.setattr(recorder, "write_manifest", twice)
    with pytest.raises(KeyboardInterrupt) as caught:
        resume(directory) if resumed else run(SCENE, directory)
    monkeypatch.setattr(recorder, "write_manifest", real)
    resume(directory, on_note=notes.append).trajectory.close()
    assert notes == ([] if resumed else [f"{directory}: there is no checkpoint yet; starting again"])
    assert "continue with" in str(caught.value)
    assert_same(directory, whole)


def test_while_a_run_is_set_up(tmp_path, whole):
    """Nothing is recorded yet; the run can be started again."""
    directory = tmp_path / "run"
    for number in (1, 20, 60):
        lines = Lines(number)
        lines.begin()
        with pytest.raises(KeyboardInterrupt):
            run(SCENE, directory)
        lines.end()
        assert not directory.exists()
    run(SCENE, directory).trajectory.close()
    assert_same(directory, whole)


def test_in_the_callback(tmp_path, whole):
    """Of the user: it is interrupted at once, as is any function."""
    directory, after = tmp_path / "run", []

    def call(sim):
        if sim.step == 15:
            interrupt()
            after.append(sim.step)

    with pytest.raises(KeyboardInterrupt) as caught:
        run(SCENE, directory, every=5, call=call)
    assert after == []
    assert_interrupted(directory, caught, 15)
    resume(directory).trajectory.close()
    assert_same(directory, whole)


@pytest.mark.parametrize("error", [RuntimeError("mine"), SystemExit(4)])
def test_error_of_the_callback(tmp_path, whole, error):
    """It is passed on as it is; the run can be resumed."""
    directory = tmp_path / "run"

    def call(sim):
        if sim.step == 20:
            raise error

    with pytest.raises(type(error)) as caught:
        run(SCENE, directory, every=5, call=call)
    assert caught.value is error
    assert manifest_of(directory)["status"] == "failed" and saved_step(directory) == 20
    notes = []
    resume(directory, on_note=notes.append).trajectory.close()
    assert notes == []
    assert_same(directory, whole)


def test_callback_that_is_interrupted_while_it_changes_the_state(tmp_path, monkeypatch):
    """Half of it may be changed: such a run cannot be resumed."""

    def call(sim):
        if sim.step == 15:
            monkeypatch.setattr(sim, "_find_forces", interrupt)
            sim.positions = sim.positions + 1e-9

    with pytest.raises(KeyboardInterrupt) as caught:
        run(SCENE, tmp_path / "run", every=5, call=call)
    assert str(caught.value) == f"{tmp_path / 'run'}: ended at step 15 (interrupted)"
    with pytest.raises(minidem.InputError, match="a program made or changed this run"):
        resume(tmp_path / "run")


def test_run_in_memory():
    """There is nothing to save: it is interrupted at once."""
    seen = []

    def note(progress):
        if progress.step == 10:
            interrupt()
        seen.append(progress.step)

    with pytest.raises(KeyboardInterrupt) as caught:
        run(SCENE, on_progress=note)
    assert str(caught.value) == "" and seen[-1] == 9


def test_in_a_thread(tmp_path, whole):
    """Python interrupts the main thread only. What the callback raises ends the run as in the main thread."""
    caught = []

    def call(sim):
        assert signal.getsignal(signal.SIGINT) is USUAL
        if sim.step == 25:
            raise KeyboardInterrupt

    def work():
        try:
            run(SCENE, tmp_path / "run", every=5, call=call)
        except KeyboardInterrupt as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "continue with minidem.resume(" in caught[0] and saved_step(tmp_path / "run") == 25
    resume(tmp_path / "run").trajectory.close()
    assert_same(tmp_path / "run", whole)


def test_handlers_of_a_program_stay(tmp_path):
    """A program that handles Ctrl-C itself goes on doing so."""
    received = []
    mine = lambda number, frame: received.append(number)  # noqa: E731
    signal.signal(signal.SIGINT, mine)
    result = run(SCENE, tmp_path / "run", on_progress=at(20))
    assert signal.getsignal(signal.SIGINT) is mine
    assert received == [signal.SIGINT] and result.summary["status"] == "ok"
    signal.signal(signal.SIGINT, USUAL)


SCRIPT = """
import minidem
print("begun", flush=True)
minidem.run("box.toml", out="run", on_progress=lambda progress: progress.step < 50 or print("at work", flush=True))
"""


def test_script(directory):
    """Ctrl-C ends the script with the message, and its directory holds a run that can be resumed."""
    (directory / "box.toml").write_text((directory / "box.toml").read_text().replace("end = 0.004", "end = 40"))
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "at work\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT
    assert stderr.endswith("KeyboardInterrupt: run: interrupted; continue with minidem.resume('run')\n")
    step = saved_step(directory / "run")
    assert manifest_of(directory / "run")["summary"]["steps"] == step >= 50
    assert minidem.resume(directory / "run", stop=lambda: True).summary["steps"] == step
