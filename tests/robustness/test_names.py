"""Names of files, directories and clumps with every character that the system allows, in every command."""

import csv
import html.parser
import json
import os
import pty
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote_to_bytes

import matplotlib.image
import pytest
import pyvista
from command import BOX, in_a_shell
from studies import STUDY, invented_study

import minidem
from minidem.cli.terminal import film_bar, progress_bar
from minidem.files.spreadsheets import FORMULA, cell_text, csv_text
from minidem.files.whole import beside, is_leftover, write_whole
from minidem.printable import printable
from minidem.running.progress import Progress
from minidem.scenario.reading import load, parse
from minidem.shapes.sphere_files import read_spheres
from minidem.study.plan import load_study
from minidem.views.export.registry import FORMATS
from minidem.views.export.writing import export_run
from minidem.views.figures import as_label, columns_text, new_figure, svg_text
from minidem.views.report.page import write_report

NOT_UTF8 = os.fsdecode(b"run\xff\x80")
NASTY = os.fsdecode(b"=$x_ \xfe\n'\"[b]%d{0}#<&>:\xf0\x9f\x8e\xb2\x1b~\\")  # all at once
NAMES = [
    "a b",
    "two\nlines",
    "quo'te\"s",
    "-dash",
    "--json",
    "=1+1",
    NOT_UTF8,
    "n" * 200,
    "\U0001f3b2",
    "100%d",
    "#hash",
    "[x]",
    "$x$_{y",
    "_under",
    "a:b",
    "<b>&amp;",
    ".hidden",
    "~",
    "a.toml",
    "a.csv",
    "back\\slash",
    "\x1b[31m\x07",
    NASTY,
]
SOME = ["two\nlines", "--json", "=1+1", NOT_UTF8, "n" * 200, "$x$_{y", "a:b", NASTY]  # for what takes half a second
FEW = ["-dash", NASTY]  # for what takes seconds
ROWS = "-0.03 0 0 0.02\n0 0 0 0.02\n0.03 0 0 0.02\n"
SPHERES = "spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]"
SHORT = BOX.replace("end = 0.004", "end = 0.0004").replace("frames = 5", "frames = 2")


