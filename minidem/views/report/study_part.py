"""The page of a study: numbers, energy deviations, failed runs, a scene, links to the data."""

import json
from pathlib import Path

from ...errors import InputError
from ...files.trajectory import Trajectory
from ...study.identity import cells_of, identity_of, scenario_of
from ...study.records import read_records, record_files
from ..study_plots import study_plot
from .elements import Report, brief, figure_of, folded, links, pairs_table, read, table, text
from .scene_part import scene_parts

STUDY_FILES = ("table.csv", "timing.csv", "study.toml", "study.json")


def study_report(directory: Path, out: Path, still: bool = True) -> Report:
    """The content of the page of a study, with links relative to the page `out`."""
    identity = identity_of(directory)
    cells, (scenario, _) = cells_of(identity), scenario_of(directory, identity)
    records = read_records(directory, len(cells))
    report = Report(f"minidem study {identity['name'] or directory.resolve().name}")
    done = sum(record["status"] == "ok" for record in records.values())
    missing = len(cells) - len(records)
    unfinished = [report.note(f"{missing} of {len(cells)} runs had not ended when this page was made.")] if missing else []
    numbers = {"runs": len(cells), "done": done, "failed": len(records) - done, "missing": missing}
    wall = sum(record.get("wall_s") or 0.0 for record in records.values())
    axes = {axis: {json.dumps(cell.changes[axis]) for cell in cells} for axis in identity["axes"]}
    varied = ", ".join(f"{axis} ({len(values)} value{'s' if len(values) > 1 else ''})" for axis, values in axes.items())
    rows = {name: str(number) for name, number in numbers.items()} | {
        "varied": varied,
        "wall time of all runs": f"{wall:.6g} s",
    }
    report.add("Summary", *unfinished, pairs_table(rows))
    report.add("Energy deviation", *deviation_parts(report, directory))
    failures = [
        [text(cell.number), text(cell.label), f'<td class="long">{text(records[cell.number].get("reason") or "")}</td>']
        for cell in cells
        if cell.number in records and records[cell.number]["status"] != "ok"
    ]
    if failures:
        report.add("Failed runs", table(["cell", "changes", "reason"], failures))
    for run in sorted(directory.glob("runs/*")):
        try:
            with Trajectory(run) as trajectory:
                if len(trajectory):
                    said = f'<p class="faint">{text(run.relative_to(directory))}, the first run that was kept.</p>'
                    report.add("Scene", said, *scene_parts(report, run, trajectory, still))
                    break
        except (InputError, OSError):
            continue
    report.add(
        "Study",
        f"<pre>{text(read(directory / 'study.toml'))}</pre>",
        folded("The scenario, with every default filled in", f"<pre>{text(scenario)}</pre>"),
    )
    report.add("Data", links([*(directory / name for name in STUDY_FILES), *record_files(directory)], out))
    return report


def deviation_parts(report: Report, directory: Path) -> list[str]:
    """The plot of the energy deviations, its slopes and its numbers."""
    try:
        plot = study_plot(directory)
    except InputError as error:
        return [report.note(f"There is no plot: {error}")]
    slopes = [
        [text(line["label"]), "" if line["slope"] is None else f"{line['slope']:.2f}"] for line in plot.report["lines"]
    ]
    points = [[text(brief(value)) for value in row] for row in zip(*plot.data.values(), strict=True)]
    return [
        figure_of(plot, "Energy deviation against what varies"),
        table(["", "slope"], slopes),
        folded("The numbers of the plot", table(list(plot.data), points)),
    ]
