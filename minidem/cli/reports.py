"""plot, report, export: figures, an HTML page and other file formats, from runs and studies."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Json, Overwrite, Quiet
from .terminal import print_message


def plot(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="One study directory, or run directories.", show_default=False)
    ],
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="M",
            help="Deviation plotted for a study: mean, last, max, free (in rows without contacts) or paper (the smaller of "
            "mean and last) [default: mean].",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write FILE.pdf, .svg or .png (300 dpi) by its ending, or .png and .svg without, and FILE.csv "
            "[default: DIR/plot, or energy for several runs].",
        ),
    ] = None,
    columns: Annotated[
        int | None, typer.Option("--columns", metavar="N", help="As wide as 1 or 2 columns of a page: 85 or 175 mm.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="TEXT", help="Name of a run in the legend; repeatable, one for each DIR, in order."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title; empty for none.")] = None,
    xlim: Annotated[str | None, typer.Option("--xlim", metavar="LOW:HIGH", help="Ends of the x axis.")] = None,
    ylim: Annotated[
        str | None, typer.Option("--ylim", metavar="LOW:HIGH", help="Ends of the y axis of the deviation.")
    ] = None,
    xlabel: Annotated[str | None, typer.Option("--xlabel", metavar="TEXT", help="Label of the x axis.")] = None,
    ylabel: Annotated[
        str | None, typer.Option("--ylabel", metavar="TEXT", help="Label of the y axis of the deviation.")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Plot the energy error of a study, or the energies of runs.

    For a study, plots the energy deviation against the time step, with slopes;
    for runs, the energies over time. Writes a figure, and its data as CSV.
    """
    from ..views.plots import formats_of, layout_of, plot_of, stem_of, write

    drawn = plot_of(directories, measure, layout_of(columns, title, xlim, ylim, xlabel, ylabel), label or ())
    files = [str(file) for file in write(drawn, stem_of(directories, out, overwrite), formats_of(out))]
    if json_:
        print(json.dumps({"files": files, **drawn.report}))
    elif not quiet:
        print(lines_table(drawn.report) if "lines" in drawn.report else runs_table(drawn.report))
        print(f"written to    {', '.join(files)}")


def lines_table(report: Mapping[str, Any]) -> str:
    """The lines of the plot of a study as text: points, runs, slope, smallest and largest deviation."""
    failed = f" ({report['failed']} failed, not plotted)" if report["failed"] else ""
    width = max(len(line["label"]) for line in report["lines"])
    rows = [
        f"study         {report['study']}: {report['ended']} of {report['cells']} runs finished{failed}",
        f"measure       {report['measure']} deviation against {report['x']}",
        f"Rayleigh time {brief(report['rayleigh_time'])} s\n",
        f"{'':<{width}}  points  runs  failed  slope  smallest   largest",
    ]
    for line in report["lines"]:
        means = [point["mean"] for point in line["points"] if point["mean"] is not None]
        runs, failures = (sum(point[name] for point in line["points"]) for name in ("runs", "failed"))
        slope = "-" if line["slope"] is None else f"{line['slope']:.2f}"
        ends = f"{brief(min(means, default=None)):>8}  {brief(max(means, default=None)):>8}"
        rows.append(f"{line['label']:<{width}}  {len(means):>6}  {runs:>4}  {failures:>6}  {slope:>5}  {ends}")
    return "\n".join(rows)


def runs_table(report: Mapping[str, Any]) -> str:
    """Status, time and energy drifts of runs as text."""
    width = max(len(run["label"]) for run in report["runs"])
    rows = [f"{'':<{width}}  {'status':<11}    time s      mean      last       max"]
    for run in report["runs"]:
        numbers = "  ".join(f"{brief(run[name]):>8}" for name in ("time", "drift_mean", "drift_last", "drift_max"))
        rows.append(f"{run['label']:<{width}}  {run['status']:<11}  {numbers}")
    return "\n".join(rows)


def brief(value: float | None) -> str:
    """Three digits, or "-" for None."""
    return "-" if value is None else f"{value:.3g}"


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="Run directory or study directory.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="HTML file [default: DIR/report.html].")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Summarise a run or a study on one HTML page.

    The page has the numbers, a plot, the scenario and an interactive 3-D view.
    """
    from ..views.report.page import write_report

    made = write_report(directory, out, overwrite)
    if json_:
        print(json.dumps(made))
    elif not quiet:
        print("\n".join(made["notes"] + [f"written to    {made['file']}, {made['bytes'] / 1e6:.2f} MB"]))


def export(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or its trajectory.h5.", show_default=False)],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help="vtkhdf, vtp, xyz, csv or gsd [default: from the ending of --out]."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Output file [default: RUN/NAME.SUFFIX].")
    ] = None,
    frames: Annotated[
        str, typer.Option("--frames", metavar="LIST", help="Frames, such as 0,5,-1 or 0:100:10; : is all.")
    ] = ":",
    bodies: Annotated[str, typer.Option("--bodies", metavar="LIST", help="Bodies, such as 0:10,15; : is all.")] = ":",
    species: Annotated[
        list[str] | None, typer.Option("--species", metavar="CLUMP", help="Only bodies of this clump; repeatable.")
    ] = None,
    what: Annotated[
        str, typer.Option("--what", metavar="W", help="What the points are: spheres or bodies (centres of mass).")
    ] = "spheres",
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Export a run for ParaView, OVITO or a spreadsheet.

    Formats: vtkhdf and vtp (ParaView), xyz and gsd (OVITO), csv.
    """
    from ..views.export.writing import export_run

    report = export_run(run_dir, out, format_, frames, bodies, species or (), what, overwrite)
    if report["note"]:
        print_message(report["note"])
    if json_:
        print(json.dumps(report))
    elif not quiet:
        print(f"frames        {report['frames']}, from {report['first_time']:.6g} to {report['last_time']:.6g} s")
        print(f"points        {report['points']} {report['what']}")
        if report["middle"]:
            print("positions     relative to ({:.6g}, {:.6g}, {:.6g}) m, the middle of the box".format(*report["middle"]))
        several = f" and {report['files'] - 1} frames beside it" if report["files"] > 1 else ""
        print(f"written to    {report['file']}{several}, {report['bytes'] / 1e6:.3g} MB")