def named(name):
    return ascii(name)[1:25]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that was stopped."""
    directory = tmp_path_factory.mktemp("finished") / "run"
    made = []
    minidem.run(parse(BOX), directory, text=BOX, on_progress=made.append, stop=lambda: len(made) >= 9).trajectory.close()
    return directory


def is_picture(path):
    with open(path, "rb") as file:
        return len(matplotlib.image.imread(file, format=path.suffix[1:].replace("jpg", "jpeg"))) > 10


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES, ids=named)
def test_run_and_resume(directory, minidem_command, name):
    """In a directory of that name, of a scenario and a clump file of that name, to a directory of that name."""
    home = directory / name
    home.mkdir()
    (home / f"{name}.csv").write_text(ROWS)
    try:
        (home / f"{name}.toml").write_text(SHORT.replace(SPHERES, f"file = {json.dumps(f'{name}.csv', ensure_ascii=False)}"))
    except UnicodeEncodeError:  # no TOML can hold the name; it is in that of the directory
        (home / "rod.csv").write_text(ROWS)
        (home / f"{name}.toml").write_text(SHORT.replace(SPHERES, 'file = "rod.csv"'))
    os.chdir(home)
    checked = minidem_command("check", f"./{name}.toml", "--json")
    assert checked.code == 0 and checked.json["spheres"] == 15, checked.stderr
    made = minidem_command("run", f"./{name}.toml", f"--out={name}", "--json")
    assert made.code == 0, made.stderr
    assert made.json["run_dir"] == name and made.json["status"] == "ok"
    assert sorted(os.listdir(home)) == sorted({name, f"{name}.csv", f"{name}.toml"} | ({"rod.csv"} & set(os.listdir(home))))
    assert load(Path(name) / "resolved.toml").clump["rod"].file in (f"{home}/{name}.csv", f"{home}/rod.csv")
    again = minidem_command("resume", f"./{name}", "--json")
    assert again.code == 0 and "is done" in again.stderr and again.json == made.json
    (Path(name) / "manifest.json").unlink()
    assert minidem_command("resume", f"./{name}", "--json").json["energy"] == made.json["energy"]


def test_scenario_without_a_name(directory, minidem_command):
    """Its run directory is named after its file."""
    scenario, path = SHORT.replace('name = "some-rods"\n', ""), directory / f"{NASTY}.toml"
    path.write_text(scenario)
    outcome = minidem_command("run", f"./{path.name}", "--quiet")
    assert outcome.code == 0, outcome.stderr
    (made,) = (directory / "output").iterdir()
    assert set(made.name) <= {*"__x_", *"bd0", "."} and made.name == load(path).name
    (directory / f"{NASTY}-study.toml").write_text(STUDY)
    assert load_study(directory / f"{NASTY}-study.toml").name.endswith("-study")


# --- figures, tables, exports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME, ids=named)
def test_plot_of_runs(directory, minidem_command, finished, name):
    """Two with the same integrator and time step: their labels name the directories."""
    for k in (1, 2):
        shutil.copytree(finished, directory / f"{name}{k}")
    outcome = minidem_command("plot", f"./{name}1", f"./{name}2", f"--out={name}-plot", "--json")
    assert (outcome.code, outcome.stderr) == (0, ""), outcome.stderr
    assert outcome.json["files"] == [f"{name}-plot.{suffix}" for suffix in ("png", "svg", "csv")]
    assert is_picture(directory / f"{name}-plot.png")
    ElementTree.parse(directory / f"{name}-plot.svg")
    with open(directory / f"{name}-plot.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert all(len(row) == len(rows[0]) for row in rows) and not any(row[0].startswith(FORMULA) for row in rows)


@pytest.mark.parametrize("name", NAMES, ids=named)
@pytest.mark.parametrize("format", FORMATS)
def test_export(directory, minidem_command, finished, name, format):
    run, suffix = directory / name, FORMATS[format].suffixes[0]
    shutil.copytree(finished, run)
    outcome = minidem_command("export", f"./{name}", "--format", format, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["file"] == f"{name}/{name}{suffix}" and (run / f"{name}{suffix}").stat().st_size > 100
    if format == "vtp":
        listed = [own.get("file") for own in ElementTree.parse(run / f"{name}{suffix}").iter("DataSet")]
        assert len(listed) == outcome.json["frames"] == outcome.json["files"] - 1
        for file in listed:
            copy = shutil.copy(run / file, directory / "copy.vtp")
            assert pyvista.read(copy).n_points == outcome.json["points"]
    again = minidem_command("export", f"./{name}", "--format", format, "--overwrite", f"--out={name}{suffix}", "--quiet")
    assert (again.code, again.stdout) == (0, ""), again.stderr
    if format != "vtp":  # whose file names its frames
        assert (directory / f"{name}{suffix}").stat().st_size == (run / f"{name}{suffix}").stat().st_size


CLUMPS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a,=1", "a;=1", 'a"=1', "'=1"]
CLUMPS += ["", "two\nlines", "a b", "bell\a", "$x$"]


@pytest.fixture(scope="module")
def clumps(tmp_path_factory):
    """A run of a body of each of these clumps."""
    directory, tables = tmp_path_factory.mktemp("clumps") / "run", []
    for k, name in enumerate(CLUMPS):
        quoted = json.dumps(name, ensure_ascii=False)
        tables += [f"[clump.{quoted}]", "spheres = [[0, 0, 0, 0.01]]", 'material = "plastic"']
        tables += ["[[body]]", f"clump = {quoted}", f"position = [{0.02 + 0.03 * k}, 0.1, 0.1]", "velocity = [0, -1, 0]"]
    scenario = f"{SHORT.partition('[clump')[0]}\n{chr(10).join(tables)}\n[output]\nframes = 2\n"
    minidem.run(parse(scenario), directory, text=scenario).trajectory.close()
    return directory


def test_no_formula_in_exports(clumps, directory):
    export_run(clumps, directory / "a.csv")
    with open(directory / "a.csv", newline="", encoding="utf-8") as file:
        found = [row["species"] for row in csv.DictReader(file) if row["frame"] == "0"]
    assert found == [
        *("'=1+1", "'+1", "'-1", "'@SUM(A1)", r"\t=1", r"\r=1", "a,=1", "a;=1", 'a"=1', "'=1", ""),
        *(r"two\nlines", "a b", r"bell\x07", "$x$"),
    ]
    text = (directory / "a.csv").read_text(encoding="utf-8")
    assert '"a;=1"' in text, "a spreadsheet may take ; for the end of a cell"
    assert any(cell.startswith("-") for line in text.splitlines() for cell in line.split(",")), "numbers may be negative"


@pytest.mark.parametrize("format", FORMATS)
def test_names_of_clumps_in_exports(clumps, directory, format):
    assert export_run(clumps, directory / "a", format)["points"] == len(CLUMPS)
    if format == "xyz":
        import ase.io

        assert len(ase.io.read(directory / "a", format="extxyz")) == len(CLUMPS)


def test_names_of_clumps_in_reports(clumps, directory):
    page = Page(Path(write_report(clumps, directory / "a.html", still=False)["file"]))
    assert page.faults == [] and "@SUM(A1)" in page.texts


@pytest.mark.parametrize("name", SOME, ids=named)
def test_report_of_a_run(directory, finished, name):
    shutil.copytree(finished, directory / name)
    made = write_report(Path(name), still=False)
    page = Page(directory / name / "report.html")
    assert made["file"] == f"{name}/report.html" and page.faults == []
    assert len(page.links) == 5 and all((directory / name / link).is_file() for link in page.links)
    page = Page(Path(write_report(Path(name), Path(f"{name}.html"), still=False)["file"]))
    assert all((directory / link).is_file() for link in page.links), "relative to the page"


class Page(html.parser.HTMLParser):
    """The texts and links of a page, and what no valid page has."""

    def __init__(self, path):
        super().__init__()
        self.texts, self.links, self.faults, self.open = [], [], [], []
        source = path.read_bytes().decode()
        self.faults += [c for c in source if c in map(chr, [*range(9), 11, *range(14, 32), *range(127, 160)])]
        self.feed(source)
        self.close()
        self.faults += self.open

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(os.fsdecode(unquote_to_bytes(dict(attrs)["href"])))
        if tag not in ("meta", "img", "input", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """In SVG."""

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data):
        self.texts.append(data)


# --- studies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME, ids=named)
def test_study(directory, minidem_command, name):
    """A study of invented results: no run."""
    home = directory / name
    home.mkdir()
    invented_study(home).rename(home / name)
    for command in (("--list",), ("--merge",)):
        outcome = minidem_command("study", f"./{name}/sweep.toml", "--out", f"{name}/{name}", "--json", *command)
        assert outcome.code == (1 if command == ("--merge",) else 0) and outcome.json, outcome.stderr
    table = list(csv.reader((home / name / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert len(table) == 13
    outcome = minidem_command("plot", f"./{name}/{name}", "--json")
    assert (outcome.code, outcome.stderr) == (0, ""), outcome.stderr
    assert outcome.json["study"] == f"{name}/{name}"
    made = write_report(home / name, still=False)
    page = Page(home / name / "report.html")
    assert page.faults == [] and made["kind"] == "study" and len(page.links) == 5
    assert all((home / name / link).is_file() for link in page.links)


def test_study_of_clump_files(directory, minidem_command):
    """The files are named by the study, below a directory whose name no TOML can hold."""
    home = directory / NASTY
    home.mkdir()
    for name in ("=a.csv", "b\n.csv"):
        (home / name).write_text(ROWS)
    (home / "box.toml").write_text(SHORT.replace(SPHERES, 'file = "=a.csv"'))
    (home / "files.toml").write_text(
        'scenario = "box.toml"\nkeep = "runs"\n[axes]\n"clump.rod.file" = ["=a.csv", "b\\n.csv"]\n'
    )
    call = ("study", f"{NASTY}/files.toml", f"--out={NASTY}/=out", "--processes", "1", "--json")
    outcome = minidem_command(*call)
    assert outcome.code == 0 and outcome.json["done"] == 2, outcome.stderr
    table = list(csv.reader((home / "=out/table.csv").read_text().splitlines(keepends=True)))
    assert [row[1] for row in table] == ["clump.rod.file", "'=a.csv", "b\n.csv"]
    moved = directory / "moved"
    home.rename(moved)
    assert minidem_command("study", "moved/files.toml", "--out=moved/=out", "--merge").code == 0, "the same study elsewhere"
    (run,) = (moved / "=out/runs").glob("000000")
    (line,) = [line for line in (run / "resolved.toml").read_text().splitlines() if line.startswith("file = ")]
    assert line.startswith('file = "file:///') and line.endswith('/%3Da.csv"') and "%FE" in line


# --- what takes seconds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW, ids=named)
def test_pictures_and_films(directory, minidem_command, finished, name):
    shutil.copytree(finished, directory / name)
    outcome = minidem_command("view", f"./{name}", f"--screenshot={name}.png", "--size", "200x160")
    assert outcome.code == 0 and is_picture(directory / f"{name}.png"), outcome.stderr
    for suffix in (".mp4", ".gif"):
        options = ("--size", "64x48", "--no-shadows", "--fps", "10", "--json")
        outcome = minidem_command("movie", f"./{name}", f"--out={name}{suffix}", *options)
        assert outcome.code == 0 and outcome.json["file"] == f"{name}{suffix}", outcome.stderr
        assert (directory / f"{name}{suffix}").stat().st_size > 100
    os.mkdir("films")
    os.chdir("films")
    os.mkdir("%d.mp4")
    assert minidem_command("movie", f"../{name}", f"--out=%d.mp4/{name}.mp4", *options).code == 0


def test_report_with_a_still_picture(directory, minidem_command, finished):
    shutil.copytree(finished, directory / NASTY)
    outcome = minidem_command("report", f"./{NASTY}", "--json")
    assert outcome.code == 0 and "data:image/png;base64,iVBOR" in (directory / NASTY / "report.html").read_text()


@pytest.mark.parametrize("name", FEW, ids=named)
def test_clump_and_rotor(directory, minidem_command, name):
    pyvista.Cube().triangulate().save(directory / "cube.stl")
    (directory / "cube.stl").rename(directory / f"{name}.stl")
    outcome = minidem_command("clump", f"./{name}.stl", "--spheres", "8", "--json")
    assert outcome.code == 0 and is_picture(directory / f"{name}.png"), outcome.stderr
    assert len(read_spheres(directory / f"{name}.csv")) == outcome.json["spheres"]
    outcome = minidem_command("rotor", "symmetric-top", f"--plot={name}.svg", "--end", "0.1", "--json")
    assert outcome.code == 0, outcome.stderr
    ElementTree.parse(directory / f"{name}.svg")


def test_texts_on_standard_output(directory, finished):
    """UTF-8, though it cannot hold the name: in processes of their own, since pytest replaces standard output."""
    shutil.copytree(finished, directory / NOT_UTF8)
    for command in (("plot",), ("export", "--format", "csv")):
        outcome = in_a_shell(directory, command[0], NOT_UTF8, *command[1:])
        assert outcome.code == 0 and "run\\udcff\\udc80" in outcome.stdout, outcome.stderr
    outcome = in_a_shell(directory, "resume", NOT_UTF8, "--json")
    assert outcome.code == 0 and os.fsencode(outcome.json["run_dir"]) == b"run\xff\x80"


def test_errors_about_any_file(minidem_command):
    for command in ("run", "check", "resume", "plot", "report", "study", "clump", "advise"):
        outcome = minidem_command(command, f"./none-{NASTY}")
        assert outcome.code == 2 and "none-" in outcome.stderr, (command, outcome)
    for command, more in (("view", "--screenshot=a.png"), ("movie", "--out=a.gif"), ("export", "--format=csv")):
        outcome = minidem_command(command, f"./none-{NASTY}", more)
        assert outcome.code == 2 and "none-" in outcome.stderr, (command, outcome)


# --- the parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*FORMULA, "=1", "+1", "-1", "@x", "\tx", "\rx"])
def test_cells_are_no_formulas(text):
    assert cell_text(text) == f"'{text}"
    (row,) = csv.reader([csv_text([[text, -1, -1.5, None, "a"]])], strict=True)
    assert row == [f"'{text}", "-1", "-1.5", "", "a"]


def test_cells_that_stay():
    for text in ("", "a=1", "1", " =1", "'=1", "é"):
        assert cell_text(text) == text
    assert cell_text(NOT_UTF8) == r"run\udcff\udc80" and columns_text({"-a": [1], "b": ["@"]}) == "'-a,b\r\n1,'@\r\n"


@pytest.mark.parametrize("name", [*SOME, "$", "$$", "$x$", r"\$x\$", "_x", "x_$y_$", "\ud800", "x" * 10_000], ids=named)
def test_labels_are_no_formulas(name):
    """matplotlib shows every character, in the legend, too."""
    figure, axis = new_figure()
    axis.plot([1, 2], [1, 2], label=as_label(name))
    axis.set_title(as_label(name), fontsize=3)
    legend = axis.legend(fontsize=3)
    ElementTree.fromstring(svg_text(figure))
    (label,) = legend.get_texts()
    shown, is_formula = label._preprocess_math(label.get_text())
    expected = printable(name) if len(name) <= 100 else f"{name[:50]}...{name[-50:]}"
    assert shown.strip() == expected.strip() and not is_formula


@pytest.mark.parametrize("length", [200, 250, 255])
@pytest.mark.parametrize("letter", ["n", "é", "\udcff"])
def test_long_names(tmp_path, letter, length):
    """As long as the system allows: the file beside it has a name, too."""
    name = letter * (length // len(os.fsencode(letter)) - 4) + ".csv"
    write_whole(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]
    new = beside(tmp_path / name, "." + 32 * "0")
    assert len(os.fsencode(new.name)) <= 255 and is_leftover(new.name) and new.suffix == ".csv"


def test_files_are_named_by_addresses_too(tmp_path):
    """As resolved.toml does for names that are not UTF-8."""
    (tmp_path / "a b.csv").write_text(ROWS)
    scenario = parse(BOX.replace(SPHERES, f'file = "file://{tmp_path}/a%20b.csv"'))
    assert scenario.clump["rod"].file == str(tmp_path / "a b.csv")


@pytest.mark.parametrize("bar", [film_bar, progress_bar])
def test_progress_shows_names_as_they_are(monkeypatch, bar):
    """A terminal would take [b] for mark-up."""
    here, there = pty.openpty()
    with open(there, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        patched.setenv("TERM", "xterm")
        with bar(f"[b]{NOT_UTF8}[/b]", False) as update:
            update(*((1, 2) if bar is film_bar else (Progress(1, 2, 1e-5),)))
    said = b""
    with suppress(OSError):  # at the end
        while b"[b]run" not in said:
            said += os.read(here, 10_000)
    assert b"[b]run" in said
    os.close(here)
