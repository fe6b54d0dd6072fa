"""The command line. Commands parse arguments and print results; each imports what it needs when it is called."""

import gc
import io
import os
import sys
from typing import Annotated

import typer

from ..errors import InputError, WriteError, flags_in_messages
from ..machine import map_large_arrays
from . import advice, bench, catalogue, examples, health, pictures, reports, runs, shapes, studies
from .terminal import preparations_shown

# New objects before Python looks for unreachable ones. Compilation makes many that live, and looking through them again and
# again took 0.7 s of a first run. This takes 20 MB more memory.
FEW_SEARCHES = 100_000

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (  # in the order of `minidem --help`
    examples.new,
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
    catalogue.schema,
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
    """Run the command given by sys.argv. Exits with 2 on bad input and with 1 if there is no room for files or in memory."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names may hold any bytes
    map_large_arrays()
    gc.set_threshold(FEW_SEARCHES)
    try:
        with preparations_shown("--quiet" in sys.argv), flags_in_messages():
            app()
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except MemoryError as error:
        print(f"not enough memory ({error}); simulate less, or on a larger machine", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except WriteError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)  # skip the clean-up at exit, in which HDF5 would try to write again and crash
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # Python would try again at exit, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
