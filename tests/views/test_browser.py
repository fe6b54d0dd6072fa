"""The browser view of a run: a page on the loopback address, in Chromium, of finished and of running simulations."""

import re
import subprocess
import sys
import time
import urllib.request

import pytest
from browser import PATIENCE, Browser
from runs import scene

import minidem
from minidem.errors import InputError
from minidem.views import browser as module
from minidem.views.shown import LiveScene


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "run"
    minidem.run(scene("rods"), directory).trajectory.close()
    return directory


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


def caption(chromium, matches):
    """The numbers in the caption of the page, once it has the wanted form."""
    begun = time.monotonic()
    while not (found := re.fullmatch(matches, chromium.evaluate("document.querySelector('#caption')?.innerText") or "")):
        assert time.monotonic() - begun < PATIENCE, "waited in vain"
        time.sleep(0.1)
    return found.groups()


def drawn(chromium):
    """The picture of the scene, once there is one."""
    begun = time.monotonic()
    while not chromium.evaluate("document.querySelector('img')?.naturalWidth"):
        assert time.monotonic() - begun < PATIENCE, "waited in vain"
        time.sleep(0.1)
    return chromium.picture()


class Served:
    """`minidem view RUN --browser` in a process of its own."""

    def __init__(self, run, *arguments):
        command = [sys.executable, "-m", "minidem.cli", "view", str(run), "--browser", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stderr.readline(), self.process.stderr.readline()
        self.address = self.said[0].split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


def test_a_finished_run(run, chromium):
    """The bodies, a slider, playing, colours; from this machine only."""
    with Served(run, "--time", "8e-4") as served:
        assert re.fullmatch(r"open http://127\.0\.0\.1:(\d+)/ in a browser; end with Ctrl-C\n", served.said[0])
        assert "ssh -L" in served.said[1]
        chromium.open(served.address)
        assert caption(chromium, r"frame (\d+) of (\d+), .* s") == ("2", "8")
        before = drawn(chromium)
        orange = (before[:, :, 0] > before[:, :, 2] + 100).mean()
        assert 0.03 < orange < 0.5  # rods
        chromium.click("#play")
        caption(chromium, r"frame [5-8] of 8, .* s")
        chromium.click("#play")
        begun = time.monotonic()
        while (abs(drawn(chromium) - before)[:800].max(axis=2) > 40).mean() < 1e-4:  # they move, above the caption
            assert time.monotonic() - begun < PATIENCE, "nothing moves"
        assert not [text for text in chromium.console if "405" not in text]  # trame asks for what it does not serve
        assert {address.split("/")[2] for address in chromium.asked_for if address.startswith("http")} == {
            served.address.split("/")[2]
        }


def test_a_running_simulation_is_followed(tmp_path, chromium):
    """Its frames appear while it runs."""
    changes = {"time.end": 2000.0, "output.frames": 20001, "output.energies": 10, "guard.energy": False}
    (tmp_path / "rods.toml").write_text(scene("rods").with_changes(changes).to_toml())
    command = [sys.executable, "-m", "minidem.cli", "run", "rods.toml", "--out", "run", "--quiet"]
    simulation = subprocess.Popen(command, cwd=tmp_path)
    try:
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            try:
                with minidem.Trajectory(tmp_path / "run") as trajectory:
                    if len(trajectory) > 2:
                        break
            except InputError:
                time.sleep(0.1)
        with Served(tmp_path / "run") as served:
            chromium.open(served.address)
            first = int(caption(chromium, r"frame \d+ of (\d+), .* s")[0])
            shown, last = map(int, caption(chromium, rf"frame (\d+) of ((?!{first},)\d+), .* s"))
            assert shown == last > first
    finally:
        simulation.kill()
        simulation.wait()


def test_a_scene_in_a_process_of_its_own(run, chromium):
    """As notebooks show it; it ends with the process that began it."""
    live = LiveScene(run, 1, "speed", False, 400)
    chromium.open(live.address)
    assert caption(chromium, r"frame (\d+) of 8, .* s") == ("1",)
    assert live.address in live._repr_html_() and "height:400px" in live._repr_html_() and live.address in repr(live)
    live._process.stdin.close()
    assert live._process.wait(PATIENCE) == 0
    with pytest.raises(OSError):
        urllib.request.urlopen(live.address, timeout=PATIENCE)


def test_faults_of_a_scene_are_told(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        LiveScene(tmp_path / "nothing.h5", 0, "species", False, 400)


def test_a_port_that_is_taken(run, minidem_command):
    with Served(run) as served:
        port = served.address.rstrip("/").rpartition(":")[2]
        outcome = minidem_command("view", run, "--browser", "--port", port)
    assert outcome.code == 2 and f"--port {port}: " in outcome.stderr and "Traceback" not in outcome.stderr


def test_options_that_do_not_go_together(run, minidem_command):
    outcome = minidem_command("view", run, "--browser", "--screenshot", "a.png")
    assert outcome.code == 2 and "--screenshot: cannot be combined with --browser" in outcome.stderr


def test_trame_is_missing(run, minidem_command, monkeypatch):
    monkeypatch.setitem(sys.modules, "trame.app", None)
    outcome = minidem_command("view", run, "--browser")
    assert outcome.code == 2 and outcome.stderr.strip() == module.INSTALL


def test_a_picture_of_a_run(run):
    """Where there is no notebook, and of a run in memory."""
    assert minidem.view(run)._repr_png_().startswith(b"\x89PNG")
    result = minidem.run(scene("spheres"))
    assert minidem.view(result, -1, colour="speed")._repr_png_() != minidem.view(result.trajectory, 0)._repr_png_()
    with pytest.raises(ValueError, match="the run is in memory only"):
        minidem.view(result, interactive=True)
    with pytest.raises(IndexError, match="frame 9: must be -9 to 8"):
        minidem.view(result, 9)
    with pytest.raises(TypeError, match="run: give a run directory"):
        minidem.view(3)
    with pytest.raises(InputError, match="unknown field to colour by"):
        minidem.view(run, colour="mass")
