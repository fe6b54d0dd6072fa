"""The other side of processes.py: runs one check and prints its result."""

import json
import os
from dataclasses import asdict
from typing import Any

from . import checks
from .findings import Finding, said


def answer(check: str, remedy: str, arguments: tuple[Any, ...]) -> None:
    """Run a check and write its result to stdout as JSON, and nothing else there; ends the process."""
    reply = os.dup(1)
    os.dup2(2, 1)
    try:
        finding: Finding = getattr(checks, check)(*arguments)
    except ImportError as error:
        finding = Finding("failed", said(error), "fix the packages first")
    except (Exception, SystemExit) as error:
        finding = Finding("failed", said(error), checks.stale_kernels() if check == "kernels" else remedy)
    os.write(reply, json.dumps(asdict(finding)).encode())
    os._exit(0)  # without cleaning up at exit, where HDF5 and VTK may crash
