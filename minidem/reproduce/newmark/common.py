"""Shared by the figures of Krysl and Endres: their norms, convergence curves, and styles of lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...rotor.bench import integrated, steps_and_dt
from ...rotor.cases import Case
from ...rotor.motion import Motion
from ...views.figures import log_log, new_figure
from ...views.styles import style_of
from ..measures import log_slope
from ..outcome import Comparison, stacked

Array = NDArray[np.float64]

NAMES = {"newmark-body": "NMB", "newmark-spatial": "NMS", "simo-wong": "SW", "midpoint": "AKW", "hulbert": "HSTAGM"}
ATTITUDE, MOMENTUM = "attitude", "momentum"
NORMS = {ATTITUDE: "‖R − R_reference‖₂", MOMENTUM: "‖Π − Π_reference‖₂ (J s), body frame"}
REFERENCE_NOTE = (
    "errors at the end time are relative to the case's reference (Runge-Kutta of order 8 to 1e-13; for the free body a "
    "power series); the paper uses its own solution with an extremely small step"
)
SLOPE_NOTE = "slopes are fitted to the four smallest steps"
STEP_NOTE = "steps are adjusted so that a whole number of them reaches the end time"


def look(integrator: str) -> dict[str, Any]:
    """Keyword arguments of `plot` for an integrator, with its name in the paper."""
    return {
        **style_of(integrator),
        "label": f"{integrator} ({NAMES[integrator]})",
        "markerfacecolor": "none",
        "markersize": 5,
        "linewidth": 1.2,
    }


def matrices(motion: Motion) -> Array:
    """Rotation matrices of the only body, shape (k, 3, 3)."""
    return np.stack([motion.axis(j)[:, :, 0] for j in range(3)], axis=-1)


@dataclass(frozen=True)
class Convergence:
    """Errors at the end time against the step, in the paper's two norms."""

    dts: Array  # s, descending
    errors: Mapping[tuple[str, str], Array]  # by (integrator, norm)

    @property
    def integrators(self) -> list[str]:
        """Names, in the order of the curves."""
        return list(dict.fromkeys(name for name, _ in self.errors))

    def slope(self, integrator: str, norm: str) -> float:
        """Slope of log(error) against log(dt) for the four smallest steps."""
        return log_slope(self.dts[-4:], self.errors[integrator, norm][-4:])

    def ratio(self, one: str, other: str, norm: str) -> float:
        """Error of integrator `one` divided by that of `other`, at the smallest step."""
        return float(self.errors[one, norm][-1] / self.errors[other, norm][-1])

    def slopes(self, norms: Sequence[str], published: str | None = None) -> list[Comparison]:
        """The slopes of all curves, as comparisons."""
        return [
            Comparison(f"{name}, {norm}: slope", published, self.slope(name, norm))
            for norm in norms
            for name in self.integrators
        ]

    def columns(self, norms: Sequence[str]) -> dict[str, list[Any]]:
        """Columns of the CSV file."""
        return stacked(
            {"integrator": name, "dt_s": self.dts, **{f"error_{norm}": self.errors[name, norm] for norm in norms}}
            for name in self.integrators
        )

    def figure(self, norms: Sequence[str], title: str, top: float) -> Figure:
        """A panel per norm. The y axis ends at `top`: larger errors are those of unstable runs."""
        figure, axes = new_figure(1, len(norms), width=5.6 if len(norms) == 1 else 0.0, height=4.0)
        for axis, norm in zip(np.atleast_1d(axes), norms, strict=True):
            for name in self.integrators:
                axis.plot(self.dts, self.errors[name, norm], **look(name))
            lowest = min(float(np.nanmin(self.errors[name, norm])) for name in self.integrators)
            guide = self.dts[len(self.dts) // 2 :]
            axis.plot(guide, 0.4 * lowest * (guide / self.dts[-1]) ** 2, color="grey", linewidth=0.8, label="slope 2")
            log_log(axis, "time step (s)", NORMS[norm])
            axis.set_ylim(top=top)
            axis.legend(fontsize=7)
        figure.suptitle(title, fontsize=10)
        return figure


def converge(case: Case, integrators: Sequence[str], dts: Sequence[float], end: float | None = None) -> Convergence:
    """Errors of the integrators at each step (s, descending); without `end` (s), that of the case."""
    end = case.end if end is None else end
    exact = case.reference(np.array([end]))
    attitude = matrices(exact)[0]
    steps = np.array([steps_and_dt(end, dt)[1] for dt in dts])
    errors = {}
    for name in integrators:
        motions = [integrated(case, name, dt, end, samples=2) for dt in steps]
        errors[name, ATTITUDE] = np.array([np.linalg.norm(matrices(m)[-1] - attitude, 2) for m in motions])
        errors[name, MOMENTUM] = np.array([np.linalg.norm(case.inertia * (m.omega[-1] - exact.omega[-1])) for m in motions])
    return Convergence(steps, errors)


def halved(largest: float, count: int, quick: bool) -> list[float]:
    """`count` steps (s), each half of the one before; every other one if `quick`, including the smallest."""
    dts = [largest / 2**k for k in range(count)]
    return dts[(count - 1) % 2 :: 2] if quick else dts
