"""docs/integrators.md, from integrators.template.md, the registry and the tables in docs/results/; generated.py writes it.

`python docs/integrators.py --measure` makes docs/results/rods.csv: each scheme in five boxes of rods for 20 s.
"""

import csv
import math
import sys
from pathlib import Path

import minidem
from minidem.engine.rotation.registry import SCHEMES

DOCS = Path(__file__).parent
RODS = DOCS / "results" / "rods.csv"
SEEDS = 5
SCOREBOARD = DOCS / "results" / "scoreboard.csv"


def write_rods() -> None:
    """Write the drifts of each scheme to RODS: medians, because individual seeds differ by up to a factor of four."""
    rods = minidem.load(DOCS.parent / "scenarios" / "rods.toml")
    with RODS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["integrator", "drift_mean", "drift_max"])
        for name, scheme in SCHEMES.items():
            if scheme.torque_evaluations == 1:
                changes = [{"integrator.rotation": name, "time.end": 20.0, "seed": seed} for seed in range(SEEDS)]
                energies = [minidem.run(rods.with_changes(change)).summary["energy"] for change in changes]
                writer.writerow([name, *(median_of(energies, drift) for drift in ("drift_mean", "drift_max"))])


def median_of(energies: list[dict[str, float | None]], drift: str) -> float | None:
    """The median of one drift over all runs; None if it is not finite."""
    values = sorted(math.inf if energy[drift] is None else energy[drift] for energy in energies)
    middle = values[len(values) // 2]
    return None if math.isinf(middle) else middle


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by column name."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def page() -> str:
    """The text of docs/integrators.md. Schemes that are not in the tables of docs/results/ yet have dashes."""
    rods = {row["integrator"]: f"{float(row['drift_max']):.1e}" if row["drift_max"] else "not finite" for row in table(RODS)}
    bench = {row["integrator"]: row for row in table(SCOREBOARD) if row["case"] == "constant-torque"}
    titles = [
        "name",
        "summary",
        "orders",
        "torque evaluations per step",
        "conserves",
        "dt for 1e-5",
        "ns per step",
        "max energy deviation (rods)",
        "source",
    ]
    cells = [titles, ["---"] * len(titles)]
    for s in SCHEMES.values():
        step, cost = "-", "-"
        if row := bench.get(s.name):
            step, cost = f"{float(row['dt_for_1e-5_s']):.2e}", f"{float(row['step_cost_ns']):.0f}"
        orders, conserves = f"{s.order_q}, {s.order_omega}", s.conserves.replace("|q|", "length of q")
        evaluations, energy = str(s.torque_evaluations), rods.get(s.name, "-")
        cells.append([f"`{s.name}`", s.summary, orders, evaluations, conserves, step, cost, energy, s.source])
    lines = "\n".join("| " + " | ".join(line) + " |" for line in cells)
    template = (DOCS / "integrators.template.md").read_text()
    return template.replace("{table}", lines).replace("{own_scheme}", (DOCS / "own_scheme.py").read_text().rstrip())


if __name__ == "__main__":
    if "--measure" not in sys.argv:
        sys.exit(__doc__)
    write_rods()
