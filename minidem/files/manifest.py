"""manifest.json: how a run was made and how it ended."""

import hashlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import InputError
from ..machine import version
from ..small_files import MissingFile, json_of, text_of
from .whole import write_whole

LARGEST_MANIFEST = 2**24  # bytes
REMEDY = "remove the file to use the run without it"
PACKAGES = ("numpy", "numba", "scipy", "h5py", "pydantic")  # whose versions are recorded


def new_manifest(seed: int, threads: int) -> dict[str, Any]:
    """The manifest of a run that starts now in this process."""
    return {
        "minidem": version("minidem"),
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "seed": seed,
        "threads": threads,
        "host": platform.node(),
        "pid": os.getpid(),
        "started": now(),
        "ended": None,
        "status": "running",
    }


def manifest_of(directory: Path) -> dict[str, Any]:
    """The manifest of a run directory; empty if there is none, or nothing in it, as after a run was killed at its very
    start. InputError if it is damaged."""
    path = directory / "manifest.json"
    try:
        text = text_of(path, LARGEST_MANIFEST, REMEDY)
    except MissingFile:
        return {}
    manifest = json_of(text, path, REMEDY) if text else {}
    if not isinstance(manifest, dict):
        raise InputError(f"{path}: line 1: must be a JSON object; {REMEDY}")
    return manifest


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Replace the manifest of a run directory that this process has locked."""
    write_whole(directory / "manifest.json", json.dumps(manifest, indent=2) + "\n", locked=True)


def never_begun(directory: Path) -> bool:
    """Whether a run was killed there before it recorded anything: its manifest is still empty."""
    manifest = directory / "manifest.json"
    return manifest.is_file() and not manifest.is_symlink() and manifest.stat().st_size == 0


def is_summary(found: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value from a manifest, which may be damaged, is the summary that `minidem run --json` prints."""
    if not isinstance(found, dict) or not isinstance(found.get("energy"), dict):
        return False
    texts = [found.get(name) for name in ("run_dir", "integrator", "status")]
    numbers: list[Any] = [
        found.get(name) for name in ("bodies", "spheres", "steps", "dt", "wall_s", "us_per_step", "compile_s")
    ]
    numbers += [value for value in found["energy"].values() if value is not None]
    return (
        all(isinstance(text, str) for text in texts)
        and all(type(value) in (int, float) and -1e300 < value < 1e300 for value in numbers)
        and found["energy"].keys() == {"initial", "final", "drift_mean", "drift_last", "drift_max"}
    )


def writer_of(directory: Path) -> int | None:
    """The id of the process that is writing a run there, if it is alive and on this machine."""
    try:
        manifest = manifest_of(directory)
    except InputError:
        return None
    process = manifest.get("pid")
    if manifest.get("status") != "running" or manifest.get("host") != platform.node():
        return None
    if type(process) is not int or process <= 0:
        return None
    try:
        os.kill(process, 0)  # signal 0 only asks whether the process exists
    except (OSError, OverflowError):
        return None
    return process


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
