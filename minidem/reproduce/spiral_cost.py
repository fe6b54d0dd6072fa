"""SPIRAL paper, Sec. 5: the time that three schemes take for 1.5 s of the chess box at steps of about equal deviation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..figures import new_figure, style_of
from ..study.plan import Study
from ._spiral_timing import middle, ratios
from ._studies import INTEGRATOR, Row, Studies, account, deviation, study_of, varied
from .outcome import Comparison, Outcome
from .spiral_fig7 import LEVEL

TITLE = "SPIRAL paper, Sec. 5: time at equal energy deviation"
PUBLISHED = {"spiral": 19.0, "omelyan": 23.0, "fincham-yade": 304.0}  # s, on eight cores of an AMD Ryzen 9 6900HS
POWER = {"spiral": 2, "omelyan": 2, "fincham-yade": 1}  # of dt, with which the deviation goes (spiral-fig7)
REPEATS = 5
NOTES = (
    "published: seconds on eight cores of an AMD Ryzen 9 6900HS, in YADE; measured: seconds on one core. Only the ratios of "
    "the schemes are to be compared",
    "times are medians over repeats with other seeds, one run at a time, the schemes in turn; ratios are medians of the "
    "ratios in each repeat. Set-up and compiling do not count",
    "deviation: as in spiral-fig7, averaged over the repeats, and as uncertain as few runs are",
    "at equal deviation: the time times (deviation / that of spiral)^(1/p), p = 1 for fincham-yade and 2 for omelyan, as "
    "the time goes with 1/dt and the deviation with dt^p",
)


def repeated(study: Study, repeats: int) -> Study:
    """The cells of the file with seeds 0, 1, ... in turn."""
    rows = [{**cell.changes, "seed": seed} for seed in range(repeats) for cell in study.cells]
    return varied(study, f"{study.name}-{repeats}", rows, {})


def columns(rows: Sequence[Row]) -> tuple[dict[str, NDArray[np.float64]], dict[str, float]]:
    """Times (s), one for each repeat in which all schemes succeeded, and the average deviation (%) of each scheme."""
    failed = {row["seed"] for row in rows if row["status"] != "ok"}
    times, deviations = {}, {}
    for name in PUBLISHED:
        here = [row for row in rows if row[INTEGRATOR] == name and row["seed"] not in failed]
        times[name] = np.array([row["wall_s"] for row in here])
        deviations[name] = float(np.mean([deviation(row) for row in here])) if here else float("nan")
    return times, deviations


def compared(rows: Sequence[Row]) -> list[Comparison]:
    times, deviations = columns(rows)
    over = ratios(times, "spiral")
    others = [name for name in PUBLISHED if name != "spiral"]
    scaled = {name: over[name] * (deviations[name] / deviations["spiral"]) ** (1 / POWER[name]) for name in others}
    return [
        *(Comparison(f"{name}: time (s)", PUBLISHED[name], middle(times[name])) for name in PUBLISHED),
        *(Comparison(f"{name} / spiral: time", PUBLISHED[name] / PUBLISHED["spiral"], over[name]) for name in others),
        *(Comparison(f"{name}: deviation (%)", LEVEL, deviations[name]) for name in PUBLISHED),
        *(
            Comparison(f"{name} / spiral: time at equal deviation", PUBLISHED[name] / PUBLISHED["spiral"], scaled[name])
            for name in others
        ),
    ]


def reproduce(quick: bool, studies: Studies) -> Outcome:
    repeats = 1 if quick else REPEATS
    study = repeated(study_of("spiral-cost"), repeats)
    rows = studies.rows(study, [[f"seed={seed}"] for seed in range(repeats)], processes=1)
    times, deviations = columns(rows)
    figure, (left, right) = new_figure(columns=2)
    names = list(PUBLISHED)
    for axis, ours, paper, label in (
        (left, ratios(times, "spiral"), {n: PUBLISHED[n] / PUBLISHED["spiral"] for n in names}, "time / time of spiral"),
        (right, deviations, dict.fromkeys(names, LEVEL), "energy deviation (%)"),
    ):
        for k, name in enumerate(names):
            axis.bar(k, ours[name], 0.6, color=style_of(name)["color"])
            axis.plot(k, paper[name], "D", color="white", markeredgecolor="black", label="paper" if k == 0 else None)
        axis.set(yscale="log", ylabel=label, xticks=range(len(names)), xticklabels=names)
        axis.legend(fontsize=8, loc="upper left")
    left.set_title("Time for 1.5 s of the chess box")
    right.set_title("Deviation at these steps")
    keys = (INTEGRATOR, "seed", "dt", "steps", "wall_s", "us_per_step", "drift_mean", "drift_last", "status")
    data: dict[str, list[Any]] = {key.rpartition(".")[2]: [row.get(key) for row in rows] for key in keys}
    return Outcome(data, figure, compared(rows), (*NOTES, account(rows)))
