"""The page of a run: numbers, scene, energies, scenario, links to the data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files.manifest import is_summary, manifest_of
from ...files.trajectory import Trajectory
from ..figures import Plot
from ..run_plots import runs_plot
from .elements import Report, brief, figure_of, folded, links, pairs_table, read, text
from .scene_part import scene_parts

RUN_FILES = ("trajectory.h5", "energy.csv", "manifest.json", "scenario.toml", "resolved.toml")
UNFINISHED = {  # note on a run, by its status
    "running": "was still running, or had been killed, when this page was made: it is shown up to its last frame.",
    "interrupted": "was stopped before its end: it is shown up to its last frame.",
    "failed": "failed: it is shown up to its last frame.",
}


def run_report(directory: Path, out: Path, still: bool = True) -> Report:
    """The content of the page of a run, with links relative to the page `out`."""
    manifest = manifest_of(directory)
    report = Report(f"minidem run {directory.resolve().name}")
    trajectory: Trajectory | None = None
    why = ""
    try:
        trajectory = Trajectory(directory)
    except InputError as error:
        if "minidem" not in manifest:  # not a run of minidem
            raise
        why = str(error)
    energies: Plot | None = None
    why_no_energies = ""
    try:
        energies = runs_plot([directory])
    except (InputError, OSError) as error:
        why_no_energies = str(error)

    status = str(manifest.get("status", "running"))
    unfinished = [report.note(f"This run {UNFINISHED[status]}")] if status in UNFINISHED else []
    numbers = run_numbers(manifest, trajectory, energies)
    report.add("Summary", *unfinished, pairs_table(numbers))
    if trajectory is not None:
        report.add("Scene", *scene_parts(report, directory, trajectory, still))
    else:
        report.add("Scene", report.note(f"There is no scene: {why}"))
    if energies is not None:
        report.add("Energy", figure_of(energies, "Energies over time, and their relative deviation"))
    else:
        report.add("Energy", report.note(f"There is no plot: {why_no_energies}"))
    report.add("Scenario", *scenario_parts(directory, trajectory))
    report.add("Data", links([directory / name for name in RUN_FILES], out))
    if trajectory is not None:
        trajectory.close()
    return report


def run_numbers(manifest: Mapping[str, Any], trajectory: Trajectory | None, energies: Plot | None) -> dict[str, str]:
    """Names and values of the summary: from the manifest if the run ended, otherwise from what it has written so far."""
    known: dict[str, Any] = {}
    if trajectory is not None:
        sizes = [len(clump.spheres) for clump in trajectory.clumps]
        known |= {"bodies": len(trajectory.species), "spheres": sum(sizes[k] for k in trajectory.species)}
    if energies is not None:
        own = energies.report["runs"][0]
        known |= {name: own[name] for name in ("integrator", "dt", "time", "drift_mean", "drift_last", "drift_max")}
        known |= {"steps": energies.data["step"][-1], "initial": own["energy_initial"], "final": energies.data["total"][-1]}
    if is_summary(summary := manifest.get("summary")):
        known |= summary | summary["energy"] | {"time": summary["steps"] * summary["dt"]}
        if isinstance(edges := summary.get("edges"), dict):
            known |= edges
    known |= {name: manifest.get(name) for name in ("seed", "threads")}
    versions = {"minidem": manifest.get("minidem"), "Python": manifest.get("python")}
    if isinstance(libraries := manifest.get("versions"), dict):
        versions |= libraries
    rows = {
        "status": str(manifest.get("status", "running")),
        "bodies": value_of(known, "bodies"),
        "spheres": value_of(known, "spheres"),
        "integrator": value_of(known, "integrator"),
        "time step": value_of(known, "dt", "s"),
        "steps": value_of(known, "steps"),
        "simulated time": value_of(known, "time", "s"),
        "energy at the start": value_of(known, "initial", "J"),
        "energy at the end": value_of(known, "final", "J"),
        "energy drift, mean": value_of(known, "drift_mean"),
        "energy drift, last": value_of(known, "drift_last"),
        "energy drift, max": value_of(known, "drift_max"),
        "contacts entered": value_of(known, "contacts_entered"),
        "edges of contacts": value_of(known, "edges"),
        "energy error of the edges / initial energy": value_of(known, "error"),
        "bounded error within contacts": value_of(known, "bounded"),
        "wall time": value_of(known, "wall_s", "s"),
        "time per step": value_of(known, "us_per_step", "µs"),
        "set-up": value_of(known, "compile_s", "s"),
        "seed": value_of(known, "seed"),
        "threads": value_of(known, "threads"),
        "started": value_of(manifest, "started"),
        "ended": value_of(manifest, "ended"),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items() if number),
        "platform": value_of(manifest, "platform"),
    }
    return {name: value for name, value in rows.items() if value}


def value_of(known: Mapping[str, Any], name: str, unit: str = "") -> str:
    """A value with its unit; empty if it is unknown."""
    value = known.get(name)
    if value is None:
        return ""
    return f"{brief(value)} {unit}".rstrip()


def scenario_parts(directory: Path, trajectory: Trajectory | None) -> list[str]:
    """The scenario as given, and with every default."""
    if trajectory is not None:
        given, resolved = trajectory.scenario, trajectory.resolved
    else:
        given, resolved = (read(directory / name) for name in ("scenario.toml", "resolved.toml"))
    return [f"<pre>{text(given)}</pre>", folded("With every default filled in", f"<pre>{text(resolved)}</pre>")]
