"""SPIRAL paper, Sec. 5: wall time of three schemes for 1.5 s of the chess box, with steps of about equal deviation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...study.plan import Study
from ...views.figures import new_figure
from ...views.styles import style_of
from ..measures import standard_error
from ..outcome import Comparison, Outcome
from ..studies import INTEGRATOR, Failed, Row, Studies, account, deviation, study_of, varied
from .fig7 import LEVEL
from .timing import median, ratios

TITLE = "SPIRAL paper, Sec. 5: time at equal energy deviation"
PUBLISHED = {"spiral": 19.0, "omelyan": 23.0, "fincham-yade": 304.0}  # s, on eight cores of an AMD Ryzen 9 6900HS
RATIO = {name: seconds / PUBLISHED["spiral"] for name, seconds in PUBLISHED.items()}
POWER = {"omelyan": 2, "fincham-yade": 1}  # the deviation grows as this power of dt (spiral-fig7)
REPEATS, QUICK_REPEATS = 20, 3  # the deviation varies much between seeds
NOTES = (
    "published: seconds on eight cores of an AMD Ryzen 9 6900HS, in YADE; measured: seconds on one core. Compare only the "
    "ratios of the schemes. Part of the cost depends on the simulated time, not on the number of steps (neighbour lists, "
    "energy log), so 15.6 times as many steps take less than 15.6 times as long",
    "times are medians over repeats with different seeds, one run at a time, the schemes in turn; ratios are medians of the "
    "ratios of each repeat. Set-up and compilation are not included",
    "omelyan: its three iterations are vectorised here and cost less than the sine and cosine of spiral (see "
    "docs/integrators.md), unlike in YADE",
    "at equal deviation: time * (deviation / deviation of spiral)^(1/p) with p = 1 for fincham-yade and 2 for omelyan, "
    "assuming that the time is proportional to 1/dt and the deviation to dt^p",
)

Array = NDArray[np.float64]


def repeated(study: Study, repeats: int) -> Study:
    """The study with all its cells repeated for the seeds 0 to repeats - 1."""
    rows = [{**cell.changes, "seed": seed} for seed in range(repeats) for cell in study.cells]
    return varied(study, f"{study.name}-{repeats}", rows, {})


def columns(rows: Sequence[Row]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Wall times (s) and energy deviations (%) of each scheme, one per repeat in which all schemes succeeded."""
    failed = {row["seed"] for row in rows if row["status"] != "ok"}
    good = {name: [row for row in rows if row[INTEGRATOR] == name and row["seed"] not in failed] for name in PUBLISHED}
    times = {name: np.array([row["wall_s"] for row in here]) for name, here in good.items()}
    return times, {name: np.array([deviation(row) for row in here]) for name, here in good.items()}


def compared(times: Mapping[str, Array], deviations: Mapping[str, Array]) -> list[Comparison]:
    """Times, deviations and ratios, published and measured."""
    over = ratios(times, "spiral")
    mean = {name: float(values.mean()) for name, values in deviations.items()}
    scaled = {name: over[name] * (mean[name] / mean["spiral"]) ** (1 / power) for name, power in POWER.items()}
    return [
        *(Comparison(f"{name}: time (s)", PUBLISHED[name], median(times[name])) for name in PUBLISHED),
        *(Comparison(f"{name} / spiral: time", RATIO[name], over[name]) for name in POWER),
        *(Comparison(f"{name}: deviation (%)", LEVEL, mean[name]) for name in PUBLISHED),
        *(Comparison(f"{name} / spiral: time at equal deviation", RATIO[name], scaled[name]) for name in POWER),
    ]


def uncertainty(deviations: Mapping[str, Array]) -> str:
    """Mean deviations and their standard errors, as a note."""
    parts = [f"{name} {values.mean():.2g} +- {standard_error(values):.2g}" for name, values in deviations.items()]
    return f"deviation: as in spiral-fig7, mean over the repeats and standard error (%): {', '.join(parts)}"


def drawn(times: Mapping[str, Array], deviations: Mapping[str, Array]) -> Figure:
    """Panels of relative times and of deviations: all runs, and their median or mean."""
    figure, (left, right) = new_figure(columns=2, height=3.2)
    for k, name in enumerate(PUBLISHED):
        look = {"color": style_of(name)["color"], "marker": style_of(name)["marker"]}
        over, drift = times[name] / times["spiral"], deviations[name]
        for axis, values in ((left, over), (right, drift)):
            axis.plot(np.linspace(k - 0.1, k + 0.1, len(values)), values, ".", color=look["color"], alpha=0.4, markersize=5)
        left.plot(k + 0.2, np.median(over), **look)
        right.errorbar(k + 0.2, drift.mean(), np.nan_to_num(standard_error(drift)), capsize=2, **look)
        for axis, value in ((left, RATIO[name]), (right, LEVEL)):
            axis.plot(k - 0.2, value, "x", color="black", label="published" if k == 0 else None)
    left.set(ylabel="time / time of spiral", title="1.5 s of the chess box: runs and median")
    right.set(ylabel="energy deviation (%)", title="Deviation with these steps: runs and mean")
    for axis in (left, right):
        axis.set(yscale="log", xlim=(-0.5, 2.5), xticks=range(3), xticklabels=list(PUBLISHED))
        axis.legend(fontsize=8, loc="lower right")
    return figure


def reproduce(quick: bool, studies: Studies) -> Outcome:
    """The outcome of this target; `quick`: 3 repeats instead of 20."""
    repeats = QUICK_REPEATS if quick else REPEATS
    study = repeated(study_of("spiral-cost"), repeats)
    rows = studies.rows(study, [[f"seed={seed}"] for seed in range(repeats)], processes=1)
    times, deviations = columns(rows)
    if not times["spiral"].size:
        raise Failed(account(rows))
    keys = (INTEGRATOR, "seed", "dt", "steps", "wall_s", "us_per_step", "drift_mean", "drift_last", "status")
    data: dict[str, list[Any]] = {key.rpartition(".")[2]: [row.get(key) for row in rows] for key in keys}
    notes = (*NOTES, uncertainty(deviations), account(rows))
    return Outcome(data, drawn(times, deviations), compared(times, deviations), notes)
