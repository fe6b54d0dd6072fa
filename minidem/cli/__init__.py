"""The command line: parses and prints, nothing else. Heavy imports happen inside the commands that need them."""

import contextlib
import functools
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, WriteError

if TYPE_CHECKING:
    from ..files.trajectory import Trajectory
    from ..reproduce.outcome import Outcome
    from ..running.conduct import Progress, Result
    from ..scenario.tables import Scenario
    from ..study.conduct import Progress as StudyProgress
    from ..study.plan import Cell, Study

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Rigid clumps of spheres bouncing in a box, with a choice of rotational integrators.",
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a key of the scenario; repeatable.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the random placement.")]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="Threads [as many as help]; results do not depend on it.")
]
CheckpointEvery = Annotated[
    float, typer.Option("--checkpoint-every", metavar="S", min=0, help="Seconds of wall time between two checkpoints.")
]
MaxWall = Annotated[
    str | None,
    typer.Option("--max-wall", metavar="T", help="Stop in time, with a checkpoint: 2h, 90m, 1h30m, or seconds."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no summary.")]


def loaded(path: Path, changes: list[str] | None, seed: int | None) -> tuple["Scenario", str]:
    """The scenario, changed, and the text of its file."""
    from ..scenario.tables import parse, read_text

    text = read_text(path)
    return parse(text, path.name, path.parent, [*(changes or []), *([] if seed is None else [f"seed={seed}"])]), text


@app.command()
def run(
    scenario: ScenarioFile,
    set_: Set = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run directory [output/NAME].")] = None,
    seed: Seed = None,
    threads: Threads = None,
    checkpoint_every: CheckpointEvery = 60.0,
    max_wall: MaxWall = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in the same directory.")] = False,
) -> None:
    """Run a scenario and record its trajectory and energies."""
    limit = seconds(max_wall)
    chosen, text = loaded(scenario, set_, seed)
    from ..files.names import default_directory
    from ..running.conduct import run

    out = out or default_directory(chosen.name)
    announce_compiling(chosen, quiet)
    with stop_signals() as received, progress_bar(chosen.name, quiet) as on_progress:
        result = run(
            chosen,
            out,
            overwrite=overwrite,
            source=scenario.name,
            text=text,
            threads=threads,
            checkpoint_every=checkpoint_every,
            max_wall=limit,
            on_progress=on_progress,
            on_note=told,
            stop=lambda: bool(received),
        )
    end_of_run(result, scenario.name, received, json_, quiet)


@app.command()
def resume(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    threads: Threads = None,
    checkpoint_every: CheckpointEvery = 60.0,
    max_wall: MaxWall = None,
    force: Annotated[
        bool, typer.Option("--force", help="Go on with another version or processor, if not to the last bit.")
    ] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped or killed, from its last checkpoint, as if it had never stopped."""
    limit = seconds(max_wall)
    from ..running.conduct import resume

    with stop_signals() as received, progress_bar(run_dir.name, quiet) as on_progress:
        result = resume(
            run_dir,
            threads=threads,
            force=force,
            checkpoint_every=checkpoint_every,
            max_wall=limit,
            on_progress=on_progress,
            on_note=told,
            stop=lambda: bool(received),
        )
    end_of_run(result, str(run_dir), received, json_, quiet)


def told(note: str) -> None:
    print(note, file=sys.stderr, flush=True)


def end_of_run(result: "Result", name: str, received: list[int], json_: bool, quiet: bool) -> None:
    """Prints the summary; the exit code tells how it ended."""
    summary = result.summary
    if json_:
        print(json.dumps(summary))
    elif not quiet:
        print(run_table(summary))
    if summary["status"] == "failed":
        print(f"{name}: {result.reason}", file=sys.stderr)
        raise typer.Exit(3)
    if summary["status"] == "interrupted":
        print(f"stopped after {summary['steps']} steps; go on with: minidem resume {summary['run_dir']}", file=sys.stderr)
        raise typer.Exit(128 + received[0] if received else 0)


def seconds(text: str | None) -> float:
    """Of a time such as 1h30m, 90m or 5400; none: no limit."""
    if text is None:
        return math.inf
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d*)?)s?)?", text)
    if not parts or not any(parts.groups()):
        raise InputError(f"--max-wall {text}: must be a time such as 2h, 1h30m, 90m or 45s")
    hours, minutes, rest = (float(part or 0) for part in parts.groups())
    return 3600 * hours + 60 * minutes + rest


def announce_compiling(scenario: "Scenario", quiet: bool) -> None:
    from ..running.given import compiled_mark

    if not quiet and not compiled_mark(scenario).exists():
        kernels = f"kernels for {scenario.integrator.rotation}"
        print(f"compiling {kernels}, once: takes up to half a minute ...", file=sys.stderr, flush=True)


def run_table(summary: dict[str, Any]) -> str:
    energy = {
        name: "none" if value is None else f"{value:.{3 if 'drift' in name else 6}g}"
        for name, value in summary["energy"].items()
    }
    rows = {
        "bodies": f"{summary['bodies']} of {summary['spheres']} spheres in all",
        "integrator": f"{summary['integrator']}, dt {summary['dt']:.4g} s",
        "steps": f"{summary['steps']} in {summary['wall_s']:.2f} s, {summary['us_per_step']:.2f} us a step",
        "set-up": f"{summary['compile_s']:.2f} s",
        "energy": "{initial} J at the start, {final} J at the end".format(**energy),
        "energy drift": "mean {drift_mean}, last {drift_last}, max {drift_max}".format(**energy),
        "written to": summary["run_dir"],
        "status": summary["status"],
    }
    return "\n".join(f"{name:<13} {value}" for name, value in rows.items())


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM, so that the step is finished and files are closed; a second one ends at once."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell had it ignored, as for background jobs
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    previous: dict[int, Any] = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def progress_bar(name: str, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """A bar with the time left and the energy drift, on stderr, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("energy drift {task.fields[drift]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, drift="")

        def show(progress: "Progress") -> None:
            bar.update(task, completed=progress.step, total=progress.steps, drift=f"{progress.drift:.1e}")

        yield show


@app.command()
def check(
    scenario: ScenarioFile,
    set_: Set = None,
    seed: Seed = None,
    threads: Threads = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Validate a scenario without running it: sizes, masses, time scales, and how long it would take."""
    chosen, _ = loaded(scenario, set_, seed)
    from ..running.outlook import outlook

    announce_compiling(chosen, quiet)
    report = outlook(chosen, scenario.name, threads)
    if json_:
        print(json.dumps(report))
    if json_ or quiet:
        return
    for note in report["notes"]:
        told(note)
    contact = "none" if report["dt_hertz"] is None else f"{report['dt_hertz']:.3g}"
    print(f"bodies        {report['bodies']} of {report['spheres']} spheres in all")
    print(f"memory        about {report['memory_mb']:.1f} MB")
    print(f"dt            {report['dt']:.4g} s: {report['dt_rayleigh']:.3g} Rayleigh times, {contact} Hertz contact times")
    print(f"a good dt     {report['dt_good']:.2g} s or less")
    print(f"steps         {report['steps']}, about {report['estimated_s']:.3g} s at {report['us_per_step']:.3g} us a step")
    print(f"\n{'clump':<12} {'spheres':>7} {'mass kg':>11} {'volume m3':>11}   principal moments kg m2")
    for name, clump in report["clumps"].items():
        moments = " ".join(f"{moment:.4e}" for moment in clump["principal_inertia"])
        print(f"{name:<12} {clump['spheres']:>7} {clump['mass']:>11.4e} {clump['volume']:>11.4e}   {moments}")


@app.command()
def integrators(json_: Json = False) -> None:
    """The catalogue of rotational integrators."""
    from ..engine.rotation.registry import SCHEMES

    rows = [
        {
            "name": scheme.name,
            "order": scheme.order,
            "torque_evaluations": scheme.torque_evaluations,
            "usable_in": scheme.usable_in,
            "summary": scheme.summary,
            "source": scheme.source,
        }
        for scheme in SCHEMES.values()
    ]
    if json_:
        print(json.dumps({"integrators": rows}))
        return
    print(f"{'name':<17}{'order':<6}{'torques':<9}{'usable in':<15}{'what':<48}source")
    for row in rows:
        print("{name:<17}{order:<6}{torque_evaluations:<9}{usable_in:<15}{summary:<48}{source}".format(**row))


@app.command()
def rotor(
    case: Annotated[str | None, typer.Argument(metavar="CASE", help="See --list.", show_default=False)] = None,
    integrator: Annotated[str, typer.Option("--integrator", metavar="NAME", help="See minidem integrators.")] = "spiral",
    dt: Annotated[float | None, typer.Option("--dt", metavar="DT", help="Time step, s [the case's own].")] = None,
    end: Annotated[float | None, typer.Option("--end", metavar="T", help="Time to end at, s [the case's own].")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw it: .png, .svg or .pdf.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier picture.")] = False,
) -> None:
    """One rigid body (or two) under a given torque, against an analytic or reference solution."""
    from ..rotor.bench import run
    from ..rotor.cases import CASES

    if list_:
        rows = [{"name": c.name, "source": c.source, "end": c.end, "dt": c.dt, "summary": c.summary} for c in CASES.values()]
        if json_:
            print(json.dumps({"cases": rows}))
        else:
            print(f"{'case':<19}{'end s':<8}{'dt s':<8}{'source':<30}what")
            print("\n".join(f"{c.name:<19}{c.end:<8g}{c.dt:<8g}{c.source:<30}{c.summary}" for c in CASES.values()))
        return
    if case is None:
        raise InputError("CASE: name one, as in: minidem rotor constant-torque --integrator spiral; --list shows them")
    if plot is not None:
        from ..views.motion import draw

        draw(case, integrator, dt, end, plot, overwrite)
    result = run(case, integrator, dt, end)
    stable = result["error"] is not None
    if json_:
        print(json.dumps(result))
    elif not quiet:
        print(f"case          {result['case']}, {CASES[case].source}: {CASES[case].summary}")
        print(f"integrator    {integrator}, dt {result['dt']:.6g} s, {result['steps']} whole steps to {result['time']:g} s")
        if stable:
            print(rotor_table(result, conserved=CASES[case].potential is not None))
        if plot is not None:
            print(f"picture       {plot}")
    if not stable:
        print("--dt: the motion is no longer a number: unstable at this step; take a smaller one", file=sys.stderr)
        raise typer.Exit(3)


def rotor_table(result: dict[str, Any], conserved: bool) -> str:
    energy = "not conserved here"
    if conserved:
        largest, last = (
            "too large" if e is None else f"{e:.4g}" for e in (result["energy_error_max"], result["energy_error_last"])
        )
        energy = f"max {largest}, last {last}"
    rows = [
        f"error         {result['error']:.4g} (q {result['error_q']:.4g}, omega {result['error_omega']:.4g}; relative L1)",
        f"energy error  {energy}",
    ]
    for axis, q, omega in zip(result["axis"], result["q"], result["omega"], strict=True):
        rows += [
            "orientation   q = ({:.9f}, {:.9f}, {:.9f}, {:.9f})".format(*q),
            "              axis x -> ({:.6f}, {:.6f}, {:.6f})".format(*(value + 0.0 for value in axis)),
            "omega         ({:.9g}, {:.9g}, {:.9g}) rad/s, principal axes".format(*omega),
        ]
    return "\n".join(rows)


@app.command()
def reproduce(
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET...", help="See --list.", show_default=False)] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the targets.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points and shorter runs.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the folders of the targets go.")] = Path(
        "output/reproduce"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the studies that are there; other results are replaced.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="Runs of a study at a time [one a processor].")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier results.")] = False,
) -> None:
    """A published table or figure: CSV, PNG and SVG, and a table published / measured / ratio."""
    from ..reproduce import STUDIES, TARGETS, chosen, reproduced, title_of

    if list_:
        titles = {target: title_of(target) for target in TARGETS}
        if json_:
            print(json.dumps({"targets": titles}))
        else:
            print("\n".join(f"{target:<17}{title}" for target, title in titles.items()))
        return
    reports = {}
    for target in chosen(targets or [], all_, out, overwrite, resume):
        if not quiet:
            print(f"{target}: {title_of(target)} ...", file=sys.stderr, flush=True)
        if target in STUDIES:
            outcome = reproduced_by_studies(target, quick, out / target / "study", overwrite, processes, quiet)
        else:
            outcome = reproduced(target, quick)
        files = outcome.write(out / target, target)
        reports[target] = {"title": title_of(target), "files": [str(file) for file in files], **outcome.as_dict()}
        if not json_ and not quiet:
            print(f"{target}: {title_of(target)}\n{outcome.table()}\nwritten to {out / target}\n", flush=True)
    if json_:
        print(json.dumps(reports))


def reproduced_by_studies(
    target: str, quick: bool, directory: Path, overwrite: bool, processes: int | None, quiet: bool
) -> "Outcome":
    from ..reproduce import reproduced
    from ..reproduce.studies import Failed, Interrupted, Studies

    with stop_signals() as received:
        shown = functools.partial(study_table, quiet=quiet)
        try:
            outcome = reproduced(target, quick, Studies(directory, overwrite, processes, shown, lambda: bool(received)))
            if received:  # while it was drawn
                raise Interrupted(f"{directory}: all runs are done")
            return outcome
        except Interrupted as stopped:
            if not quiet:
                print(f"{stopped}; go on with --resume", file=sys.stderr)
            raise typer.Exit(128 + received[0]) from None
        except Failed as failed:
            print(f"{directory}: {failed}; --overwrite runs all of them again", file=sys.stderr)
            raise typer.Exit(1) from None


@app.command()
def study(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Study directory [output/NAME].")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Do what is missing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="The same, and what failed once more.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="AXIS=VALUE", help="These cells, or numbers of cells; repeatable.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cells and what became of them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate how long it takes.")] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="Runs at a time [one a processor].")
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="On a Dask cluster; local starts one here.")
    ] = None,
    array: Annotated[str | None, typer.Option("--array", metavar="I/N", help="Slice I of N alone, for job arrays.")] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Join the slices in one table.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Forget what is there and start anew.")] = False,
) -> None:
    """Run a scenario for every combination of values of its keys, such as dt, integrator and seed."""
    from ..files.names import default_directory
    from ..study import conduct as studies
    from ..study.plan import load_study

    plan = load_study(file)
    out = out or default_directory(plan.name)
    cells = plan.chosen(only) if only else list(plan.cells)
    if list_:
        print_cells(plan, cells, out, json_)
        return
    if dry_run:
        report = studies.estimate(plan, cells, processes or studies.processors())
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
        counts = ", ".join(
            f"{report[name]} {name}" for name in ("done", "failed", "missing") if report[name] or name == "done"
        )
        print(f"runs          {report['cells']}: {counts}\nwritten to    {out}")
    if received and report["missing"]:
        print(f"{out}: {report['done']} of {report['cells']} runs are done; go on with --resume", file=sys.stderr)
        raise typer.Exit(128 + received[0])
    if report["status"] != "ok":
        remedy = f"minidem study {file} --out {out} --list tells why; --retry-failed tries again"
        print(f"{out}: {report['failed']} runs failed, {report['missing']} are missing; {remedy}", file=sys.stderr)
        raise typer.Exit(1)


def slice_of(text: str) -> tuple[int, int]:
    first, slash, last = text.partition("/")
    if slash and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise InputError(f"--array {text}: must be I/N with I from 1 to N, as in --array 3/10")


def print_cells(plan: "Study", cells: "list[Cell]", out: Path, json_: bool) -> None:
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
    """The cells that take longest, and the whole."""
    rows = sorted(report["cells"], key=lambda row: -row["estimated_s"])
    lines = [f"{'s':>9} {'steps':>12} {'us a step':>10}  cell"]
    lines += [
        f"{row['estimated_s']:>9.3g} {row['steps']:>12} {row['us_per_step']:>10.3g}  {labels[row['cell']]}"
        for row in rows[:20]
    ]
    if len(rows) > 20:
        lines.append(f"... and {len(rows) - 20} shorter ones")
    total = f"{report['cpu_s']:.4g} s of runs, about {report['estimated_s']:.4g} s on {report['workers']} processes"
    return "\n".join([*lines, f"{len(rows)} cells, {total}"])


@contextlib.contextmanager
def study_table(name: str, quiet: bool) -> Iterator[Callable[["StudyProgress"], None]]:
    """A live table of what is done, running, failed, and the time left, on stderr, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:

        def show(progress: "StudyProgress") -> None:
            table = Table("study", "done", "running", "failed", "time left")
            left = "" if progress.left_s is None else f"{progress.left_s / 60:.0f} min {progress.left_s % 60:.0f} s"
            done = f"{progress.done} of {progress.cells}"
            table.add_row(name, done, str(progress.running), str(progress.failed), left)
            live.update(table)

        yield show


@app.command()
def clump(
    mesh: Annotated[Path, typer.Argument(metavar="MESH", help="A closed mesh: .stl, .obj or .ply.", show_default=False)],
    spheres: Annotated[int, typer.Option("--spheres", metavar="N", min=1, max=10_000, help="How many at most.")] = 100,
    min_radius: Annotated[float, typer.Option("--min-radius", metavar="R", min=0, help="Of the smallest sphere, m.")] = 0.0,
    target_error: Annotated[
        float, typer.Option("--target-error", metavar="E", min=0, max=1, help="Part of the volume that may be left out.")
    ] = 0.0,
    scale: Annotated[float, typer.Option("--scale", metavar="S", help="Metres in a unit of the mesh.")] = 1.0,
    density: Annotated[float, typer.Option("--density", metavar="D", help="kg/m3, for the report.")] = 1000.0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.csv", help="Where to write [MESH.csv].")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier file.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a clump of spheres to a surface mesh; writes a CSV for scenarios and a picture of both."""
    from ..shapes.fitting import fitted_file

    report = fitted_file(mesh, out, spheres, min_radius, target_error, scale, density, overwrite)
    if json_:
        print(json.dumps(report))
    if json_ or quiet:
        return
    print(f"spheres       {report['spheres']}, radii from {report['smallest_radius']:.4g} m")
    print(f"mass          {report['mass']:.5g} kg, volume {report['volume']:.5g} m3")
    for name, error in report["errors"].items():
        print(f"{name.replace('_', ' '):<13} {error:.3g}")
    print(f"written to    {report['file']}\npicture       {report['picture']}")


@app.command()
def plot(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="A study directory, or run directories.", show_default=False)
    ],
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="M", help="Of a study: mean, last, max or paper [mean].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="STEM", help="Of STEM.png, .svg and .csv [DIR/plot; of several: energy].")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier files.")] = False,
) -> None:
    """Energy deviation against the time step of a study, or energies of runs over time: PNG, SVG and CSV."""
    from ..views.plots import plot_of, stem_of, write

    drawn = plot_of(directories, measure)
    files = [str(file) for file in write(drawn, stem_of(directories, out, overwrite))]
    if json_:
        print(json.dumps({"files": files, **drawn.report}))
    elif not quiet:
        print(lines_table(drawn.report) if "lines" in drawn.report else runs_table(drawn.report))
        print(f"written to    {', '.join(files)}")


def lines_table(report: Mapping[str, Any]) -> str:
    failed = f", {report['failed']} of them failed and left out" if report["failed"] else ""
    width = max(len(line["label"]) for line in report["lines"])
    rows = [
        f"study         {report['study']}: {report['ended']} of {report['cells']} runs are in{failed}",
        f"measure       {report['measure']}, against {report['x']}",
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
    width = max(len(run["label"]) for run in report["runs"])
    rows = [f"{'':<{width}}  {'status':<11}    time s      mean      last       max"]
    for run in report["runs"]:
        numbers = "  ".join(f"{brief(run[name]):>8}" for name in ("time", "drift_mean", "drift_last", "drift_max"))
        rows.append(f"{run['label']:<{width}}  {run['status']:<11}  {numbers}")
    return "\n".join(rows)


def brief(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


@app.command()
def view(
    run_dir: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run directory, or a scenario to see its start.", show_default=False)
    ],
    frame: Annotated[int | None, typer.Option("--frame", metavar="N", help="Which frame; -1 is the last [0].")] = None,
    time: Annotated[float | None, typer.Option("--time", metavar="T", help="The frame nearest to a time, s.")] = None,
    colour: Annotated[
        str, typer.Option("--colour", metavar="FIELD", help="species, body, speed, spin or energy.")
    ] = "species",
    spheres: Annotated[bool, typer.Option("--spheres", help="The spheres of chess pieces, not their surfaces.")] = False,
    screenshot: Annotated[
        Path | None, typer.Option("--screenshot", metavar="FILE.png", help="Write a picture, open no window.")
    ] = None,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="Of the picture, pixels.")] = "1200x1000",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier picture.")] = False,
) -> None:
    """Show a run, or how a scenario starts: a window with a time slider, or a picture."""
    from ..views import scene as render

    if frame is not None and time is not None:
        raise InputError("--time: give a frame or a time, not both")
    if screenshot is not None:
        render.check_picture(screenshot, overwrite)
    render.check_colour(colour)
    render.choose_window(interactive=screenshot is None)
    with to_see(run_dir) as trajectory:
        chosen = render.frame_at(trajectory, frame, time, str(run_dir))
        if screenshot is not None:
            render.picture(trajectory, chosen, screenshot, colour, spheres, pixels(size))
        else:
            render.Viewer(trajectory, chosen, colour, spheres).plotter.show()


def to_see(run: Path) -> "Trajectory":
    """The trajectory of a run, or the start of a scenario."""
    if run.suffix == ".toml":
        chosen, text = loaded(run, None, None)
        from ..running.conduct import initial_state

        return initial_state(chosen, run.name, text)
    from ..files.trajectory import Trajectory

    return Trajectory(run)


def pixels(text: str) -> tuple[int, int]:
    width, x, height = text.partition("x")
    if x and width.isdecimal() and height.isdecimal() and 16 <= int(width) <= 8000 and 16 <= int(height) <= 8000:
        return int(width), int(height)
    raise InputError(f"--size {text}: must be WIDTHxHEIGHT in pixels, 16 to 8000 each, as in 1920x1080")


@app.command()
def report(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN|STUDY", help="A run directory, or a study directory.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="The page [DIR/report.html].")] = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier page.")] = False,
) -> None:
    """A run or a study as one HTML page: numbers, plot, scenario and a scene that turns with the mouse."""
    from ..views.report.page import write_report

    made = write_report(directory, out, overwrite)
    if json_:
        print(json.dumps(made))
    elif not quiet:
        print("\n".join(made["notes"] + [f"written to    {made['file']}, {made['bytes'] / 1e6:.2f} MB"]))


