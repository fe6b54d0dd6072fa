"""This checkout beside another one, in turns: `python -m benchmarks --compare CHECKOUT`.

Each repeat starts two new processes and times both in turns on the same number of steps; the ratio of their medians counts.
What slows the machine down slows both. New processes, because where arrays lie in memory makes one process up to a tenth
slower than another with the same code.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from .protocol import ROOT, Worker
from .report import short
from .scenes import Scene
from .timing import spread

HEAD = ["scene", "threads", "old us per step", "new us per step", "new / old", "quartiles", "CPU new / old", "quartiles"]
COLD_HEAD = ["cold start", "old s", "new s", "new / old", "quartiles", "CPU new / old", "quartiles"]
_CALL = "import sys; sys.path.insert(0, sys.argv.pop(1)); from minidem.cli import main; main()"
TURNS = 5  # timings of each process
Pairs = list[tuple[float, float]]  # old and new


def check_checkout(checkout: Path) -> None:
    """Stop unless the directory holds the package: an installed one would run in its place."""
    if not (checkout / "minidem" / "__init__.py").is_file():
        raise SystemExit(f"{checkout}: no checkout of minidem: it has no minidem/__init__.py")


def run(checkout: Path, arguments: Sequence[str], folder: Path, **environment: str) -> None:
    """Run the command line of a checkout in a folder; stop with its message if it fails."""
    check_checkout(checkout)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", _CALL, str(checkout), *arguments]
    done = subprocess.run(command, cwd=folder, env=clean | environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}: {' '.join(arguments)}: {done.stderr.strip()}")


def ratios(pairs: Pairs) -> list[str]:
    """Median and quartiles of new / old."""
    found = spread([new / old for old, new in pairs])
    return [f"{found['median']:.3f}", f"{found['low']:.3f} to {found['high']:.3f}"]


def medians(pairs: Pairs, scale: float = 1.0) -> list[str]:
    return [short(scale * spread(list(side))["median"]) for side in zip(*pairs, strict=True)]


def lines(
    scenes: Sequence[Scene], threads: Sequence[int], old: Path, repeats: int, seconds: float, say: Callable[[str], None]
) -> Iterator[list[str]]:
    """One line for each scene and number of threads."""
    check_checkout(old)
    for scene in scenes:
        for count in threads:
            wall, cpu = [], []
            for repeat in range(repeats):
                timed = timed_pair(scene, count, old, seconds, old_first=repeat % 2 == 0)
                if timed is None:
                    break
                wall.append(timed[0])
                cpu.append(timed[1])
            else:
                say(f"{scene.name}, {count} threads: {ratios(wall)[0]}")
                yield [scene.name, str(count), *medians(wall, 1e6), *ratios(wall), *ratios(cpu)]


def timed_pair(
    scene: Scene, threads: int, old: Path, seconds: float, old_first: bool
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Wall and CPU time per step (s) of the old and the new checkout; None if the scene does not use as many threads."""
    command = [sys.executable, "-m", "benchmarks.worker", scene.name, str(threads)]
    sides = (0, 1) if old_first else (1, 0)
    workers = {side: Worker(command, (old, ROOT)[side]) for side in sides}
    try:
        if workers[0].ready["threads"] < threads:
            return None
        for worker in workers.values():
            worker.ask("run", scene.warm_up)
        steps = 1
        while (took := min(worker.ask("run", steps)["seconds"] for worker in workers.values())) < seconds:
            steps = int(steps * min(max(1.2 * seconds / took, 1.5), 8.0)) + 1
        timings: dict[int, list[dict[str, float]]] = {0: [], 1: []}
        for turn in range(TURNS):
            for side in sides if turn % 2 == 0 else sides[::-1]:
                timings[side].append(workers[side].ask("run", steps))
    finally:
        for worker in workers.values():
            worker.close()
    old_s, new_s = (
        {name: median(row[name] for row in timings[side]) / steps for name in ("seconds", "cpu")} for side in (0, 1)
    )
    return (old_s["seconds"], new_s["seconds"]), (old_s["cpu"], new_s["cpu"])


def cold_start(scene: Scene, old: Path, repeats: int) -> list[str]:
    """A first run of one step with an empty cache."""
    wall, cpu = [], []
    for repeat in range(repeats):
        took = {}
        for side in (0, 1) if repeat % 2 == 0 else (1, 0):
            with tempfile.TemporaryDirectory() as folder:
                options = ["--set", "time.end=1e-12", "--out", f"{folder}/run", "--threads", "1", "--quiet"]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                began = os.times().elapsed
                run((old, ROOT)[side], ["run", str(scene.path), *options], Path(folder), MINIDEM_CACHE_DIR=f"{folder}/cache")
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                took[side] = (os.times().elapsed - began, after.ru_utime - before.ru_utime)
        wall.append((took[0][0], took[1][0]))
        cpu.append((took[0][1], took[1][1]))
    return [scene.name, *medians(wall), *ratios(wall), *ratios(cpu)]
