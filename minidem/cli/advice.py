"""advise: find the time step for a wished energy drift."""

import json
from typing import Annotated, Any

import typer

from ..errors import InputError
from .options import Json, PluginFiles, Quiet, ScenarioFile, Seed, Set, Threads, loaded
from .runs import announce_compiling
from .terminal import print_message


def advise(
    scenario: ScenarioFile,
    drift: Annotated[
        float, typer.Option("--drift", metavar="X", help="Largest energy drift, abs(E - E0) / abs(E0).")
    ] = 1e-4,
    integrators: Annotated[
        str | None, typer.Option("--integrators", metavar="A,B,C", help="Integrators [default: that of the scenario].")
    ] = None,
    set_: Set = None,
    plugin: PluginFiles = None,
    seed: Seed = None,
    threads: Threads = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the longest time step for an energy drift.

    Short pilot runs measure the energy error; most runs with the advised dt stay within the limit. The drift is the larger
    of the mean and the last energy deviation of a run.
    """
    if not 0 < drift < 1:
        raise InputError(f"--drift {drift:g}: must be above 0 and below 1, for example 1e-5")
    chosen, _ = loaded(scenario, set_, seed, plugin)
    from ..running.outlook import advise
    from ..scenario.values import integrator

    names = [name.strip() for name in integrators.split(",")] if integrators is not None else []
    for name in names:
        try:
            integrator(name)
        except ValueError as error:
            raise InputError(f"--integrators {integrators}: {error}") from None
    announce_compiling(chosen, quiet)
    report = advise(chosen, drift, names, scenario.name, threads)
    if json_:
        print(json.dumps(report))
    elif not quiet:
        print(advice_table(report))
        notes = [limit_of(choice) for choice in report["choices"] if choice["limit"]]
        for note in dict.fromkeys(notes + [warning_of(choice) for choice in report["choices"] if choice["warning"]]):
            print_message(note)


def advice_table(report: dict[str, Any]) -> str:
    """The choices as a table."""
    width = max(len(choice["integrator"]) for choice in report["choices"] + [{"integrator": "integrator"}])
    lines = [f"{'integrator':<{width}}  edges      dt s              drift    in four of five runs        steps  run time"]
    for choice in report["choices"]:
        head = f"{choice['integrator']:<{width}}  {choice['edges']:<9}  "
        if choice["dt"] is None:
            lines.append(f"{head}none")
            continue
        dt = f"{choice['dt']:.2g} +- {max(1, round(100 * choice['uncertainty']))} %"
        drift = f"{choice['drift']:<7.1e}  {choice['low']:.1e} to {choice['high']:.1e}"
        capped = " *" if choice["limit"] else ""
        lines.append(f"{head}{dt:<16}  {drift}  {choice['steps']:>14,}  {duration(choice['estimated_s'])}{capped}")
    return "\n".join(lines)


def limit_of(choice: dict[str, Any]) -> str:
    """Why a choice has no dt, or a shorter one than its drift asks for."""
    who = f"{choice['integrator']}, {choice['edges']} edges"
    if choice["dt"] is None:
        return f"{who}: no time step keeps the drift within the limit: {choice['limit']}"
    return f"* {who}: dt is limited by {choice['limit']}; the drift alone would allow a longer one"


def warning_of(choice: dict[str, Any]) -> str:
    """What a run with the advised dt warns about."""
    return f"{choice['integrator']}, {choice['edges']} edges: a run with this dt warns, as it is above {choice['warning']}"


def duration(seconds: float) -> str:
    """A wall time in words."""
    return (
        f"{seconds:.2g} s" if seconds < 100 else f"{seconds / 60:.3g} min" if seconds < 6000 else f"{seconds / 3600:.3g} h"
    )
