"""The documentation site builds without a warning and loads in a browser; its commands and code run."""

import html
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from browser import Browser

import minidem
from minidem.engine.rotation.registry import SCHEMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PATIENCE = 600  # s, after which a command hangs


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(folder / "trees"),
        "docs",
        str(folder / "html"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_command_and_class_has_its_place(site):
    commands = (site / "reference" / "commands.html").read_text()
    for name in ("run", "check", "advise", "study", "doctor"):
        assert f"minidem {name}" in commands
    python = (site / "reference" / "python.html").read_text()
    for name in ("minidem.run", "minidem.Simulation.advance", "minidem.Trajectory.frame", "minidem.laws.register"):
        assert f'id="{name}"' in python
    assert all(re.search(rf'id="(module-)?minidem\.{name}"', python) for name in minidem.__all__)
    assert "pydantic" not in python and "<locals>" not in html.unescape(python)  # what a user cannot use
    contents = re.findall(r'<a class="reference internal nav-link[^>]*>(.*?)</a>', python, re.DOTALL)
    names = [re.sub(r"<.*?>", "", entry).strip() for entry in contents]
    assert [name for name in names if name.endswith("register()")] == ["minidem.register()", "minidem.laws.register()"]
    integrators = (site / "integrators.html").read_text()
    assert all(name in integrators for name in SCHEMES)


@pytest.mark.parametrize("page", ["index.html", "tutorial.html", "reference/python.html"])
def test_pages_load_without_errors(site, page, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(site / page)
        assert browser.console == []
        assert all(address.startswith("file:") for address in browser.asked_for)


def blocks(page):
    """The blocks of commands and of Python code of a page, as (language, text)."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def run_block(language, text, folder):
    """Run a block in a folder; `minidem` is the package under test."""
    if language == "python":
        commands = [[sys.executable, "-c", text]]
    else:
        lines = [line.split("#")[0].split() for line in text.splitlines()]
        assert all(line[0] == "minidem" for line in lines if line), text
        commands = [[sys.executable, "-m", "minidem", *line[1:]] for line in lines if line]
    for command in commands:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_tutorial_runs(tmp_path):
    """Every command and the code of the tutorial, in their order, in an empty directory."""
    found = blocks("tutorial.md")
    assert [language for language, _ in found].count("python") == 1
    assert len(found) > 6
    for language, text in found:
        run_block(language, text, tmp_path)
    for name in ("rods.png", "energy.png", "two.png", "study.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    assert (tmp_path / "output/first/table.csv").read_text().count(",ok,") == 48


@pytest.mark.parametrize("page", ["howto/python-and-jupyter.md"])
def test_code_runs(page, tmp_path):
    """The Python code of a page, as one program, beside rods.toml."""
    (tmp_path / "rods.toml").write_text((ROOT / "scenarios/rods.toml").read_text())
    run_block("python", "".join(text for language, text in blocks(page) if language == "python"), tmp_path)


def test_study_of_the_guide_is_the_example(minidem_command, directory):
    """The TOML block of the page is what `minidem new first` writes beside rods.toml."""
    assert minidem_command("new", "first").code == 0
    (shown,) = re.findall(r"^```toml\n(.*?)^```", (DOCS / "howto/study.md").read_text(), re.DOTALL | re.MULTILINE)
    assert {"schema": 1, **tomllib.loads(shown)} == tomllib.loads((directory / "first.toml").read_text())


def test_every_extra_is_in_the_installation_guide():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"^\| `(\w+)` \|", (DOCS / "installation.md").read_text(), re.MULTILINE)) == set(extras)


def test_pages_name_pages_by_links(site):
    """No page of the site names another by its path alone."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<a [^>]*>.*?</a>|</?(?:span|code)[^>]*>", "", page.read_text(), flags=re.DOTALL)
        for path in re.findall(r"\bdocs/[\w/-]+\.md", text):
            assert not (ROOT / path).exists(), (page.name, path)


def test_scenarios_of_the_pages_are_read():
    """TOML blocks of the how-to pages are TOML, and their keys are those of scenarios."""
    from minidem.scenario.tables import TABLES, tables_in, valid_keys

    found = 0
    for page in DOCS.glob("howto/*.md"):
        for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            data = tomllib.loads(text)
            if data.keys() & {"axes", "project"}:  # a study, the metadata of a package
                continue
            assert data.keys() <= TABLES.keys() | {"schema", "name", "seed"}
            for place, table in tables_in(data):
                assert set(table) <= set(valid_keys(str(place[0])))
                found += 1
    assert found >= 3
