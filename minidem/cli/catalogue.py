"""integrators, laws: what can be chosen in a scenario."""

import json

from .options import Json


def integrators(json_: Json = False) -> None:
    """List the rotational integrators."""
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
    width = max(map(len, SCHEMES)) + 2
    print(f"{'name':<{width}}{'order':<6}{'torques':<9}{'usable in':<15}{'summary':<48}source")
    for row in rows:
        print(
            "{name:<{width}}{order:<6}{torque_evaluations:<9}{usable_in:<15}{summary:<48}{source}".format(**row, width=width)
        )


def laws(json_: Json = False) -> None:
    """List the contact laws."""
    from ..engine.contact.registry import LAWS

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
