"""A study with invented results: nothing is run."""

from command import BOX

from minidem.study.plan import parse_study
from minidem.study.records import Records, prepare_directory

STUDY = """\
scenario = "box.toml"
[axes]
dt = [1e-5, 2e-5, 4e-5]
integrator = ["spiral", "buss"]
seed = [0, 1]
"""


def invented_study(directory):
    """sweep.toml, its box.toml, and sweep/: twelve runs, one of which failed and one of which is missing."""
    (directory / "box.toml").write_text(BOX)
    (directory / "sweep.toml").write_text(STUDY)
    made = parse_study(STUDY, "sweep.toml", directory)
    prepare_directory(directory / "sweep", made)
    with Records(directory / "sweep" / "records.jsonl") as records:
        for cell in made.cells[:-1]:
            dt = cell.changes["time.dt"]
            deviation = dt**2 if cell.changes["integrator.rotation"] == "spiral" else 1e-3 * dt
            drifts = {f"drift_{name}": deviation for name in ("mean", "last", "max")}
            status = {"status": "failed", "reason": "it blew up"} if cell.number == 0 else {"status": "ok", "reason": ""}
            records.add({"cell": cell.number, **status, "dt": dt, "dt_rayleigh": dt / 2e-4, **drifts})
    return directory / "sweep"
