"""How long do pictures and films take? `python -m benchmarks.pictures`

Each scene is run for a moment and drawn by the commands of users, in new processes: "cold" is the first call, "warm" the
fastest of the others. A film is timed with the seconds per picture beside the whole.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import report
from .scenes import scenario_of, scene_of

HEAD = ["scene", "spheres", "picture cold s", "warm s", "film", "film s", "s per picture"]
STEPS = {"chess": 40_000}  # of the run; other scenes two per picture
FEW = 20  # pictures of the film of a large scene
LARGE = 10_000  # spheres


def elapsed(*words: str | Path) -> float:
    """Wall time of a command of minidem, s."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "minidem.cli", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def timed(name: str, pictures: int, repeats: int, directory: Path) -> list[str]:
    """One line for a scene: pictures of 1200x1000 pixels, and a film of 1280x720."""
    import minidem

    scenario = scenario_of(scene_of(name))
    sim = minidem.Simulation(scenario)
    sim.advance(1)
    end = STEPS.get(name, 2 * pictures) * sim.time
    run = directory / name
    minidem.run(scenario.with_changes({"time.end": end, "output.frames": pictures}), run).trajectory.close()
    with minidem.Trajectory(run) as trajectory:
        spheres = len(trajectory.sphere_layout[0])
    count = FEW if spheres > LARGE else pictures
    view = ["view", run, "--frame", "1", "--screenshot", directory / "a.png", "--overwrite"]
    cold, *warm = (elapsed(*view) for _ in range(1 + repeats))
    film = elapsed("movie", run, "--out", directory / "a.mp4", "--frames", f":{count}", "--overwrite", "--quiet")
    numbers = [f"{spheres:,}", f"{cold:.1f}", f"{min(warm):.1f}", f"{count} pictures", f"{film:.1f}", f"{film / count:.2f}"]
    return [name, *numbers]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--scenes", default="chess,dense-10k,dense-100k", metavar="A,B", help="scenes [default: chess,dense-10k,dense-100k]"
    )
    parser.add_argument("--pictures", type=int, default=90, metavar="N", help="pictures of a film [default: 90]")
    parser.add_argument("--repeats", type=int, default=2, metavar="N", help="warm timings [default: 2]")
    chosen = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as directory:
        lines = [timed(name, chosen.pictures, chosen.repeats, Path(directory)) for name in chosen.scenes.split(",")]
    print(report.table(HEAD, lines))


if __name__ == "__main__":
    main()
