"""The page that is generated from the registry is the one that is committed, and names what exists."""

import re
import runpy
from pathlib import Path

from minidem.engine.rotation.registry import SCHEMES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "integrators.md"


def test_page_of_the_integrators_is_up_to_date():
    assert PAGE.read_text() == runpy.run_path(str(DOCS / "integrators.py"))["page"]()


def test_page_of_the_laws_is_up_to_date():
    assert (DOCS / "laws.md").read_text() == runpy.run_path(str(DOCS / "laws.py"))["text"]()


def test_every_scheme_has_its_row():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(SCHEMES)
    assert [row.count("|") for row in rows] == [10] * len(SCHEMES)


def test_pictures_and_links_of_the_documents_exist():
    for page in (PAGE, DOCS.parent / "README.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)
