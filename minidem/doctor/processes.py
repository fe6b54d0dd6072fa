"""Checks in processes of their own, with a time limit: libraries may crash or hang. Needs the standard library only."""

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

from ..errors import InputError
from ..small_files import decoded, json_of
from .findings import Finding, last_line, said


def in_a_process(check: str, arguments: tuple[Any, ...], scratch: str | None, limit: float, remedy: str) -> Finding:
    """Result of the function `check` of checks.py. `limit` is in s; the remedy is for a check that crashes or hangs."""
    call = f"from minidem.doctor.answer import answer; answer({check!r}, {remedy!r}, {arguments!r})"
    environment = os.environ | ({"TMPDIR": scratch} if scratch else {})
    try:
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(with_this_path(call), env=environment, start_new_session=True, **pipes)
    except OSError as error:
        return Finding("failed", f"no process could be started: {said(error)}", "free some memory, or close other programs")
    try:
        reply, noise = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return Finding("failed", f"no answer within {limit:g} s", remedy)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # and the processes that it started
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in a system call
                process.wait(5.0)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    try:
        return Finding(**json_of(decoded(reply, check, ""), check, ""))
    except (InputError, TypeError):
        code_or_signal = (
            f"code {process.returncode}" if process.returncode >= 0 else signal.Signals(-process.returncode).name
        )
        last = last_line(noise.decode(errors="replace"))
        return Finding("failed", f"crashed ({code_or_signal})" + (f": {last}" if last else ""), remedy)


def with_this_path(code: str) -> list[str]:
    """A command that runs Python code with the module path of this process."""
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
