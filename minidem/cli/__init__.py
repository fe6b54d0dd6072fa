"""The command line. Commands parse arguments and print results; each imports what it needs when it is called."""

import gc
import os
import sys
from typing import Annotated

import typer

from ..errors import InputError, WriteError
from ..machine import map_large_arrays
from . import advice, bench, catalogue, health, pictures, reports, runs, shapes, studies

# New objects before Python looks for unreachable ones. Compilation makes many that live, and looking through them again and
# again took 0.7 s of a first run. This takes 20 MB more memory.
FEW_SEARCHES = 100_000

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (  # in the order of `minidem --help`
    runs.run,
    runs.check,
    advice.advise,
    runs.resume,
    pictures.view,
    pictures.movie,
    reports.plot,
    reports.report,
    reports.export,
    studies.study,
    shapes.clump,
    bench.rotor,
    bench.reproduce,
    catalogue.integrators,
    catalogue.laws,
    health.doctor,
):
    app.command()(command)


def print_version(wanted: bool) -> None:
    """Print the name and version of the program and exit, if `wanted`."""
    if wanted:
        from importlib.metadata import version

        print(f"minidem {version('minidem')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate rigid clumps of spheres in a box, with a choice of rotational integrators."""


def main() -> None:
    """Run the command given by sys.argv. Exits with 2 on bad input and with 1 if a file cannot be written."""
    map_large_arrays()
    gc.set_threshold(FEW_SEARCHES)
    try:
        app()
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except WriteError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)  # skip the clean-up at exit, in which HDF5 would try to write again and crash
