"""Do two checkouts give the same bits? `python -m benchmarks.bits OLD NEW`

Runs the same scenarios with both and compares trajectories and energy logs, number by number. Each checkout is a directory
that holds the package `minidem`; both run in this Python.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import checkouts
from .protocol import ROOT

STEPS_200 = ("time.end=3.8288e-3", "output.frames=5", "output.energies=50")  # of the packed scenes


@dataclass(frozen=True)
class Case:
    name: str
    scenario: str
    changes: tuple[str, ...]
    threads: int = 1


def cases() -> Iterator[Case]:
    from minidem.engine.rotation.registry import SCHEMES

    yield Case("chess", "chess", ("time.end=0.2",))
    yield Case("rods", "rods", ("time.end=1.0",))
    yield Case("rod on wall", "rod_on_wall", ("output.energies=300",))
    yield Case("book", "book", ("output.energies=300",))
    yield Case("dense", "dense", STEPS_200)
    yield Case("dense, two threads", "dense", STEPS_200, threads=2)
    yield Case("trimers", "trimers", STEPS_200)
    yield Case("polydisperse", "polydisperse", STEPS_200)
    for scheme in SCHEMES.values():
        if scheme.torque_evaluations == 1:
            yield Case(f"rods, {scheme.name}", "rods", (f"integrator.rotation={scheme.name}", "time.end=0.1"))


def run(case: Case, checkout: Path, out: Path) -> None:
    """Run a case with the package of a checkout."""
    options = [word for change in case.changes for word in ("--set", change)]
    arguments = ["run", str(ROOT / f"scenarios/{case.scenario}.toml"), "--out", str(out), "--threads", str(case.threads)]
    checkouts.run(checkout, [*arguments, "--quiet", *options], out.parent)


def differences(old: Path, new: Path) -> list[str]:
    """What differs between two run directories: names of datasets and files. What only the new one has does not count."""
    import h5py
    import numpy as np

    found = []
    with h5py.File(old / "trajectory.h5") as a, h5py.File(new / "trajectory.h5") as b:
        names: list[str] = []
        a.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            if name.startswith("parameters/minidem/resolved"):  # new keys may have defaults
                continue
            if name not in b or a[name].shape != b[name].shape or np.array(a[name]).tobytes() != np.array(b[name]).tobytes():
                found.append(name)
    if table_of(old / "energy.csv").items() - table_of(new / "energy.csv").items():
        found.append("energy.csv")
    return found


def table_of(path: Path) -> dict[str, tuple[str, ...]]:
    """The columns of a CSV file, as text, by name."""
    with open(path, newline="") as file:
        return {column[0]: column[1:] for column in zip(*csv.reader(file), strict=True)}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bits", description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", default="", metavar="WORD", help="only the cases whose names contain it")
    chosen = parser.parse_args(words)
    different, wanted = 0, [case for case in cases() if chosen.only in case.name]
    if not wanted:
        print(f'no case has "{chosen.only}" in its name', file=sys.stderr)
        return 1
    for case in wanted:
        with tempfile.TemporaryDirectory() as folder:
            old, new = Path(folder) / "old", Path(folder) / "new"
            run(case, chosen.old.resolve(), old)
            run(case, chosen.new.resolve(), new)
            found = differences(old, new)
        different += bool(found)
        print(f"{case.name:<24} {'equal' if not found else 'DIFFERENT: ' + ', '.join(found)}", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
