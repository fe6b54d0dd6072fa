"""What the package gains from numba's internals: each trick is replaced by the plain way, and timed against the package.

    python -m benchmarks.internals steps [VARIANT ...]   time per step of four scenes, all variants in turns
    python -m benchmarks.internals start [VARIANT ...]   the first run of scenarios/rods.toml with an empty cache, in turns
    python -m benchmarks.internals calls                 `Simulation.advance(1)` with and without `compiled_for`

A variant is a process that patches minidem.engine.compile before anything else of minidem is imported. Ratios are medians
over the rounds of (variant / package) in CPU time, which depends less on other users of the machine than wall time does.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .protocol import Worker
from .scenes import SCENES

ROUNDS = {"steps": 15, "start": 5}
SECONDS = 0.2  # per round and variant
SCENE_NAMES = ("chess", "rods", "dense-10k", "trimers")


def decorators(parts: bool = True, inlined_parts: bool = True, **options: Any) -> None:
    """`internal`, `inlined` and `fused` with other options; those that are None are left out."""
    from minidem.engine.compile import kernels
    from numba import njit

    common = dict(error_model="numpy", fastmath=False, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    common["pipeline_class"] = kernels._Part if parts else None
    inline: dict[str, Any] = {"forceinline": True}
    if inlined_parts and parts:
        inline["pipeline_class"] = kernels._InlinedPart

    def compiler(**more: Any) -> Any:
        merged = common | more | options
        return njit(**{name: value for name, value in merged.items() if value is not None})

    kernels.internal, kernels.inlined = compiler(), compiler(**inline)
    kernels.fused = compiler(forceinline=True, fastmath={"contract"})
    if "_nrt" in options:
        wanted = {name: value for name, value in options.items() if name == "_nrt" and value is not None}
        kernels._for_python = partial(njit, nogil=True, no_cfunc_wrapper=True, **wanted)
        kernels.kernel.__defaults__ = (kernels._for_python,)


def plain_fours() -> None:
    """Fours as tuples of numbers."""
    import numpy as np
    from minidem.engine.compile import fours
    from minidem.engine.compile.kernels import inlined

    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)

    def put_four(array, k, four):
        array[k], array[k + one], array[k + two], array[k + three] = four

    plain = {
        "four_at": lambda array, k: (array[k], array[k + one], array[k + two], array[k + three]),
        "put_four": put_four,
        "four_of": lambda a, b, c, d: (a, b, c, d),
        "numbers_of": lambda four: four,
        "difference": lambda a, b: (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]),
        "total": lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]),
        "multiple": lambda four, factor: (four[0] * factor, four[1] * factor, four[2] * factor, four[3] * factor),
        "fourth_negated": lambda four: (four[0], four[1], four[2], -four[3]),
    }
    for name, function in plain.items():
        setattr(fours, name, inlined(function))


def vectorised_straight_code() -> None:
    """LLVM's SLP vectoriser, which numba leaves off."""
    from numba import config

    config.SLP_VECTORIZE = 1


def plain_loop(noalias: bool, rows: bool = True) -> None:
    """The loop over bodies by numba, over rows that are sliced before it; for schemes of three values only."""
    import numpy as np
    from minidem.engine.compile import kernels, lanes
    from numba import njit
    from numba.core.compiler import Compiler

    class NoAlias(Compiler):
        def define_pipelines(self):
            self.state.flags.noalias = True
            return super().define_pipelines()

    chosen = {"pipeline_class": NoAlias} if noalias else {"forceinline": True}
    common = dict(error_model="numpy", fastmath=False, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)

    def over_bodies(one_body, values):
        assert values == 3

        def over_rows(q, s, t, i, first, last, dt):
            q0, q1, q2, q3 = q
            s0, s1, s2 = s
            t0, t1, t2 = t
            i0, i1, i2, i3, i4, i5, i6, i7, i8 = i
            for b in range(np.uint64(first), np.uint64(last)):
                moments = (i0[b], i1[b], i2[b], i3[b], i4[b], i5[b], i6[b], i7[b], i8[b])
                new_q, new_s = one_body(
                    (q0[b], q1[b], q2[b], q3[b]), (s0[b], s1[b], s2[b]), (t0[b], t1[b], t2[b]), moments, dt
                )
                q0[b], q1[b], q2[b], q3[b] = new_q
                s0[b], s1[b], s2[b] = new_s

        over = njit(**common | chosen)(over_rows)

        def loop(q, s, t, i, first, last, dt):
            over(
                (q[0], q[1], q[2], q[3]),
                (s[0], s[1], s[2]),
                (t[0], t[1], t[2]),
                (i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8]),
                first,
                last,
                dt,
            )

        def plain(q, s, t, i, first, last, dt):
            for b in range(np.uint64(first), np.uint64(last)):
                moments = (i[0, b], i[1, b], i[2, b], i[3, b], i[4, b], i[5, b], i[6, b], i[7, b], i[8, b])
                new_q, new_s = one_body(
                    (q[0, b], q[1, b], q[2, b], q[3, b]), (s[0, b], s[1, b], s[2, b]), (t[0, b], t[1, b], t[2, b]), moments, dt
                )
                q[0, b], q[1, b], q[2, b], q[3, b] = new_q
                s[0, b], s[1, b], s[2, b] = new_s

        return kernels.inlined(loop if rows else plain)

    lanes.over_bodies = over_bodies


