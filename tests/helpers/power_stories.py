"""Runs and studies that are recorded for the tests of power cuts: python power_stories.py STORY, in an empty directory.

Marks in the record say what is promised from there on.
"""

import ctypes
import itertools
import os
import sys
import tempfile
from pathlib import Path

from runs import scene

import minidem
from minidem.running import recorder, wall_clock
from minidem.running.recorder import Recorder
from minidem.study.conduct import Options, conduct
from minidem.study.plan import parse_study
from minidem.study.records import Records

PACKAGE = Path(minidem.__file__).parent
STUDIES = {"sweep": "axes.seed = [1, 2]", "other": "axes.seed = [4, 5]\nset.time.end = 0.0002"}


def scenario(seed=5):
    changes = {"output.frames": 7, "output.energies": 13, "seed": seed}
    return scene("spheres", count=4, steps=24).with_changes(changes)


def failing():
    """A guard stops it on its way."""
    return scenario(seed=6).with_changes({"guard.energy": 5e-6})


def study(name, directory):
    """A study of short runs, which are kept."""
    (directory / "base.toml").write_text(scenario().with_changes({"time.end": 0.00016}).to_toml())
    return parse_study(f'scenario = "base.toml"\nkeep = "runs"\n{STUDIES[name]}\n', f"{name}.toml", directory)


def slower(sim):
    """Changes a run, which cannot be resumed then."""
    if sim.step == 12:
        sim.velocities = 0.5 * sim.velocities


# --- what is recorded -----------------------------------------------------------------------------------------------


def until(step):
    """Options that stop a run after a step."""
    now = [0]
    return {"on_progress": lambda progress: now.append(progress.step), "stop": lambda: now[-1] >= step}


def interrupted():
    """A run with checkpoints at most steps, stopped twice."""
    out = Path("deep/run")
    minidem.run(scenario(), out, **until(7)).trajectory.close()
    mark("ended interrupted")
    again()


def again():
    """A run that is resumed, and stopped once."""
    minidem.resume("deep/run", **until(14)).trajectory.close()
    mark("ended interrupted")
    minidem.resume("deep/run").trajectory.close()
    mark("ended ok")


def replaced():
    """A run in place of another one, that a guard stops."""
    minidem.run(scenario(), "deep/run").trajectory.close()
    mark("ended ok")
    mark("replaced")
    stopped = minidem.run(failing(), "deep/run", overwrite=True)
    assert stopped.reason
    stopped.trajectory.close()
    mark("ended failed")


def changed():
    """A run that its callback changes."""
    minidem.run(scenario(), "deep/run", every=4, call=slower).trajectory.close()
    mark("ended ok")


def swept():
    """A study that is interrupted, resumed, and replaced by another one."""
    with tempfile.TemporaryDirectory() as directory:
        first, second = study("sweep", Path(directory)), study("other", Path(directory))
        conduct(first, Path("studies/sweep"), Options(processes=2, only=("1",)))
        conduct(first, Path("studies/sweep"), Options(processes=1, resume=True))
        mark("table")
        mark("replaced")
        conduct(second, Path("studies/sweep"), Options(processes=1, overwrite=True))
        mark("table")


STORIES = {story.__name__: story for story in (interrupted, again, replaced, changed, swept)}


def callers():
    """The lines of the package that are at work, innermost first."""
    frame, found = sys._getframe(2), []
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            found.append(f"{file.relative_to(PACKAGE)}:{frame.f_lineno}")
        frame = frame.f_back
    return " ".join(found)


def mark(text):
    """Note something in the record."""
    journal.journal_mark(text.encode())


if "JOURNAL_LOG" in os.environ:  # also in the workers of a study, which import this file
    journal = ctypes.CDLL(None)
    fsync, save, not_resumable, add = os.fsync, Recorder.save, Recorder.not_resumable, Records.add

    def noted_fsync(handle):
        journal.journal_site(callers().encode())
        fsync(handle)

    def noted_save(self, state, wall_s, last=False):
        save(self, state, wall_s, last)
        if not last:  # this is on the disk when the run has ended
            mark(f"saved {int(state['step'])} {len(self.totals)}")

    def noted_not_resumable(self):
        not_resumable(self)
        mark("changed")

    def noted_add(self, record):
        add(self, record)
        mark(f"cell {record['cell']}")

    os.fsync, Records.add = noted_fsync, noted_add
    Recorder.save, Recorder.not_resumable = noted_save, noted_not_resumable

if __name__ == "__main__":
    wall_clock.PATIENCE = 0.0  # so that runs can be stopped after any step
    recorder.FLUSH_EVERY = 0.0
    asked = itertools.count(1)
    wall_clock.Clock.due = property(lambda clock: next(asked) % 5 == 0)  # checkpoints, without a clock
    STORIES[sys.argv[1]]()
