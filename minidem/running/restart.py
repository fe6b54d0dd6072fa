"""What a restart keeps, and whether a checkpoint belongs to a run.

All random numbers are drawn before the first step, and contact forces have no memory but that of the edges (PLACES).
"""

import hashlib
from pathlib import Path

import numpy as np

from ..engine.compile.cache import processor, source_digest
from ..engine.state import BLOCK, KEPT, LANES, Field
from ..errors import InputError
from ..files.checkpoint import Checkpoint
from ..files.names import CHECKPOINT, PLUGINS
from ..machine import version
from ..model.building import Model
from ..scenario.reading import Scenario
from .plugged import plugin_digests

# What a Simulation keeps besides the arrays of the engine: its attributes of these names.
OWN = {
    "step": Field((), "1", kept=True, dtype=np.int64),
    "initial_energy": Field((), "J", kept=True),
    "initial_bounded": Field((), "J", kept=True),
    "initial_speed": Field((), "m s-1", kept=True),
    "earlier_account": Field((3,), "1", kept=True),
    "rank": Field(("n",), "1", kept=True, dtype=np.int64),
}
# Where the l listed spheres were in the last h steps; see engine/places.py.
PLACES = {
    "places/sphere": Field(("l",), "1", kept=True, dtype=np.int64),
    "places/centre": Field(("h", "l", 3), "m", "world", kept=True),
}
FIELDS = OWN | KEPT | PLACES  # all that a state holds, by name
UNITS = {name: field.unit for name, field in FIELDS.items()}
# Entries of an origin that may differ with --force.
VERSIONS = ("minidem", "kernels", "numba", "processor", *(f"plugin.{role}" for role in PLUGINS))
LONGEST = 1e12  # s that a run may have taken


def origin_of(scenario: Scenario, text: str, model: Model) -> dict[str, str]:
    """Everything besides the state that decides the next step, by name; `text` is the scenario as its author wrote it."""
    origin = {
        "scenario.toml": text,
        "resolved.toml": scenario.to_toml(),
        "minidem": version("minidem"),
        "kernels": source_digest(),
        "numba": version("numba"),
        "processor": processor(),
        **plugin_digests(scenario),
    }
    for clump in model.clumps:  # its file may have changed
        what = (clump.body_spheres, clump.principal_inertia, clump.principal_axes, np.float64(clump.mass))
        origin[f"clump.{clump.name}"] = hashlib.sha256(b"".join(values.tobytes() for values in what)).hexdigest()
    return origin


def check_checkpoint(last: Checkpoint, scenario: Scenario, model: Model, values: int, directory: Path) -> None:
    """Raise InputError if the checkpoint is not one of this run. `values` is the number of values per body that the
    rotational integrator keeps."""
    state, n = last.state, len(model.species)
    padded = n + -n % LANES
    sizes = {
        "n": n,
        "m": padded,
        "v": values,
        "h": model.edges.rows(any(clump.arm > 0.0 for clump in model.clumps)),
        "k": -(-n // BLOCK),
    }
    sizes["l"] = state["places/sphere"].size if "places/sphere" in state else 0
    shapes = {name: tuple(sizes.get(str(size), size) for size in field.shape) for name, field in FIELDS.items()}
    fits = state.keys() == FIELDS.keys()
    fits = fits and all(state[name].shape == shapes[name] and state[name].dtype == FIELDS[name].dtype for name in FIELDS)
    counts = (last.frames, scenario.output.frames), (last.rows, scenario.output.energies)
    fits = fits and all(isinstance(count, int) and 0 <= count <= limit for count, limit in counts)
    fits = fits and all(offsets.ndim == 1 and offsets.dtype == np.int64 for offsets in last.places.values())
    fits = fits and 0 <= int(state["step"]) <= model.steps and 0 <= last.wall_s < LONGEST
    fits = fits and 0 <= state["earlier_account"][2] < 2**63 and not state["earlier_account"][1] < 0
    fits = fits and not (state["account/edge_scale"] < 0).any()
    fits = fits and np.array_equal(np.sort(state["rank"]), np.arange(n))
    fits = fits and bool(((state["places/sphere"] >= 0) & (state["places/sphere"] < model.spheres)).all())
    if not fits:
        raise InputError(f"{directory / CHECKPOINT}: not a checkpoint of this run")
