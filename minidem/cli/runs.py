"""run, check, resume: simulate a scenario."""

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .options import CheckpointEvery, Json, MaxWall, Overwrite, PluginFiles, Quiet, ScenarioFile, Seed, Set, Threads, loaded
from .terminal import print_message, progress_bar, stop_signals

if TYPE_CHECKING:
    from ..running.conduct import Result
    from ..scenario.reading import Scenario


def run(
    scenario: ScenarioFile,
    set_: Set = None,
    plugin: PluginFiles = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run directory [default: output/NAME].")] = None,
    seed: Seed = None,
    threads: Threads = None,
    checkpoint_every: CheckpointEvery = 60.0,
    max_wall: MaxWall = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Run a scenario; record its trajectory and energies."""
    limit = seconds(max_wall)
    chosen, text = loaded(scenario, set_, seed, plugin)
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
            on_note=print_message,
            stop=lambda: bool(received),
        )
    end_of_run(result, scenario.name, received, json_, quiet)


def resume(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", show_default=False)],
    plugin: PluginFiles = None,
    threads: Threads = None,
    checkpoint_every: CheckpointEvery = 60.0,
    max_wall: MaxWall = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Continue with another version, processor or plugin; results may differ, often in the last bits."
        ),
    ] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue an interrupted run from its last checkpoint.

    The result is bit-identical to that of an uninterrupted run.
    """
    limit = seconds(max_wall)
    from ..running.conduct import resume
    from ..scenario.plugins import load_plugins

    load_plugins(plugin or ())
    with stop_signals() as received, progress_bar(run_dir.name, quiet) as on_progress:
        result = resume(
            run_dir,
            threads=threads,
            force=force,
            checkpoint_every=checkpoint_every,
            max_wall=limit,
            on_progress=on_progress,
            on_note=print_message,
            stop=lambda: bool(received),
        )
    end_of_run(result, str(run_dir), received, json_, quiet)


def check(
    scenario: ScenarioFile,
    set_: Set = None,
    plugin: PluginFiles = None,
    seed: Seed = None,
    threads: Threads = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Validate a scenario without running it.

    Prints sizes, masses, time scales, the expected energy drift and the expected wall time.
    """
    chosen, _ = loaded(scenario, set_, seed, plugin)
    from ..running.outlook import outlook

    announce_compiling(chosen, quiet)
    report = outlook(chosen, scenario.name, threads)
    if json_:
        print(json.dumps(report))
    if json_ or quiet:
        return
    for note in report["notes"]:
        print_message(note)
    contact = "contact time unknown: all bodies start at rest"
    if report["dt_hertz"] is not None:
        contact = f"{report['dt_hertz']:.3g} contact times"
    print(f"system        {counted(report['bodies'], report['spheres'])}")
    print(f"memory        about {report['memory_mb']:.1f} MB")
    print(f"disk          about {report['disk_mb']:.3g} MB{' before compression' if chosen.output.compression else ''}")
    print(f"dt            {report['dt']:.4g} s = {report['dt_rayleigh']:.3g} Rayleigh times; {contact}")
    print(f"suggested dt  {report['dt_good']:.2g} s or less: {report['dt_good_reason']}")
    if report["drift"] is not None:
        print(
            "energy drift  about {expected:.1g} with this dt, {low:.1g} to {high:.1g} in four of five runs".format(
                **report["drift"]
            )
        )
    print(f"steps         {report['steps']:,}")
    print(f"run time      about {report['estimated_s']:.3g} s, {report['us_per_step']:.3g} us per step")
    print(f"\n{'clump':<12} {'spheres':>7} {'mass kg':>11} {'volume m3':>11}   principal moments kg m2")
    for name, clump in report["clumps"].items():
        moments = " ".join(f"{moment:.4e}" for moment in clump["principal_inertia"])
        print(f"{name:<12} {clump['spheres']:>7} {clump['mass']:>11.4e} {clump['volume']:>11.4e}   {moments}")


def end_of_run(result: "Result", name: str, received: list[int], json_: bool, quiet: bool) -> None:
    """Print the summary and exit with the code for the way the run ended."""
    summary = result.summary
    if json_:
        print(json.dumps(summary))
    elif not quiet:
        print(run_table(summary, result.steps_planned))
    if summary["status"] == "failed":
        print_message(f"{name}: {result.reason}")
        raise typer.Exit(3)
    if summary["status"] == "interrupted":
        print_message(f"stopped after {summary['steps']:,} steps; continue with: minidem resume {summary['run_dir']}")
        raise typer.Exit(128 + received[0] if received else 0)


def counted(bodies: int, spheres: int) -> str:
    """The size of a system, in words."""
    return f"{bodies:,} {'body' if bodies == 1 else 'bodies'}, {spheres:,} {'sphere' if spheres == 1 else 'spheres'}"


def run_table(summary: dict[str, Any], planned: int) -> str:
    """The summary of a run as text, with the steps done out of those `planned`."""
    steps = f"{summary['steps']:,} steps"
    if summary["steps"] < planned:
        steps = f"{summary['steps']:,} of {planned:,} steps ({100 * summary['steps'] // planned} %)"
    energy = {
        name: "none" if value is None else f"{value:.{3 if 'drift' in name else 6}g}"
        for name, value in summary["energy"].items()
    }
    from ..running.edge_summary import lines_of

    rows = {
        "system": counted(summary["bodies"], summary["spheres"]),
        "integrator": f"{summary['integrator']}, dt {summary['dt']:.4g} s",
        "completed": f"{steps} in {summary['wall_s']:.2f} s, {summary['us_per_step']:.2f} us per step",
        "set-up": f"{summary['compile_s']:.2f} s",
        "energy": "initial {initial} J, final {final} J".format(**energy),
        "energy drift": "mean {drift_mean}, last {drift_last}, max {drift_max}".format(**energy),
        **(lines_of(summary["edges"]) if "edges" in summary else {}),  # not in summaries of earlier versions
        "written to": summary["run_dir"],
        "status": summary["status"],
    }
    return "\n".join(f"{name:<13} {value}" for name, value in rows.items())


def seconds(text: str | None) -> float:
    """A time such as 1h30m, 90m or 5400 in s; infinity for None."""
    if text is None:
        return math.inf
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d*)?)s?)?", text)
    if not parts or not any(parts.groups()):
        raise InputError(f"--max-wall {text}: must be a time such as 2h, 1h30m, 90m or 45s")
    hours, minutes, rest = (float(part or 0) for part in parts.groups())
    return 3600 * hours + 60 * minutes + rest


def announce_compiling(scenario: "Scenario", quiet: bool) -> None:
    """Say on stderr that kernels are about to be compiled, if they are not in the cache."""
    from ..running.given import are_compiled

    if not quiet and not are_compiled(scenario):
        print_message(f"compiling the kernels for {scenario.integrator.rotation} (first run only, up to half a minute) ...")
