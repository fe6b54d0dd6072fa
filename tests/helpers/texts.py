"""The one builder of scenario texts."""

import json

import numpy as np

ROD = [[-0.04, -0.04, -0.04, 0.0346], [0, 0, 0, 0.0346], [0.04, 0.04, 0.04, 0.0346]]  # the rod of scenarios/rods.toml


def scenario_text(materials, clumps, bodies=(), place=(), walls=(), *, dt=1e-5, end=1e-3, **more):
    """A scenario file. Clumps, walls and the box are made of the first material unless they name another.

    materials: {name: (young, poisson, density)}, or {name: keys of [material.NAME]};
    clumps: {name: spheres}, or {name: keys of [clump.NAME]};
    bodies, place, walls: the keys of each [[body]], [[place]] and [[wall]];
    more: other tables, as dictionaries, and single keys.
    """
    usual = {"material": next(iter(materials))}
    clumps = {name: keys if isinstance(keys, dict) else {"spheres": keys} for name, keys in clumps.items()}
    domain = more.pop("domain", {})
    tables = [("[time]", {"dt": dt, "end": end})]
    for name, numbers in materials.items():
        keys = numbers if isinstance(numbers, dict) else dict(zip(("young", "poisson", "density"), numbers, strict=True))
        tables.append((f"[material.{name}]", keys))
    tables += [(f"[clump.{name}]", usual | keys) for name, keys in clumps.items()]
    tables += [("[domain]", (usual if "box" in domain else {}) | domain)]
    tables += [(f"[{name}]", keys) for name, keys in more.items() if isinstance(keys, dict)]
    tables += [("[[body]]", keys) for keys in bodies]
    tables += [("[[place]]", keys) for keys in place]
    tables += [("[[wall]]", usual | keys) for keys in walls]
    single = {key: value for key, value in more.items() if not isinstance(value, dict)}
    return "\n".join(_lines(single) + [line for header, keys in tables for line in (header, *_lines(keys))]) + "\n"


def _lines(keys):
    return [f"{key} = {json.dumps(np.asarray(value).tolist())}" for key, value in keys.items()]
