"""doctor: check the installation."""

import typer

from .options import Json


def doctor(json_: Json = False) -> None:
    """Check the installation and suggest fixes."""
    from ..doctor.report import report

    raise typer.Exit(report(json_))
