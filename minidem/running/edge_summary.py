"""Where the energy error of a run comes from: the edges of contacts, or the bounded error of the scheme inside them."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
OF_THE_TWO = {"drift": "is smaller", "bounded": "dominates"}  # what the bounded error is, by which of the two is larger


class EdgeSummary(NamedTuple):
    """All but the first two and the last are fractions of the initial energy; None for what is not known.

    Rows of the energy log that fall into contacts differ from the others by the bounded error of the scheme, of order dt^2.
    `drift` is free of it: |E - E0| in the last row without contacts or, if all rows have contacts, the same of the modified
    energy (modified_energy.py). `drift_free` is the mean of |E - E0| over the rows without contacts: the number to compare
    runs with corrected edges by, since the bounded error hides the rest in the mean and the last of all rows.
    """

    edges: str  # "plain" or "corrected"
    contacts_entered: int
    error: float | None  # made at the edges or, if these are corrected, taken out there
    explained: float | None  # the part of the energy deviation that the error of plain edges explains
    drift: float | None
    drift_free: float | None  # also None if all rows have contacts
    bounded: float | None  # root mean square of the bounded error in rows with contacts; if all have some, at the end
    larger: str | None  # which of the last two is: "drift" or "bounded"


@np.errstate(all="ignore")  # the run may have blown up
def edge_summary(
    edges: str, entered: int, total: Array, initial: Array, elastic: Array, error: Array, bounded_now: float | None = None
) -> EdgeSummary:
    """The summary of a run from its energy log: arrays (rows,) in J. `bounded_now` is the bounded error in the last row, J,
    above that of the initial state, if all rows have contacts; None if not known."""
    nothing = EdgeSummary(edges, entered, None, None, None, None, None, None)
    if not total.size or not np.isfinite(total).all() or not np.isfinite(error).all() or not initial.all():
        return nothing
    deviation, error = (total - initial) / np.abs(initial), error / np.abs(initial)
    free = np.flatnonzero(elastic == 0)
    if free.size:
        last = int(free[-1])
        drift, free_mean = float(deviation[last]), float(np.abs(deviation[free]).mean())
        inside = np.flatnonzero(elastic != 0)
        smooth = deviation - error if edges == "plain" else deviation  # what edges do not explain
        scatter = smooth[inside] - np.interp(inside, free, smooth[free])
        bounded = float(np.sqrt(np.mean(scatter**2))) if scatter.size else 0.0
    elif bounded_now is None:
        return EdgeSummary(edges, entered, float(error[-1]), None, None, None, None, None)
    else:
        last, free_mean = -1, None
        bounded = abs(float(bounded_now / initial[last]))
        drift = float(deviation[last]) - bounded_now / abs(float(initial[last]))
    if not np.isfinite((error[-1], error[last], drift, bounded)).all():
        return nothing
    explained = float(error[last]) / drift if edges == "plain" and drift else None
    if explained is not None and not math.isfinite(explained):
        explained = None
    larger = "drift" if abs(drift) >= bounded else "bounded"
    return EdgeSummary(edges, entered, float(error[-1]), explained, abs(drift), free_mean, bounded, larger)


def lines_of(found: dict[str, Any]) -> dict[str, str]:
    """Lines for the table that `minidem run` prints, by name, of a summary as a mapping."""
    contacts = f"{found['contacts_entered']:,} contact{'' if found['contacts_entered'] == 1 else 's'} entered"
    if found["drift"] is None:
        return {"edges": f"{found['edges']}, {contacts}"}
    more = f"bounded error within contacts {found['bounded']:.3g}, which {OF_THE_TWO[found['larger']]}"
    if "drift_free" not in found:  # of an earlier version
        error = {"drift": f"{found['drift']:.3g}; {more}"}
    elif found["drift_free"] is None:
        error = {"drift": f"{found['drift']:.3g} of the modified energy, since all rows have contacts; {more}"}
    else:
        sizes = f"mean {found['drift_free']:.3g}, last {found['drift']:.3g} in rows without contacts"
        error = {"free drift": f"{sizes}; {more}"}
    if found["contacts_entered"] == 0 and found["bounded"] == 0:
        return {"edges": f"{found['edges']}, {contacts}"}
    if found["edges"] == "corrected":
        return {"edges": f"corrected, {contacts}; the correction took out {found['error']:.3g}"} | error
    explained = "" if found["explained"] is None else f", {100 * found['explained']:.1f} % of the deviation"
    return {"edges": f"plain, {contacts}; energy error made there {found['error']:.3g}{explained}"} | error
