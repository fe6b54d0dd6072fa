"""The pages that are generated from the registries are up to date, and links in the documents lead somewhere."""

import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from minidem.engine.contact.loading import compiled
from minidem.engine.contact.registry import LAWS, Law
from minidem.engine.rotation.registry import SCHEMES, Scheme
from minidem.rotor import bench
from minidem.rotor.cases import CASES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REGISTRIES = {"integrators": (SCHEMES, 10), "laws": (LAWS, 6)}  # rows, and bars in a row
DOCUMENTS = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "benchmarks" / "README.md"]


@pytest.mark.parametrize("name", REGISTRIES)
def test_generated_page_is_up_to_date(name):
    assert (DOCS / f"{name}.md").read_text() == runpy.run_path(str(DOCS / f"{name}.py"))["page"]()


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_entry_has_its_row(name):
    entries, bars = REGISTRIES[name]
    rows = [line for line in (DOCS / f"{name}.md").read_text().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(entries)
    assert [row.count("|") for row in rows] == [bars] * len(entries)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_named_files_exist(page):
    """Paths in backquotes that begin with a folder of the repository."""
    for path in re.findall(r"`((?:minidem|tests|docs|benchmarks|scenarios)/[\w./-]*)`", page.read_text()):
        assert (ROOT / path).exists(), path


def example(folder, title):
    """The functions of the file in CONTRIBUTING.md that begins with `title`, as if it were in a folder of the engine."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    source = next(block for block in blocks if block.startswith(f'"""{title}'))
    names = {"__package__": f"minidem.engine.{folder}"}
    exec(compile(source, "CONTRIBUTING.md", "exec"), names)
    return names


def row(begin, **names):
    """The row of a registry in CONTRIBUTING.md that begins with `begin`."""
    return eval(re.search(rf"^{re.escape(begin)}.*\)$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)[0], names)


def test_scheme_of_the_contribution_guide(monkeypatch):
    """Has the orders that its row states."""
    stated = row("Scheme(", Scheme=Scheme)
    parts = example("rotation", "Leapfrog")
    monkeypatch.setitem(SCHEMES, "guide", Scheme("guide", stated.order_q, stated.order_omega, "", "", parts=parts))
    dts = 1e-3 * 0.5 ** np.arange(4)
    found = [bench.errors(CASES["constant-torque"], "guide", dt) for dt in dts]
    slopes = np.polyfit(np.log(dts), np.log([[error.q, error.omega] for error in found]), 1)[0]
    assert slopes == pytest.approx([stated.order_q, stated.order_omega], abs=0.15)


def test_law_of_the_contribution_guide():
    """F = k d and its energy in closed form; it compiles; half a period of m x'' = -k x."""
    stated = row("Law(", Law=Law)
    parts = example("contact", "Linear spring")
    law = compiled(Law("guide", "", "", stated.edge_power, stated.keys, parts))
    assert law.constants({"a": {"stiffness": 2e5}, "b": {"stiffness": 3e5}}) == pytest.approx(
        np.array([[1e5, 1.2e5], [1.2e5, 1.5e5]])
    )
    force, energy = parts["contact"].py_func(1.99, 2.0, 1.0, 1e5)
    assert (force * 1.99, energy) == pytest.approx((1e3, 5.0), rel=1e-12)
    assert law.contact_time(1e5, 0.1, 1.0, 3.0) == pytest.approx(math.pi * 1e-3, rel=1e-12)
    assert (stated.edge_power, stated.keys) == (1.0, ("stiffness",))
