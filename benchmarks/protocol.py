"""A benchmarked code is a process of its own that answers one line with one line: `run 500` with {"seconds": 0.43, ...}.

So each scene has its own peak memory, and several codes can take turns. Standard library only: the interpreters of other
codes import this file too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MARK = "@answer "  # other output of the codes goes by


class WorkerError(Exception):
    pass


class Worker:
    """The parent's end."""

    def __init__(self, command: list[str], root: Path = ROOT):
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=root,
            env=os.environ | {"PYTHONPATH": path},
        )
        try:
            self.ready = self._answer()  # what the code says of the scene before its first step
        except BaseException:
            self.close()
            raise

    def ask(self, *words: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the reason is told below
            print(*words, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        seen = []
        for line in self._process.stdout:
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
            seen.append(line)
        self._errors.seek(0)
        lines = ("".join(seen) + self._errors.read()).strip().splitlines()
        raise WorkerError("\n".join(lines[-5:]) or "ended without a word")

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # the end of its input is the end of a worker
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def serve(ready: Mapping[str, Any], run: Callable[[int], float], state: Callable[[str], dict[str, Any]]) -> None:
    """The worker's end: `run N` makes N steps and returns the seconds, `state FILE` tells the energies at this step."""
    _say(ready)
    for line in sys.stdin:
        what, value = line.split()
        if what == "run":
            began = time.process_time()
            seconds = run(int(value))
            _say({"seconds": seconds, "cpu": time.process_time() - began})  # of all its threads
        else:
            _say(state(value) | {"peak_mb": memory_mb("VmHWM")})


def _say(answer: Mapping[str, Any]) -> None:
    print(MARK + json.dumps(answer), flush=True)


def memory_mb(entry: str) -> float:
    """VmHWM (peak) or VmRSS (now) of this process in MB of 10^6 bytes.

    Not `ru_maxrss`: a child starts with the peak of its parent there.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"no {entry} in /proc/self/status")
