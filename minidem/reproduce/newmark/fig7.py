"""Krysl and Endres, Fig. 7: spatial angular momenta of the book toss."""

from ..outcome import Comparison, Outcome, stacked
from .toss import CASE, LONGER, NOTES, momentum_change, toss_figure, tosses

TITLE = "Krysl and Endres, Fig. 7: spatial angular momenta of the book toss"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer samples."""
    runs = tosses(quick)
    said = {"newmark-body": "not exact, limited", "simo-wong": "exact"}
    comparisons = [
        Comparison(
            f"{name}, dt {dt:g} s: largest |L - L0| / |L0| after the blow",
            said[name],
            float(momentum_change(motion, dt).max()),
        )
        for (name, dt), motion in runs.items()
    ]
    for (name, dt), motion in tosses(quick, LONGER).items():
        what = f"{name}, dt {dt:g} s: largest |L - L0| / |L0| until {LONGER:g} s"
        comparisons.append(Comparison(what, said[name], float(momentum_change(motion, dt).max())))
    figure = toss_figure(
        runs, lambda motion: motion.momentum(CASE.inertia)[:, :, 0], r"\pi", "J s, world frame", "center right"
    )
    data = stacked(
        {
            "integrator": name,
            "dt_s": dt,
            "time_s": motion.time,
            **{f"momentum_{axis}_Js": motion.momentum(CASE.inertia)[:, c, 0] for c, axis in enumerate("xyz")},
        }
        for (name, dt), motion in runs.items()
    )
    return Outcome(data, figure, comparisons, (*NOTES, "L0 is the angular momentum just after the blow"))
