"""The protocol between the benchmarks and the workers.

Each worker is a process that answers every line with one line: `run 500` with {"seconds": 0.43, ...}. So each scene has its
own peak memory, and several codes can take turns. Standard library only, since the interpreters of other codes import this
file too.
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
MARK = "@answer "  # starts an answer; other output is ignored


class WorkerError(Exception):
    """A worker ended without an answer; the message is the end of its output."""


class Worker:
    """The parent's side: a worker process."""

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
            self.ready = self._answer()  # facts about the scene before its first step
        except BaseException:
            self.close()
            raise

    def ask(self, *words: object) -> dict[str, Any]:
        """Send a line and return the answer."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # _answer reports the reason
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
        raise WorkerError("\n".join(lines[-5:]) or "the worker ended without any output")

    def close(self) -> None:
        """End the worker; kill it if it does not end within 20 s."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # a worker ends when its input does
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def serve(ready: Mapping[str, Any], run: Callable[[int], float], state: Callable[[str], dict[str, Any]]) -> None:
    """The worker's side: send `ready`, then answer until the input ends.

    `run N` advances N steps and answers with wall and CPU time (s); `state FILE` answers with the energies (J) and the peak
    memory (MB), and may write sphere positions to FILE.
    """
    _say(ready)
    for line in sys.stdin:
        what, value = line.split()
        if what == "run":
            began = time.process_time()
            seconds = run(int(value))
            _say({"seconds": seconds, "cpu": time.process_time() - began})  # all threads
        else:
            _say(state(value) | {"peak_mb": memory_mb("VmHWM")})


def _say(answer: Mapping[str, Any]) -> None:
    print(MARK + json.dumps(answer), flush=True)


def memory_mb(entry: str) -> float:
    """VmHWM (peak) or VmRSS (current) of this process, MB (10^6 bytes).

    Not `ru_maxrss`, which a child process inherits from its parent.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"no {entry} in /proc/self/status")
