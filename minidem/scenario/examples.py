"""The examples that `minidem new` copies: scenarios, a study, a scheme and a contact law of one's own.

An installed package has them in its folder `scenarios`; a checkout has them beside the package, in `scenarios` and `docs`.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import nearest

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Example:
    """One example: its files, what it shows, and the command to type next."""

    files: tuple[str, ...]  # below the folder of examples; they are copied side by side
    summary: str
    command: str


def _scenario(name: str, summary: str) -> Example:
    return Example((f"{name}.toml",), summary, f"minidem run {name}.toml")


EXAMPLES = {
    "chess": _scenario("chess", "32 chess pieces of 100 spheres each bounce in a box"),
    "rods": _scenario("rods", "30 rods of three spheres in a box; the energy test of the integrators"),
    "two_spheres": _scenario("two_spheres", "a head-on collision of two steel balls"),
    "rod_on_wall": _scenario("rod_on_wall", "a tilted rod falls onto a floor"),
    "book": _scenario("book", "a thrown book flips over and over: the intermediate-axis theorem"),
    "dense": _scenario("dense", "10,000 spheres packed to 65 % of a box"),
    "polydisperse": _scenario("polydisperse", "spheres of two sizes packed to 66 % of a box"),
    "trimers": _scenario("trimers", "9,216 clumps of three spheres packed to 70 % of a box"),
    "first": Example(
        ("studies/first.toml", "rods.toml"), "a study: three integrators at four time steps", "minidem study first.toml"
    ),
    "own_scheme": Example(
        ("own_scheme.py", "rods.toml"),
        "a rotational integrator of your own",
        "minidem run rods.toml --plugin own_scheme.py --set integrator.rotation=exponential-midpoint",
    ),
    "own_law": Example(
        ("own_law.py", "rods.toml"),
        "a contact law of your own",
        "minidem run rods.toml --plugin own_law.py --set contact.law=spring --set material.plastic.stiffness=1e5",
    ),
}


def example_file(name: str) -> Path:
    """The file of an example, such as "studies/first.toml", in the installed package or in the checkout."""
    folders = (PACKAGE / "scenarios", PACKAGE.parent / "scenarios", PACKAGE.parent / "docs")
    return next((folder / name for folder in folders if (folder / name).is_file()), folders[0] / name)


def example_texts(name: str) -> dict[str, str]:
    """Texts of the files of an example by name, as they are beside each other in one folder, with the schemas they name."""
    texts = {Path(file).name: example_file(file).read_text(encoding="utf-8") for file in EXAMPLES[name].files}
    texts = {file: text.replace("#:schema ../", "#:schema ./").replace('"../', '"') for file, text in texts.items()}
    schemas = [found[1] for text in texts.values() if (found := re.match(r"#:schema \./(.+)\n", text))]
    return texts | {file: example_file(file).read_text(encoding="utf-8") for file in schemas}


def advice_for_missing(path: str | os.PathLike[str]) -> str:
    """What to do about a scenario or study file that does not exist."""
    path = Path(path)
    if path.name and path.suffix == "" and path.with_name(f"{path.name}.toml").is_file():
        return f"did you mean {path}.toml?"
    meant = nearest(path.stem, EXAMPLES)
    if meant is None:
        return "give a scenario file"
    return f"minidem new {meant} writes " + ("this example" if meant == path.stem else "the example of that name")
