"""How a run ended, as far as its manifest and its files agree: a manifest may have been copied, edited or damaged."""

import contextlib
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files.manifest import is_summary
from ..files.trajectory import Trajectory


def has_ended(directory: Path, manifest: dict[str, Any], steps: int) -> bool:
    """Whether a run of `steps` steps is done, or a guard stopped it: its manifest says so, and what it recorded agrees."""
    summary, reason = manifest.get("summary"), manifest.get("reason")
    if not is_summary(summary) or summary["status"] != manifest.get("status"):
        return False
    if summary["status"] == "ok" and summary["steps"] == steps:
        with Trajectory(directory) as trajectory:
            return bool(trajectory.step[-1:].tolist() == [steps])
    if summary["status"] == "failed" and isinstance(reason, str) and reason and summary["steps"] <= steps:
        with Trajectory(directory) as trajectory:
            return all((rows <= summary["steps"]).all() for rows in (trajectory.step, trajectory.observables["step"]))
    return False


def check_nothing_recorded(directory: Path) -> None:
    """Raise InputError if a run without a checkpoint has recorded something: starting again would destroy it."""
    log, recorded = directory / "energy.csv", False
    if log.is_file():  # a pipe might never end
        recorded = log.read_bytes().count(b"\n") > 1
    with contextlib.suppress(InputError), Trajectory(directory) as trajectory:
        recorded = recorded or len(trajectory) > 0
    if recorded:
        remedy = f"keep what is there and start again with: minidem run {directory / 'scenario.toml'} --out ANOTHER"
        raise InputError(f"{directory}: there is no checkpoint to resume from; {remedy}")
