"""`minidem plot`: output, exit codes, files."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from PIL import Image
from studies import invented_study

from minidem.views.figures import settings
from minidem.views.plots import layout_of, plot_of


@pytest.fixture
def study(directory):
    return invented_study(directory)


def is_a_picture(path):
    picture = matplotlib.image.imread(path)
    return len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50


def test_study(minidem_command, study):
    outcome = minidem_command("plot", "sweep")
    assert (outcome.code, outcome.stderr) == (0, "")
    lines = outcome.stdout.splitlines()
    assert "11 of 12 runs finished (1 failed, not plotted)" in lines[0] and "0.0002 s" in lines[2]
    table = {line.split()[0]: line.split()[1:5] for line in lines[5:7]}
    assert table == {"spiral": ["3", "5", "1", "2.00"], "buss": ["3", "5", "0", "1.00"]}
    assert {path.name for path in study.glob("plot.*")} == {"plot.png", "plot.svg", "plot.csv"}
    assert is_a_picture(study / "plot.png")
    again = minidem_command("plot", "sweep")
    assert again.code == 2 and "exists already" in again.stderr and "--overwrite" in again.stderr
    assert minidem_command("plot", "sweep", "--overwrite").code == 0


def test_study_as_json(minidem_command, study):
    result = minidem_command("plot", "sweep", "--json", "--measure", "paper", "--out", "figures/dt").json
    assert result["files"] == ["figures/dt.png", "figures/dt.svg", "figures/dt.csv"]
    assert (result["measure"], result["cells"], result["ended"], result["failed"]) == ("paper", 12, 11, 1)
    assert {line["label"]: line["slope"] for line in result["lines"]} == pytest.approx({"spiral": 2.0, "buss": 1.0})
    assert result["lines"][0]["points"][0]["standard_error"] is None  # a single run


def test_quiet(minidem_command, study):
    outcome = minidem_command("plot", "sweep", "--quiet")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "", "")
    assert (study / "plot.csv").exists()


def test_runs(minidem_command, directory):
    for integrator in ("spiral", "buss"):
        arguments = ("--set", f"integrator.rotation={integrator}", "--out", integrator, "--quiet")
        assert minidem_command("run", "box.toml", *arguments).code == 0
    alone = minidem_command("plot", "spiral")
    assert alone.code == 0 and alone.stdout.splitlines()[1].startswith("spiral, dt 4e-05 s  ok")
    assert is_a_picture(directory / "spiral" / "plot.png")
    few = minidem_command("plot", "spiral", "buss", "--label", "one")
    assert few.code == 2 and "--label: 1 given for 2 directories; give one for each" in few.stderr
    named = minidem_command("plot", "spiral", "buss", "--label", "first", "--label", "second of $2", "--out", "named.svg")
    assert named.code == 0 and named.stdout.splitlines()[1].startswith("first ")
    assert all(f">{label}</text>" in (directory / "named.svg").read_text() for label in ("first", "second of $2"))
    both = minidem_command("plot", "spiral", "buss", "--json")
    assert both.json["files"] == ["energy.png", "energy.svg", "energy.csv"] and is_a_picture("energy.png")
    assert [run["integrator"] for run in both.json["runs"]] == ["spiral", "buss"]
    summary = json.loads((directory / "buss" / "manifest.json").read_text())["summary"]
    assert both.json["runs"][1]["drift_mean"] == pytest.approx(summary["energy"]["drift_mean"], rel=1e-12)


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_ending_chooses_the_format(minidem_command, study, directory, ending):
    """And the figure is as wide as the columns of the page, with text that can be edited."""
    for columns, millimetres in ((1, 85), (2, 175)):
        options = ["--columns", columns, "--title", "Two schemes", "--out", f"{columns}.{ending}", "--json"]
        assert minidem_command("plot", "sweep", *options).json["files"] == [f"{columns}.{ending}", f"{columns}.csv"]
        points, data = millimetres / 25.4 * 72, (directory / f"{columns}.{ending}").read_bytes()
        if ending == "pdf":
            box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", data)
            assert float(box[1]) == pytest.approx(points, abs=0.01) and b"/TrueType" not in data and b"/Type42" not in data
            assert b"/CIDFontType2" in data  # letters, not drawings of letters
        elif ending == "svg":
            text = data.decode()
            assert float(re.search(r'width="([\d.]+)pt"', text)[1]) == pytest.approx(points, abs=0.01)
            assert ">Two schemes</text>" in text and ">velocity" not in text and ">spiral</text>" in text
        else:
            with Image.open(directory / f"{columns}.png") as image:
                assert image.width == pytest.approx(millimetres / 25.4 * 300, abs=1)
                assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert not list(study.glob("plot.*"))


def test_limits_and_labels(study):
    layout = layout_of(None, "", "1e-6:1e-3", "1e-12:1", "step", "error")
    axis = plot_of([study], None, layout).figure.axes[0]
    assert (axis.get_title(), axis.get_xlabel(), axis.get_ylabel()) == ("", "step", "error")
    assert axis.get_xlim() == (1e-6, 1e-3) and axis.get_ylim() == (1e-12, 1)


def test_title_of_a_run_is_above_its_legend(minidem_command, directory):
    assert minidem_command("run", "box.toml", "--out", "one", "--quiet").code == 0
    figure = plot_of([directory / "one"], None, layout_of(1, "A long title of a run in a narrow figure", *4 * [None])).figure
    with settings(editable=True):
        figure.draw_without_rendering()
        title, legend = figure._suptitle.get_window_extent(), figure.axes[0].get_legend().get_window_extent()
    assert title.y0 >= legend.y1 and title.y1 <= figure.bbox.y1 and 0 <= title.x0 < title.x1 <= figure.bbox.x1


@pytest.mark.parametrize("columns", [None, 1, 2])
def test_nothing_of_a_figure_is_cut_off_or_covered(study, columns):
    """The legend is below the axes, within the figure, and so are all labels."""
    figure = plot_of([study], None, layout_of(columns, None, None, None, None, None)).figure
    with settings(editable=True):
        figure.draw_without_rendering()
        page, legend = figure.bbox, figure.legends[0].get_window_extent()
        axis = figure.axes[0]
        seen = axis.get_tightbbox()
        assert not legend.overlaps(seen) and not legend.overlaps(axis.child_axes[0].get_tightbbox())
        for box in (legend, seen, axis.child_axes[0].get_tightbbox()):
            assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("Missing argument",)),
        (("nothing",), ("nothing", "no such directory", "minidem study or minidem run")),
        (("box.toml",), ("box.toml", "is a file")),
        ((".",), ("holds neither a study", "nor a run")),
        ((300 * "a",), ("aaa", "minidem run")),
        (("sweep", "nothing"), ("nothing", "no such directory")),
        (("sweep", "--measure", "meen"), ("meen", "did you mean mean?", "paper")),
        (("sweep", "--out", "box.toml/plot"), ("--out", "box.toml/plot", "cannot be written")),
        (("sweep", "--out", 300 * "a"), ("--out", "aaa", "cannot be written")),
        (("sweep", "--out", "sweep"), ("--out", "sweep is a directory", "sweep/plot")),
        (("sweep", "--label", "a", "--label", "b"), ("--label: 2 given for 1 directories", "one for each")),
        (("sweep", "--label", "a"), ("--label a", "is for runs", "sweep is a study")),
        (("sweep", "--columns", "3"), ("--columns 3", "1 or 2")),
        (("sweep", "--xlim", "2:1"), ("--xlim 2:1", "LOW:HIGH")),
        (("sweep", "--ylim", "0:1"), ("--ylim 0:1", "logarithmic", "positive")),
    ],
)
def test_bad_use(minidem_command, study, directory, arguments, words):
    before = {path for path in directory.rglob("*")}
    outcome = minidem_command("plot", *arguments)
    assert outcome.code == 2 and outcome.stdout == ""
    assert all(word in outcome.stderr for word in words), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert {path for path in directory.rglob("*")} == before


def test_study_without_a_finished_run(minidem_command, study):
    (study / "records.jsonl").unlink()
    outcome = minidem_command("plot", "sweep", "--json")
    assert outcome.code == 2 and outcome.stdout == "" and "sweep: nothing to plot: no run has ended yet" in outcome.stderr
    assert not list(study.glob("plot.*"))
