"""Repeated timings of several codes, in turns."""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .protocol import ROOT, Worker, WorkerError
from .scenes import Scene, changes

MINIDEM = [sys.executable, "-c", "from minidem.cli import main; main()"]
Row = dict[str, Any]
Say = Callable[[str], None]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles ("low", "high") and all values."""
    if len(values) == 1:
        low = median = high = values[0]
    else:
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "values": list(values)}


class Entry:
    """The timings of one code with one number of threads on one scene."""

    def __init__(self, scene: Scene, code: str, threads: int, command: list[str]):
        self.row: Row = {"scene": scene.name, "code": code, "threads": threads}
        self.worker = Worker(command)
        self.ready = self.worker.ready
        self.steps = 1
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.contacts: list[int] = []
        self.candidates: list[int] = []

    def calibrate(self, seconds: float) -> None:
        """Find a number of steps that takes at least that long, twice in a row: on a busy machine a single step may."""
        while True:
            took = min(self.worker.ask("run", self.steps)["seconds"] for _ in range(2))
            if took >= seconds:
                return
            self.steps = math.ceil(self.steps * min(max(1.2 * seconds / took, 1.2), 8.0))

    def repeat(self) -> None:
        """Make one timing."""
        took = self.worker.ask("run", self.steps)
        self.seconds.append(took["seconds"])
        self.cpu.append(took["cpu"])
        if self.row["code"] == "minidem":
            now = self.worker.ask("state", "-")
            if now["contacts"] is not None:
                self.contacts.append(now["contacts"])
                self.candidates.append(now["candidates"])

    def finished(self, end: dict[str, Any]) -> Row:
        """The row of results; `end` is the final state."""
        spheres = self.ready["spheres"]
        start, total = (state["kinetic"] + state["elastic"] for state in (self.row["start"], end))
        us = spread([1e6 * seconds / self.steps for seconds in self.seconds])
        contacts = statistics.mean(self.contacts) if self.contacts else None
        own = end["peak_mb"] - self.ready["baseline_mb"] if "baseline_mb" in self.ready else None
        return self.row | {
            "end": end,
            "drift": total / start - 1 if start else None,
            "build_s": self.ready.get("build_s"),
            "version": self.ready["version"],
            "bodies": self.ready["bodies"],
            "spheres": spheres,
            "steps": self.steps,
            "us_per_step": us,
            "cpu_us_per_step": spread([1e6 * seconds / self.steps for seconds in self.cpu]),
            "msphere_steps_per_s": spheres / us["median"],
            "contacts": contacts,
            "candidates": statistics.mean(self.candidates) if self.candidates else None,
            # In a dilute box there is less than one contact per step, and contacts do not determine the cost.
            "ns_per_contact": 1e3 * us["median"] / contacts if contacts and contacts >= 1 else None,
            "peak_mb": end["peak_mb"],
            "own_bytes_per_sphere": None if own is None else 1e6 * own / spheres,
        }


def timed(
    scene: Scene, commands: dict[tuple[str, int], list[str]], repeats: int, seconds: float, elastic: Any, say: Say
) -> list[Row]:
    """The rows of one scene; `commands` by (code, threads).

    `elastic(file)` is the elastic energy (J) for sphere positions in a file, for codes that do not report it.
    """
    entries: list[Entry] = []
    rows = []
    try:
        for (code, threads), command in commands.items():
            label = f"{scene.name}, {code}, {threads} threads"
            try:
                entry = Entry(scene, code, threads, command)
            except (WorkerError, OSError) as error:
                say(f"{label}: left out: {error}")
                continue
            entries.append(entry)
            if entry.ready.get("threads", threads) < threads:
                say(f"{label}: left out: too small, it runs on {entry.ready['threads']}")
                entries.remove(entry)
                entry.worker.close()
        with tempfile.TemporaryDirectory() as folder:

            def energies(entry: Entry) -> dict[str, Any]:
                places = str(Path(folder) / "places.npy")
                now = entry.worker.ask("state", places)
                return now if "elastic" in now else now | {"elastic": elastic(places)}

            for entry in entries:
                say(f"{scene.name}: {entry.row['code']}, {entry.row['threads']} threads: {scene.warm_up} steps of warm-up")
                entry.row["start"] = energies(entry)
                entry.worker.ask("run", scene.warm_up)
                entry.row["warm"] = energies(entry)
                entry.calibrate(seconds)
            for repeat in range(repeats):
                say(f"{scene.name}: repeat {repeat + 1} of {repeats}")
                for entry in entries:
                    entry.repeat()
            for entry in entries:
                rows.append(entry.finished(energies(entry)))
    finally:
        for entry in entries:
            entry.worker.close()
    return rows


def _wall_time(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Wall time of a command, s."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | (environment or {}))
    took = time.perf_counter() - began
    if done.returncode:
        raise WorkerError(f"{' '.join(command[3:])}: {done.stderr.strip() or done.stdout.strip()}")
    return took


def _first_step(scene: Scene, threads: int, folder: str) -> list[str]:
    """The command of a run of one step: every run has at least one, however early its end."""
    sets = [word for change in [*changes(scene), "time.end=1e-12"] for word in ("--set", change)]
    options = ["--threads", str(threads), "--out", f"{folder}/run", "--overwrite", "--quiet"]
    return [*MINIDEM, "run", str(scene.path), *sets, *options]


def start_times(scenes: Sequence[Scene], repeats: int, say: Say) -> dict[str, Any]:
    """Wall times (s) of `minidem --help`, of a run of one step with an empty cache, and with everything compiled."""
    with tempfile.TemporaryDirectory() as folder:
        say("start: minidem --help")
        help_s = spread([_wall_time([*MINIDEM, "--help"]) for _ in range(repeats)])
        say(f"start: {scenes[0].name} with an empty cache")
        empty = {"MINIDEM_CACHE_DIR": f"{folder}/cache"}
        cold = {"scene": scenes[0].name, "seconds": _wall_time(_first_step(scenes[0], 1, folder), empty)}
        warm = {}
        for scene in scenes:
            say(f"start: {scene.name}")
            command = _first_step(scene, 1, folder)
            if not scene.big:
                _wall_time(command)  # compiles what is not compiled yet
            warm[scene.name] = spread([_wall_time(command) for _ in range(1 if scene.big else repeats)])
    return {"help_s": help_s, "cold_s": cold, "warm_s": warm}