@app.command()
def export(
    run_dir: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run directory or its trajectory.h5.", show_default=False)
    ],
    format_: Annotated[
        str | None, typer.Option("--format", metavar="F", help="vtkhdf, vtp, xyz, csv or gsd [as --out ends].")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write [RUN/NAME.SUFFIX].")] = None,
    frames: Annotated[str, typer.Option("--frames", metavar="LIST", help="Such as 0,5,-1 or 0:100:10 [all].")] = ":",
    bodies: Annotated[str, typer.Option("--bodies", metavar="LIST", help="Such as 0:10,15 [all].")] = ":",
    species: Annotated[
        list[str] | None, typer.Option("--species", metavar="CLUMP", help="Of these only; repeatable.")
    ] = None,
    what: Annotated[str, typer.Option("--what", metavar="W", help="Points: spheres, or the centres of bodies.")] = "spheres",
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier file.")] = False,
) -> None:
    """Write a run for ParaView (vtkhdf, vtp), OVITO (xyz, gsd) or a spreadsheet (csv)."""
    from ..views.export.writing import export_run

    report = export_run(run_dir, out, format_, frames, bodies, species or (), what, overwrite)
    if report["note"]:
        print(report["note"], file=sys.stderr)
    if json_:
        print(json.dumps(report))
    elif not quiet:
        print(f"frames        {report['frames']}, from {report['first_time']:.6g} to {report['last_time']:.6g} s")
        print(f"points        {report['points']}: the {report['what']}")
        if report["middle"]:
            print("positions     relative to ({:.6g}, {:.6g}, {:.6g}) m, the middle of the box".format(*report["middle"]))
        several = f" and {report['files'] - 1} frames beside it" if report["files"] > 1 else ""
        print(f"written to    {report['file']}{several}, {report['bytes'] / 1e6:.3g} MB")


