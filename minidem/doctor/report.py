"""The command `minidem doctor`. Needs the standard library only: also `python -m minidem.doctor`."""

import contextlib
import io
import json
import signal
import sys
from typing import Any

from .examination import examined


def report(as_json: bool) -> int:
    """Run all checks and print the results as lines or as JSON; returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    if isinstance(sys.stdout, io.TextIOWrapper):  # also without the command line
        sys.stdout.reconfigure(errors="backslashreplace")  # folder names may hold any character
    if not as_json and sys.stderr.isatty():
        print("checking; takes up to half a minute if kernels must be compiled ...", file=sys.stderr, flush=True)
    checks = []
    with contextlib.closing(examined()) as ongoing:
        for check in ongoing:
            checks.append(check)
            if not as_json:
                fix = f"; to fix it: {check.remedy}" if check.remedy else ""
                print(f"{check.status:<8} {check.name:<15} {' '.join(check.found.split())}{fix}")
    seen = [check.status for check in checks]
    if as_json:
        rows = [{"name": c.name, "status": c.status, "found": c.found, "remedy": c.remedy} for c in checks]
        worst = next(status for status in ("failed", "warning", "ok") if status in seen)
        print(json.dumps({"checks": rows, "status": worst}))
    else:
        print(f"{len(seen)} checks: {seen.count('failed')} failed, {seen.count('warning')} with a warning")
    return 1 if "failed" in seen else 0


def stopped(number: int, frame: Any) -> None:
    """Signal handler: end with the exit code of the signal, after cleaning up."""
    raise SystemExit(128 + number)
