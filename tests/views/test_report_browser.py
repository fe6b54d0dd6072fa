"""`minidem report`: the command, and its pages in a browser: they load without errors, and the scene is drawn and turns."""

import json

import numpy as np
import pytest
from browser import Browser

import minidem
from minidem.scenario.reading import parse
from minidem.views.report.page import write_report

CHESS = """\
name = "chess"
seed = 1
time = {dt = 1e-5, end = 0.02}
guard = {rayleigh = false}
domain = {box = [0.3, 0.3, 0.3], material = "marble"}
material.marble = {young = 60e9, poisson = 0.25, density = 3200}
clump.king = {builtin = "chess/king", height = 0.095, material = "marble"}
clump.pawn = {builtin = "chess/pawn", height = 0.05, material = "marble"}
clump.rod = {spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]], material = "marble"}
place = [
    {clump = "king", count = 2, speed = 3, spin = 30},
    {clump = "pawn", count = 6, speed = 3, spin = 30},
    {clump = "rod", count = 3, speed = 3, spin = 30},
]
output = {frames = 20, energies = 50}
"""
GREEN = (0, 158, 115)  # of the rods, the third species


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a run with chess pieces and rods, with its still picture."""
    directory = tmp_path_factory.mktemp("chess") / "run"
    minidem.run(parse(CHESS, "chess.toml"), directory, text=CHESS + "# <script>throw 1</script>\n").trajectory.close()
    made = write_report(directory)
    assert made["notes"] == [] and made["bytes"] < 3e6
    return directory / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def changed(before, after):
    """Fraction of the pixels that are clearly different."""
    return float(np.mean(np.abs(before - after).max(axis=2) > 30))


def colours(picture):
    """Number of different colours in a picture, of 16 x 16 x 16."""
    return len(np.unique((picture // 16).reshape(-1, 3), axis=0))


def test_run(browser, page):
    browser.open(page)
    assert browser.console == [] and browser.asked_for == [page.resolve().as_uri()]
    assert browser.evaluate("document.title") == "minidem run run"
    assert browser.evaluate("document.getElementById('still').hidden && document.getElementById('no-scene').hidden")
    first = browser.picture("#scene")
    assert colours(first) > 30
    hue = first / np.maximum(first.max(axis=2, keepdims=True), 1)
    assert np.mean(np.abs(hue - np.array(GREEN) / max(GREEN)).max(axis=2) < 0.1) > 0.002  # the rods
    drawn = np.abs(first - first[2, 2]).max(axis=2) > 30
    assert 0.02 < drawn.mean() < 0.6 and not drawn[:, :3].any() and not drawn[:3].any()  # all of it is in the picture


def test_the_scene_turns_and_zooms(browser, page):
    browser.open(page)
    first = browser.picture("#scene")
    assert changed(first, browser.picture("#scene")) == 0
    browser.drag("#scene", 150, 60)
    turned = browser.picture("#scene")
    assert changed(first, turned) > 0.02
    browser.wheel("#scene", -400)
    larger = browser.picture("#scene")
    assert changed(turned, larger) > 0.02
    browser.click("#reset")
    assert changed(first, browser.picture("#scene")) == 0
    assert browser.console == []


def test_other_frames(browser, page):
    browser.open(page)
    first = browser.picture("#scene")
    assert browser.evaluate("document.getElementById('when').textContent") == "t = 0 s (frame 0 of 19)"
    browser.click("#later")
    second = browser.picture("#scene")
    assert browser.evaluate("document.getElementById('when').textContent") == "t = 0.00316 s (frame 3 of 19)"
    assert changed(first, second) > 0.005
    slide = "const slider = document.getElementById('frame'); slider.value = 7; slider.dispatchEvent(new Event('input'))"
    browser.evaluate(f"(() => {{ {slide} }})()")
    assert browser.evaluate("document.getElementById('when').textContent") == "t = 0.02 s (frame 19 of 19)"
    assert changed(second, browser.picture("#scene")) > 0.01
    assert browser.console == []


@pytest.mark.parametrize("options", [{"dark": True}, {"width": 390, "height": 800, "phone": True}], ids=["dark", "phone"])
def test_other_screens(browser, page, options):
    browser.open(page, **options)
    assert browser.console == [] and colours(browser.picture("#scene")) > 30
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= options.get("width", 1000)
    paper = browser.picture("h1")[0, -1]
    assert (paper.max() < 60) if options.get("dark") else (paper.min() > 240)


def test_without_webgl(tmp_path, page):
    with Browser(tmp_path / "profile", "--disable-3d-apis") as browser:
        browser.open(page)
        assert "no WebGL 2" in browser.evaluate("document.getElementById('no-scene').innerText")
        assert browser.evaluate("document.getElementById('scene').hidden && !document.getElementById('no-scene').hidden")
        assert colours(browser.picture("#still img")) > 30
        assert browser.console == [] and browser.asked_for == [page.resolve().as_uri()]


def test_injected_scripts_do_not_run(browser, page, tmp_path):
    """Even if something were not escaped."""
    text = page.read_text().replace("<h1>", "<script>window.evil = 1</script><img src='http://localhost:9/a.png'><h1>")
    (tmp_path / "evil.html").write_text(text)
    browser.open(tmp_path / "evil.html")
    assert browser.evaluate("window.evil === undefined")
    assert len(browser.console) == 2 and all("Content Security Policy" in words for words in browser.console)


def test_study(browser, minidem_command, directory):
    text = 'name = "s"\nscenario = "box.toml"\nkeep = "runs"\n[axes]\ndt = [2e-5, 4e-5]\nintegrator = ["spiral"]\n'
    (directory / "s.toml").write_text(text)
    assert minidem_command("study", "s.toml", "--processes", "1", "--quiet").code == 0
    made = minidem_command("report", "output/s", "--out", "pages/s.html", "--json")
    assert made.code == 0 and made.json["kind"] == "study" and made.json["notes"] == []
    browser.open(directory / "pages" / "s.html")
    assert browser.console == [] and colours(browser.picture("figure svg")) > 5 and colours(browser.picture("#scene")) > 5
    assert browser.evaluate("document.querySelector('a').href") == (directory / "output/s/table.csv").as_uri()


def test_command(minidem_command, directory):
    assert minidem_command("run", "box.toml", "--out", "run", "--quiet").code == 0
    first = minidem_command("report", "run")
    assert (first.code, first.stderr) == (0, "") and "run/report.html" in first.stdout
    again = minidem_command("report", "run")
    assert again.code == 2 and "--overwrite" in again.stderr and again.stdout == ""
    for arguments, word in ((["box.toml"], "is a file"), (["."], "neither"), (["nope"], "no such directory")):
        refused = minidem_command("report", *arguments)
        assert refused.code == 2 and word in refused.stderr and "Traceback" not in refused.stderr
    manifest = json.loads((directory / "run" / "manifest.json").read_text())
    (directory / "run" / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    killed = minidem_command("report", "run", "--overwrite")
    assert killed.code == 0 and "still running, or had been killed" in killed.stdout
