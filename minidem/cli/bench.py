"""rotor, reproduce: single bodies with a known solution, and published tables and figures."""

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .options import Json, Overwrite, PluginFiles, Processes, Quiet
from .terminal import print_message, stop_signals, study_table

if TYPE_CHECKING:
    from ..reproduce.outcome import Outcome


def rotor(
    case: Annotated[
        str | None, typer.Argument(metavar="CASE", help="Name of a case; see --list.", show_default=False)
    ] = None,
    integrator: Annotated[
        str, typer.Option("--integrator", metavar="NAME", help="Rotational integrator; see minidem integrators.")
    ] = "spiral",
    plugin: PluginFiles = None,
    dt: Annotated[float | None, typer.Option("--dt", metavar="DT", help="Time step, s [default: that of the case].")] = None,
    end: Annotated[float | None, typer.Option("--end", metavar="T", help="End time, s [default: that of the case].")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Plot the motion: .png, .svg or .pdf.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Compare an integrator with the known motion of one body.

    Integrates one rigid body (in one case two) under a given torque and prints
    the errors against an analytic or reference solution.
    """
    from ..engine.rotation.registry import SCHEMES
    from ..rotor.bench import bench_run, run
    from ..rotor.cases import CASES

    if list_:
        rows = [{"name": c.name, "source": c.source, "end": c.end, "dt": c.dt, "summary": c.summary} for c in CASES.values()]
        if json_:
            print(json.dumps({"cases": rows}))
        else:
            print(f"{'case':<19}{'end s':<8}{'dt s':<8}{'source':<30}summary")
            print("\n".join(f"{c.name:<19}{c.end:<8g}{c.dt:<8g}{c.source:<30}{c.summary}" for c in CASES.values()))
        return
    if case is None:
        raise InputError("CASE: missing; try: minidem rotor constant-torque --integrator spiral (--list shows all cases)")
    if integrator not in SCHEMES or plugin:
        from ..scenario.plugins import known_after_search, load_plugins

        load_plugins(plugin or ())
        known_after_search(integrator, SCHEMES)
    if plot is not None:
        from ..views.motion import check_file, draw

        check_file(plot, overwrite)
        draw(bench_run(case, integrator, dt, end), plot)
    result = run(case, integrator, dt, end)
    stable = result["error"] is not None
    if json_:
        print(json.dumps(result))
    elif not quiet:
        print(f"case          {result['case']}, {CASES[case].source}: {CASES[case].summary}")
        print(f"integrator    {integrator}, dt {result['dt']:.6g} s, {result['steps']:,} steps to {result['time']:g} s")
        if stable:
            print(rotor_table(result, conserved=CASES[case].potential is not None))
        if plot is not None:
            print(f"picture       {plot}")
    if not stable:
        print_message("--dt: the integration is unstable at this time step (result is not finite); use a smaller one")
        raise typer.Exit(3)


def rotor_table(result: dict[str, Any], conserved: bool) -> str:
    """Errors and final state of a case as text; the energy error only where energy is `conserved`."""
    energy = "not conserved in this case"
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


def reproduce(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET...", help="Names of targets; see --list.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the targets.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Reproduce all targets.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points and shorter runs.")] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Directory for the results; one subdirectory per target.")
    ] = Path("output/reproduce"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue interrupted studies; other results are replaced.")
    ] = False,
    processes: Processes = None,
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Reproduce a published table or figure.

    Writes CSV, PNG and SVG, and prints published and measured values and their ratio.
    """
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
            print_message(f"{target}: {title_of(target)} ...")
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
    """The outcome of a target whose numbers come from studies in `directory`."""
    from ..reproduce import reproduced
    from ..reproduce.studies import Failed, Interrupted, Studies

    with stop_signals() as received:
        shown = functools.partial(study_table, quiet=quiet)
        try:
            outcome = reproduced(target, quick, Studies(directory, overwrite, processes, shown, lambda: bool(received)))
            if received:  # during the drawing
                raise Interrupted(f"{directory}: all runs are done")
            return outcome
        except Interrupted as stopped:
            if not quiet:
                print_message(f"{stopped}; continue with --resume")
            raise typer.Exit(128 + received[0]) from None
        except Failed as failed:
            print_message(f"{directory}: {failed}; --overwrite repeats all runs")
            raise typer.Exit(1) from None
