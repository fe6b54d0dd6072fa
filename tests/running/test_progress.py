"""The bar of a run: on stderr when asked for, in notebooks without asking."""

import sys
import types

import pytest
from runs import scene

import minidem
from minidem.notebook import Bar, duration, in_notebook
from minidem.running import progress as module


@pytest.fixture
def notebook(monkeypatch):
    """A process that looks like the kernel of a notebook; the texts that it shows."""
    shown = []
    handle = types.SimpleNamespace(update=lambda content: shown.append(content))
    display = types.SimpleNamespace(
        HTML=lambda text: text, display=lambda content, display_id: shown.append(content) or handle
    )
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_no_bar_without_asking(capfd):
    assert not in_notebook()
    minidem.run(scene("rods"))
    assert capfd.readouterr() == ("", "")


def test_bar_on_stderr(capfd, tmp_path):
    """It ends with all of it, and a new line; the function of one's own is still called."""
    steps = []
    minidem.run(scene("rods"), tmp_path / "run", progress=True, on_progress=lambda progress: steps.append(progress.step))
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("\rscene: ") and steps[-1] == 160
    last = err.rpartition("\r")[2]
    assert last.startswith("scene: 100 %, energy drift ") and last.endswith("\n")


def test_bar_of_a_resumed_run(capfd, tmp_path):
    minidem.run(scene("rods"), tmp_path / "run", every=80, call=lambda sim: sim.step == 80).trajectory.close()
    capfd.readouterr()
    minidem.resume(tmp_path / "run", progress=True).trajectory.close()
    assert "scene: 100 %" in capfd.readouterr().err


def test_bar_in_a_notebook(notebook, monkeypatch, capfd):
    """One display that is updated. Quick runs show none, and neither do those that say so."""
    minidem.run(scene("rods"), progress=False)
    monkeypatch.setattr(module, "QUICK", 1e9)
    minidem.run(scene("rods"))
    assert notebook == []
    monkeypatch.setattr(module, "QUICK", -1.0)
    minidem.run(scene("rods"))
    assert "width:100.0%" in notebook[-1] and "scene: 100 %, energy drift" in notebook[-1]
    assert capfd.readouterr().err == ""


def test_time_that_is_left(monkeypatch, capfd):
    """From what was done since the bar began: a resumed run is not taken to be fast."""
    clock = [100.0]
    monkeypatch.setattr("minidem.notebook.time.monotonic", lambda: clock[0])
    bar = Bar("run")
    bar.update(500, 1000)
    clock[0] = 110.0
    bar.update(600, 1000)
    clock[0] = 110.01
    bar.update(601, 1000)  # too soon
    shown = [line.strip() for line in capfd.readouterr().err.split("\r")[1:]]
    assert shown == ["run: 50 %", "run: 60 %, 40 s left"]


def test_durations():
    assert [duration(t) for t in (0.4, 59, 60, 3599, 3600, 7500)] == [
        "0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "2 h 5 min",
    ]  # fmt: skip
