"""A notebook in a real kernel: it runs rods, is interrupted, resumes, plots the energy and shows the scene."""

import asyncio
import json
import re
import time
from pathlib import Path

import nbformat
import pytest
from browser import PATIENCE, Browser
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import minidem

RODS = Path(__file__).parents[2] / "scenarios/rods.toml"
LONG = {"time.end": 190.0, "output.frames": 40, "output.energies": 2000}  # 5 million steps
CELLS = {
    "load": "import minidem\nscenario = minidem.load('rods.toml')\nscenario",
    "run": "result = minidem.run(scenario, out='run', checkpoint_every=0.1)",
    "resume": "result = minidem.resume('run', checkpoint_every=0.1)\nresult",
    "trajectory": "result.trajectory",
    "plot": "energies = result.energy.to_dataframe()\nenergies.plot(x='time', y='total');",
    "dataset": "result.trajectory.to_xarray()['position'].mean(dim='body')",
    "picture": "minidem.view(result, -1, interactive=False)",
    "scene": "minidem.view(result, -1)",
}


async def interrupted(client, directory):
    """Press the stop button once the run has its second checkpoint; the first may be that of step 0."""
    begun = time.monotonic()
    while not (directory / "run/checkpoint.previous.h5").exists():
        assert time.monotonic() - begun < PATIENCE, "waited in vain"
        await asyncio.sleep(0.05)
    await client.km.interrupt_kernel()


async def executed(directory, profile):
    """The outputs of the cells by name, and what Chromium says of the scene."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    client = NotebookClient(notebook, timeout=5 * PATIENCE, resources={"metadata": {"path": str(directory)}})
    async with client.async_setup_kernel():
        for k, name in enumerate(CELLS):
            stop = asyncio.create_task(interrupted(client, directory)) if name == "run" else None
            try:
                await client.async_execute_cell(notebook.cells[k], k)
            except CellExecutionError:
                assert name == "run", notebook.cells[k].outputs
            if stop is not None:
                await stop
        outputs = dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))
        frame = re.search(r'<iframe src="(http://127\.0\.0\.1:\d+/)"', html_of(outputs["scene"]))[1]
        with Browser(profile) as chromium:  # while the kernel lives
            chromium.open(frame)
            begun = time.monotonic()
            while not (text := chromium.evaluate("document.querySelector('#caption')?.innerText")):
                assert time.monotonic() - begun < PATIENCE, "waited in vain"
                await asyncio.sleep(0.1)
        return outputs, text


def html_of(outputs):
    return "".join(output.data.get("text/html", "") for output in outputs if "data" in output)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    directory = tmp_path_factory.mktemp("notebook")
    (directory / "rods.toml").write_text(minidem.load(RODS).with_changes(LONG).to_toml())
    outputs, text = asyncio.run(executed(directory, tmp_path_factory.mktemp("profile")))
    return directory, outputs, text


def test_the_stop_button_interrupts_the_run(notebook):
    _, outputs, _ = notebook
    assert [output.ename for output in outputs["run"] if output.output_type == "error"] == ["KeyboardInterrupt"]


def test_the_run_is_resumed(notebook):
    """From a checkpoint, to its end; the frames are those of a run without interruption."""
    directory, outputs, _ = notebook
    manifest = json.loads((directory / "run/manifest.json").read_text())
    assert manifest["status"] == "ok" and [resumed["step"] > 0 for resumed in manifest["resumed"]] == [True]
    assert "5,000,000 of 5,000,000 steps" in html_of(outputs["resume"])
    with minidem.Trajectory(directory / "run") as trajectory:
        whole = minidem.run(directory / "rods.toml").trajectory
        assert (trajectory.position == whole.position).all() and len(trajectory) == 40


def test_bars_are_shown(notebook):
    _, outputs, _ = notebook
    assert re.search(r"rods: \d+ %", html_of(outputs["run"])) and "rods: 100 %" in html_of(outputs["resume"])


def test_facts_are_shown(notebook):
    _, outputs, _ = notebook
    assert "30 bodies" in html_of(outputs["load"]) and "40 frames from 0 to 190 s" in html_of(outputs["trajectory"])
    assert "xarray" in html_of(outputs["dataset"])


@pytest.mark.parametrize("name", ["plot", "picture"])
def test_pictures_are_shown(notebook, name):
    _, outputs, _ = notebook
    pictures = [output.data["image/png"] for output in outputs[name] if "image/png" in output.get("data", {})]
    assert len(pictures) == 1 and len(pictures[0]) > 10_000  # base64


def test_the_scene_can_be_seen(notebook):
    _, _, text = notebook
    assert text == "frame 39 of 39, 190 s"