@app.command()
def movie(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The film: .mp4 or .gif.", show_default=False)],
    fps: Annotated[int, typer.Option("--fps", metavar="N", min=1, max=240, help="Pictures a second.")] = 30,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="Pixels.")] = "1280x720",
    slow: Annotated[
        float | None,
        typer.Option("--slow", metavar="S", help="Seconds of film for a simulated one [each frame of the run once]."),
    ] = None,
    orbit: Annotated[float, typer.Option("--orbit", metavar="DEGREES", help="How far the camera goes round.")] = 0.0,
    energy: Annotated[bool, typer.Option("--energy", help="The energies over time, in a corner.")] = False,
    colour: Annotated[
        str, typer.Option("--colour", metavar="FIELD", help="species, body, speed, spin or energy.")
    ] = "species",
    spheres: Annotated[bool, typer.Option("--spheres", help="The spheres of chess pieces, not their surfaces.")] = False,
    shadows: Annotated[bool, typer.Option(help="Soft shadows, which take more than half of the time.")] = True,
    frames: Annotated[
        str | None, typer.Option("--frames", metavar="START:STOP", help="Some frames of the run; STOP is not among them.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier film.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a film of a run: MP4, or GIF."""
    from ..files.trajectory import Trajectory
    from ..views import movie
    from ..views import scene as render

    render.check_colour(colour)
    options = movie.Options(fps, pixels(size), slow, orbit, energy, colour, spheres, shadows)
    file = movie.film_file(out, overwrite, options)
    if file != out and not quiet:
        print(f"{out}: there is no ffmpeg, which makes MP4 (pip install imageio-ffmpeg); writing {file}", file=sys.stderr)
    render.choose_window(interactive=False)
    with Trajectory(run_dir) as trajectory, stop_signals() as received, film_bar(file.name, quiet) as on_progress:
        try:
            count = movie.film(trajectory, str(run_dir), file, options, frames, on_progress, stop=lambda: bool(received))
        except movie.Stopped:
            print(f"{file}: stopped; nothing is written", file=sys.stderr)
            raise typer.Exit(128 + received[0]) from None
    report = {"file": str(file), "pictures": count, "fps": fps, "seconds": count / fps, "size": list(options.size)}
    if json_:
        print(json.dumps(report))
    elif not quiet:
        print(f"written to    {file}: {count} pictures, {count / fps:.3g} s")


@app.command()
def doctor(json_: Json = False) -> None:
    """Tell what of this installation works, and how to mend what does not."""
    from ..doctor.checks import report

    raise typer.Exit(report(json_))


@contextlib.contextmanager
def film_bar(name: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, on stderr, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def main() -> None:
    try:
        app()
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except WriteError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)  # without the clean-up at exit, where HDF5 would try to write again, and crash
