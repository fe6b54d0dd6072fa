"""What the package gains from numba's internals: each trick is switched off, and the package timed against itself.

    python -m benchmarks.internals steps [VARIANT ...]   time per step of four scenes, all variants in turns
    python -m benchmarks.internals start [VARIANT ...]   the first run of scenarios/rods.toml with an empty cache, in turns
    python -m benchmarks.internals calls                 `Simulation.advance(1)` with and without `compiled_for`

A variant is a process in which attributes of numba or llvmlite are missing, so that the package falls back to the plain way
(see minidem/engine/compile/kernels.py). The columns are CPU time and wall time, each with the median of its ratio
to that of the package as it is. CPU time depends less on what else the machine does.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

from .protocol import Worker
from .scenes import SCENES

ROUNDS = {"steps": 15, "start": 5, "calls": 15}
SECONDS = 0.2  # of CPU time per round and variant
SCENE_NAMES = ("chess", "rods", "dense-10k", "trimers")
CALLS = 2000
# What is missing. A class of numba is replaced by an empty one: numba itself keeps the one that it has loaded.
VARIANTS = {
    "package": [],
    "no parts": ["numba.core.compiler.Compiler"],
    "no inlined parts": ["numba.core.codegen.CPUCodeLibrary"],
    "references counted": ["numba.core.options.DefaultOptions._nrt"],
    "not inlined": ["numba.core.options.DefaultOptions.forceinline"],
    "wrappers": [
        "numba.core.options.DefaultOptions.no_cpython_wrapper",
        "numba.core.options.DefaultOptions.no_cfunc_wrapper",
    ],
    "tuples for fours": ["llvmlite.ir.VectorType"],
    "numba's loops": ["numba.core.typing.context.BaseContext"],
    "nothing": [
        "numba.core.compiler.Compiler",
        "numba.core.options.DefaultOptions",
        "numba.extending.intrinsic",
    ],
}
Times = dict[str, list[dict[str, float]]]  # of each variant and round


def hide(name: str) -> None:
    """Make the attributes of a variant missing."""
    import numba
    import numpy as np

    numba.njit(lambda x: x[0] + 1.0)(np.ones(1))  # loads the rest of numba
    for path in VARIANTS[name]:
        parent, attribute = path.rsplit(".", 1)
        if attribute in ("Compiler", "CPUCodeLibrary", "BaseContext", "DefaultOptions"):
            setattr(import_module(parent), attribute, type(attribute, (), {}))
        else:
            owner: Any = numba.core.options.DefaultOptions if parent.endswith("Options") else import_module(parent)
            delattr(owner, attribute)


def command(*words: str) -> list[str]:
    """This program in another process."""
    return [sys.executable, "-m", "benchmarks.internals", *words]


def steps(names: list[str]) -> None:
    """Print the time per step of each scene."""
    with tempfile.TemporaryDirectory() as folder:
        for scene in SCENE_NAMES:
            workers = {}
            for name in names:
                os.environ["MINIDEM_CACHE_DIR"] = f"{folder}/{name}"
                workers[name] = Worker(command("worker", name, scene))
            for worker in workers.values():
                worker.ask("run", SCENES[scene].warm_up)
            count = 1
            while workers["package"].ask("run", count)["cpu"] < SECONDS:
                count *= 2
            took: Times = {name: [] for name in names}
            for _ in range(ROUNDS["steps"]):
                for name, worker in workers.items():
                    took[name].append(worker.ask("run", count))
            for worker in workers.values():
                worker.close()
            report(scene, took, 1e6 / count, "us per step")


def start(names: list[str]) -> None:
    """Print the time of the first run ever."""
    took: Times = {name: [] for name in names}
    for _ in range(ROUNDS["start"]):
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                options = ["--set", "time.end=1e-3", "--out", f"{folder}/run", "--quiet"]
                environment = os.environ | {"MINIDEM_CACHE_DIR": folder}
                words = command("run", name, "run", "scenarios/rods.toml", *options)
                cpu, began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
                subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
                seconds = time.perf_counter() - began
                cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - cpu
                took[name].append({"cpu": cpu, "seconds": seconds})
    report("cold start", took, 1.0, "s")


def calls() -> None:
    """Print the time of a call that makes one step."""
    from minidem.engine.compile import kernels
    from minidem.running import simulation

    from .worker import Simulation, scenario_of

    functions = {"package": kernels.compiled_for, "plain calls": lambda function, arguments: function}
    runs = {}
    for name, compiled_for in functions.items():
        simulation.compiled_for = compiled_for
        runs[name] = Simulation(scenario_of(SCENES["rods"]), threads=1)
        runs[name].advance(1000)
    took: Times = {name: [] for name in runs}
    for _ in range(ROUNDS["calls"]):
        for name, run in runs.items():
            cpu, began = time.process_time(), time.perf_counter()
            for _ in range(CALLS):
                run.advance(1)
            took[name].append({"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began})
    report("advance(1)", took, 1e6 / CALLS, "us per call")


def report(what: str, took: Times, factor: float, unit: str) -> None:
    """Print medians and ratios to the package."""
    for name, rounds in took.items():
        cells = []
        for clock in ("cpu", "seconds"):
            own, package = ([times[clock] for times in one] for one in (rounds, took["package"]))
            ratio = statistics.median(a / b for a, b in zip(own, package, strict=True))
            cells.append(f"{factor * statistics.median(own):8.4g} {ratio:6.3f}")
        print(f"{what:10} {name:20} cpu {cells[0]}   wall {cells[1]} {unit}", flush=True)


def main(what: str, *words: str) -> None:
    names = ["package", *(words or (name for name in VARIANTS if name != "package"))]
    if what == "steps":
        steps(names)
    elif what == "start":
        start(names)
    elif what == "calls":
        calls()
    else:  # another process of the above
        hide(words[0])
        if what == "worker":
            from . import worker

            worker.main(words[1], 1)
        else:
            from minidem.cli import main as minidem

            sys.argv = ["minidem", *words[1:]]
            minidem()


if __name__ == "__main__":
    main(*sys.argv[1:])
