"""integrators, laws, schema: what can be chosen in a scenario."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, PluginFiles
from .terminal import print_message


def load_all(plugins: list[Path] | None) -> None:
    """Load the plugins of the command line and of installed packages; says on stderr which of these cannot be loaded."""
    from ..scenario.plugins import installed_faults, load_plugins

    for fault in installed_faults():
        print_message(f"not loaded: {fault}")
    load_plugins(plugins or ())


def integrators(plugin: PluginFiles = None, json_: Json = False) -> None:
    """List the rotational integrators."""
    from ..engine.rotation.registry import SCHEMES

    load_all(plugin)
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
    width = max(map(len, SCHEMES)) + 2
    print(f"{'name':<{width}}{'order':<6}{'torques':<9}{'usable in':<15}{'summary':<48}source")
    for row in rows:
        print(
            "{name:<{width}}{order:<6}{torque_evaluations:<9}{usable_in:<15}{summary:<48}{source}".format(**row, width=width)
        )


def laws(plugin: PluginFiles = None, json_: Json = False) -> None:
    """List the contact laws."""
    from ..engine.contact.registry import LAWS

    load_all(plugin)
    if json_:
        rows = [
            {
                "name": law.name,
                "summary": law.summary,
                "source": law.source,
                "edge_power": law.edge_power,
                "keys": list(law.keys),
            }
            for law in LAWS.values()
        ]
        print(json.dumps({"laws": rows}))
        return
    print(f"{'name':<17}{'extra material keys':<24}{'summary':<48}source")
    for law in LAWS.values():
        print(f"{law.name:<17}{', '.join(law.keys) or 'none':<24}{law.summary:<48}{law.source}")


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="Kind of file: scenario or study.", show_default=True)
    ] = "scenario",
) -> None:
    """Print the JSON Schema of scenario or study files.

    Editors complete and check a file whose first line is: #:schema ./scenario.schema.json
    """
    from ..errors import unknown_name

    if kind == "scenario":
        from ..scenario.schema import scenario_schema as made
    elif kind == "study":
        from ..study.schema import study_schema as made
    else:
        raise unknown_name("kind of file", kind, ("scenario", "study"))
    print(json.dumps(made(), indent=1))
