"""Do runs keep the drift that `minidem advise` promises? `python -m benchmarks.advice`

Asks for advice about each scene with its own seed and integrator, then runs the scene with the advised time steps and eight
other seeds. The drift of a run is the larger of drift_mean and drift_last.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Any

from . import report
from .scenes import scene_of

HEAD = ["scene", "edges", "wish", "dt s", "limited by", "median drift / wish", "lowest to highest", "within the wish"]


def drift(name: str, seed: int, dt: float, edges: str) -> float:
    """The drift of one run."""
    import minidem

    changes: dict[str, Any] = {"time.dt": dt, "contact.edges": edges, "seed": seed}
    scenario = minidem.load(scene_of(name).path).with_changes(changes)
    energy = minidem.run(scenario, threads=1, on_note=lambda note: None).summary["energy"]
    return float(max(energy["drift_mean"], energy["drift_last"]))


def lines(names: Sequence[str], wishes: Sequence[float], seeds: Sequence[int], workers: int) -> Iterator[list[str]]:
    """One line for each scene, kind of edges and wish."""
    import minidem
    from minidem.running.outlook import advise

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for name in names:
            for wish in wishes:
                for choice in advise(minidem.load(scene_of(name).path), wish, threads=1)["choices"]:
                    dt, edges = choice["dt"], choice["edges"]
                    if dt is None:
                        yield [name, edges, f"{wish:g}", "none", choice["limit"], "", "", ""]
                        continue
                    runs = [pool.submit(drift, name, seed, dt, edges) for seed in seeds]
                    ratios = sorted(run.result() / wish for run in runs)
                    spread = f"{ratios[0]:.2g} to {ratios[-1]:.2g}"
                    within = f"{sum(ratio <= 1 for ratio in ratios)} of {len(ratios)}"
                    yield [name, edges, f"{wish:g}", f"{dt:.2g}", choice["limit"], f"{median(ratios):.2g}", spread, within]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advice", description=__doc__.partition("\n")[0])
    parser.add_argument("--scenes", default="rods,chess", metavar="A,B", help="scenes [default: rods,chess]")
    parser.add_argument("--drifts", default="1e-4,1e-5,1e-6", metavar="X,Y", help="wishes [default: 1e-4,1e-5,1e-6]")
    parser.add_argument("--seeds", type=int, default=8, metavar="N", help="number of seeds, from --first on [default: 8]")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="first seed [default: 0]")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="parallel runs [default: 2]")
    chosen = parser.parse_args()
    wishes, seeds = [float(wish) for wish in chosen.drifts.split(",")], range(chosen.first, chosen.first + chosen.seeds)
    found = []
    for line in lines(chosen.scenes.split(","), wishes, seeds, chosen.workers):
        print("  ".join(line), file=sys.stderr, flush=True)
        found.append(line)
    print(report.table(HEAD, found))


if __name__ == "__main__":
    main()
