"""study: one scenario with many combinations of values."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .options import Json, Overwrite, PluginFiles, Processes, Quiet
from .terminal import print_message, stop_signals, study_table

if TYPE_CHECKING:
    from ..study.plan import Cell, Study


def study(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Study directory [default: output/NAME].")] = None,
    plugin: PluginFiles = None,
    resume: Annotated[bool, typer.Option("--resume", help="Run only what is missing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Like --resume, and repeat failed runs.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="AXIS=VALUE", help="Run only matching cells, or these cell numbers; repeatable."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cells and their status.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the run time.")] = False,
    processes: Processes = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Run on this Dask cluster; local starts one on this machine."),
    ] = None,
    array: Annotated[
        str | None, typer.Option("--array", metavar="I/N", help="Run only slice I of N, for job arrays.")
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Join the slices of a job array into one table.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Run a scenario for all combinations of some values.

    The values are those of any scenario keys, such as dt, integrator and seed.
    """
    from ..files.names import default_directory
    from ..machine import processors
    from ..scenario.plugins import load_plugins
    from ..study import conduct as studies
    from ..study.plan import load_study

    plan = load_study(file, load_plugins(plugin or ()))
    out = out or default_directory(plan.name)
    cells = plan.chosen(only) if only else list(plan.cells)
    if list_:
        print_cells(plan, cells, out, json_)
        return
    if dry_run:
        report = studies.estimate(plan, cells, processes or processors())
        if json_:
            print(json.dumps(report))
        elif not quiet:
            print(estimate_table(report, {cell.number: cell.label for cell in cells}))
        return
    received: list[int] = []
    if merge:
        report = studies.merge(plan, out)
    else:
        options = studies.Options(
            part=None if array is None else slice_of(array),
            only=tuple(only or ()),
            resume=resume,
            retry_failed=retry_failed,
            overwrite=overwrite,
            processes=processes,
            dask=dask,
        )
        with stop_signals() as received, study_table(plan.name, quiet) as on_progress:
            report = studies.conduct(plan, out, options, on_progress, stop=lambda: bool(received))
    if json_:
        print(json.dumps(report))
    elif not quiet:
        others = "".join(f", {report[name]} {name}" for name in ("failed", "missing") if report[name])
        print(f"{report['done']} of {report['cells']} runs done{others}\nwritten to    {out}")
    if received and report["missing"]:
        print_message(f"{out}: {report['done']} of {report['cells']} runs done; continue with --resume")
        raise typer.Exit(128 + received[0])
    if report["status"] != "ok":
        remedy = f"minidem study {file} --out {out} --list shows the reasons; --retry-failed repeats failed runs"
        print_message(f"{out}: {report['failed']} runs failed, {report['missing']} are missing; {remedy}")
        raise typer.Exit(1)


def slice_of(text: str) -> tuple[int, int]:
    """The two numbers of --array I/N."""
    first, slash, last = text.partition("/")
    if slash and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise InputError(f"--array {text}: must be I/N with I from 1 to N, as in --array 3/10")


def print_cells(plan: "Study", cells: "list[Cell]", out: Path, json_: bool) -> None:
    """Print the number, status, changes and, where it failed, reason of each cell."""
    from ..study.records import check_identity, read_records

    known = {}
    if (out / "study.json").exists():
        check_identity(out, plan)
        known = read_records(out, len(plan.cells))
    rows = [
        {
            "cell": cell.number,
            **cell.changes,
            **{name: known.get(cell.number, {}).get(name) for name in ("status", "reason")},
        }
        for cell in cells
    ]
    if json_:
        print(json.dumps({"cells": rows}))
        return
    for cell, row in zip(cells, rows, strict=True):
        print(f"{cell.number:>6}  {row['status'] or 'missing':<8} {cell.label}  {row['reason'] or ''}".rstrip())


def estimate_table(report: dict[str, Any], labels: dict[int, str]) -> str:
    """The longest runs of an estimate and the total, as text."""
    rows = sorted(report["cells"], key=lambda row: -row["estimated_s"])
    lines = [f"{'s':>9} {'steps':>12} {'us per step':>11}  cell"]
    lines += [
        f"{row['estimated_s']:>9.3g} {row['steps']:>12} {row['us_per_step']:>11.3g}  {labels[row['cell']]}"
        for row in rows[:20]
    ]
    if len(rows) > 20:
        lines.append(f"... and {len(rows) - 20} shorter runs")
    total = f"{report['cpu_s']:.4g} s in total, about {report['estimated_s']:.4g} s with {report['workers']} processes"
    return "\n".join([*lines, f"{len(rows)} runs, {total}"])
