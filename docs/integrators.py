"""Writes docs/integrators.md from integrators.template.md, the rows of the registry and the tables in docs/results/.

python docs/integrators.py             the page
python docs/integrators.py --measure   first docs/results/rods.csv: every scheme in the box of rods for 20 s
"""

import csv
import sys
from pathlib import Path

import minidem
from minidem.core.rotation.registry import SCHEMES

DOCS = Path(__file__).parent
RODS = DOCS / "results" / "rods.csv"
SCOREBOARD = DOCS / "results" / "scoreboard.csv"


def measured_rods() -> None:
    rods = minidem.load(DOCS.parent / "scenarios" / "rods.toml")
    with RODS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["integrator", "drift_mean", "drift_max"])
        for name, scheme in SCHEMES.items():
            if scheme.torque_evaluations == 1:
                energy = minidem.run(rods.with_changes({"integrator.rotation": name, "time.end": 20.0})).summary["energy"]
                writer.writerow([name, energy["drift_mean"], energy["drift_max"]])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def page() -> str:
    rods = {row["integrator"]: f"{float(row['drift_max']):.1e}" if row["drift_max"] else "no number" for row in table(RODS)}
    bench = {row["integrator"]: row for row in table(SCOREBOARD) if row["case"] == "constant-torque"}
    titles = [
        "name",
        "what",
        "orders",
        "torques a step",
        "conserves",
        "dt for 1e-5",
        "ns a step",
        "energy of rods",
        "source",
    ]
    cells = [titles, ["---"] * len(titles)]
    for s in SCHEMES.values():
        row = bench[s.name]
        step, cost = f"{float(row['dt_for_1e-5_s']):.2e}", f"{float(row['step_cost_ns']):.0f}"
        orders, conserves = f"{s.order_q}, {s.order_omega}", s.conserves.replace("|q|", "length of q")
        evaluations, energy = str(s.torque_evaluations), rods.get(s.name, "refused")
        cells.append([f"`{s.name}`", s.summary, orders, evaluations, conserves, step, cost, energy, s.source])
    lines = "\n".join("| " + " | ".join(line) + " |" for line in cells)
    template = (DOCS / "integrators.template.md").read_text()
    return template.replace("{table}", lines).replace("{own_scheme}", (DOCS / "own_scheme.py").read_text().rstrip())


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measured_rods()
    (DOCS / "integrators.md").write_text(page())