def without(name: str) -> None:
    """lanes.py without one kind of metadata."""
    from minidem.engine.compile import lanes

    setattr(lanes, name, lambda *arguments: None)


def plain_calls() -> None:
    from minidem.engine.compile import kernels

    kernels.compiled_for = lambda function, arguments: function


VARIANTS: dict[str, Callable[[], Any]] = {
    "package": lambda: None,
    "no _Part": partial(decorators, parts=False),
    "no _InlinedPart": partial(decorators, inlined_parts=False),
    "counted references": partial(decorators, _nrt=None),
    "no forceinline": partial(decorators, forceinline=None),
    "with wrappers": partial(decorators, parts=False, no_cpython_wrapper=None, no_cfunc_wrapper=None),
    "tuples for fours": plain_fours,
    "tuples for fours, SLP": lambda: (plain_fours(), vectorised_straight_code()),
    "SLP": vectorised_straight_code,
    "plain loop": partial(plain_loop, False, False),
    "plain loop over rows": partial(plain_loop, False),
    "plain loop, noalias": partial(plain_loop, True),
    "no interleave": partial(without, "_interleave"),
    "no alias metadata": partial(without, "_tell_rows_apart"),
    "plain calls": plain_calls,
}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.internals", *words]


def steps(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for scene in SCENE_NAMES:
            workers = {}
            for name in names:
                os.environ["MINIDEM_CACHE_DIR"] = f"{folder}/{name}"
                workers[name] = Worker(command("worker", name, scene))
            count = 1
            for worker in workers.values():
                worker.ask("run", SCENES[scene].warm_up)
            while workers["package"].ask("run", count)["cpu"] < SECONDS:
                count *= 2
            took: dict[str, list[dict[str, float]]] = {name: [] for name in names}
            for _ in range(ROUNDS["steps"]):
                for name, worker in workers.items():
                    took[name].append(worker.ask("run", count))
            for worker in workers.values():
                worker.close()
            for name in names:
                report(scene, name, took, 1e6 / count, "us per step")


def start(names: list[str]) -> None:
    took: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(ROUNDS["start"]):
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                options = ["--set", "time.end=1e-3", "--out", f"{folder}/run", "--quiet"]
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
                environment = os.environ | {"MINIDEM_CACHE_DIR": folder}
                words = command("run", name, "run", "scenarios/rods.toml", *options)
                subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
                seconds = time.perf_counter() - began
                took[name].append({"cpu": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, "seconds": seconds})
    for name in names:
        report("cold start", name, took, 1.0, "s")


def report(scene: str, name: str, took: dict[str, list[dict[str, float]]], factor: float, unit: str) -> None:
    cells = []
    for clock in ("cpu", "seconds"):
        own, other = ([round[clock] for round in took[which]] for which in (name, "package"))
        ratio = statistics.median(a / b for a, b in zip(own, other, strict=True))
        cells.append(f"{factor * statistics.median(own):8.4g} {ratio:6.3f}")
    print(f"{scene:10} {name:24} {cells[0]}   wall {cells[1]} {unit}", flush=True)


def calls() -> None:
    """us per call of `advance(1)`."""
    from minidem.engine.compile import kernels
    from minidem.running import simulation

    from .worker import prepared, scenario_of

    functions = {"package": kernels.compiled_for, "plain calls": lambda function, arguments: function}
    runs = {}
    for name, compiled_for in functions.items():
        simulation.compiled_for = compiled_for
        runs[name] = prepared(scenario_of(SCENES["rods"]), "rods", 1)
        runs[name].advance(1000)
    took: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    for _ in range(ROUNDS["steps"]):
        for name, run in runs.items():
            began, cpu = time.perf_counter(), time.process_time()
            for _ in range(2000):
                run.advance(1)
            took[name].append({"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began})
    for name in runs:
        report("advance(1)", name, took, 1e6 / 2000, "us per call")


def main(what: str, *words: str) -> None:
    names = ["package", *(words or (name for name in VARIANTS if name != "package"))]
    if what == "steps":
        steps(names)
    elif what == "start":
        start(names)
    elif what == "calls":
        calls()
    elif what == "worker":
        VARIANTS[words[0]]()
        from . import worker

        worker.main(words[1], 1)
    else:
        VARIANTS[words[0]]()
        from minidem.cli import main as minidem

        sys.argv = ["minidem", *words[1:]]
        minidem()


if __name__ == "__main__":
    main(*sys.argv[1:])
