"""The energy of a run with plain edges is a random walk over its contacts: measured, expected and accounted for."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ...running.simulation import Simulation
from ...views.figures import log_log, new_figure
from ...views.styles import numbered_style
from ..measures import log_slope
from ..outcome import Comparison, Outcome, stacked
from ..studies import study_of
from .forms import Array

TITLE = "Edges of contacts: the energy as a random walk over the contacts"
SCENES = {"rods": ("edge-rods", 38e-6, 20.0), "chess": ("edge-chess", 2.8e-6, 1.5)}  # study, dt (s), duration (s)
SEEDS, QUICK_SEEDS = 100, 16
FIRST, ROWS = 1 / 40, 60  # the rows are spaced evenly on a log scale from this part of the duration to its end
NOTES = (
    "published: nothing that we found",
    "rms over the seeds of (E - E0) / E0, only of seeds without any contact at that time: within a contact the energy "
    "differs from that of the scheme by order dt^2",
    "expected: the standard deviation that follows from the speeds of the edges alone (Simulation.edge_deviation). It grows "
    "faster than the square root where these speeds grow in the course of the runs",
    "explained: 1 - rms(E - E0 - account) / rms(E - E0) over the rows of a run without contact; median over the seeds. The "
    "account is Simulation.edge_error",
    "the values of a walk are correlated, so exponents from a few seeds scatter",
)


@dataclass(frozen=True)
class Walks:
    """Runs of one scene with different seeds; arrays (seeds, rows). Energies are relative to the initial energy."""

    contacts: Array  # that began so far
    deviation: Array  # E - E0; NaN while any bodies touch
    account: Array
    expected: Array  # standard deviation

    @property
    def rms(self) -> Array:
        """Of the deviation over the seeds, (rows,)."""
        return np.asarray(np.sqrt(np.nanmean(self.deviation**2, axis=0)))

    @property
    def expected_rms(self) -> Array:
        """Of the expected deviation over the seeds, (rows,)."""
        return np.asarray(np.sqrt(np.mean(self.expected**2, axis=0)))

    @property
    def mean_contacts(self) -> Array:
        """Over the seeds, (rows,)."""
        return np.asarray(self.contacts.mean(axis=0))

    @property
    def explained(self) -> float:
        """Median share of the deviation that the account explains."""
        rest = np.nanmean((self.deviation - self.account) ** 2, axis=1) / np.nanmean(self.deviation**2, axis=1)
        return float(np.median(1.0 - np.sqrt(rest)))


def walks_of(scene: str, seeds: int) -> Walks:
    """Runs of a scene with plain edges."""
    study, dt, end = SCENES[scene]
    base = study_of(study).base.with_changes({"time.dt": dt, "time.end": end, "contact.edges": "plain"})
    steps = np.unique(np.rint(np.geomspace(FIRST, 1.0, ROWS) * end / dt).astype(int))
    rows = np.full((4, seeds, len(steps)), np.nan)
    for seed in range(seeds):
        simulation = Simulation(base.with_changes({"seed": seed}), on_note=lambda note: None)
        start = simulation.initial_energy
        for k, (before, step) in enumerate(itertools.pairwise([0, *steps.tolist()])):
            simulation.advance(step - before)
            energies = simulation.energies
            free = energies["elastic"] == 0.0
            deviation = (energies["total"] - start) / start if free else np.nan
            booked, expected = simulation.edge_error / start, simulation.edge_deviation / start
            rows[:, seed, k] = simulation.contacts_entered, deviation, booked, expected
    return Walks(*rows)


def compared(walks: Mapping[str, Walks]) -> list[Comparison]:
    """Exponents, ratios to what is expected, and shares explained."""
    found = []
    for name, walk in walks.items():
        ratio = float(np.exp(np.mean(np.log(walk.rms / walk.expected_rms))))
        found += [
            Comparison(f"{name}: contacts per run", None, float(walk.mean_contacts[-1])),
            Comparison(f"{name}: rms deviation at the end", None, float(walk.rms[-1])),
            Comparison(
                f"{name}: exponent of the number of contacts", "1/2 (derived)", log_slope(walk.mean_contacts, walk.rms)
            ),
            Comparison(
                f"{name}: the same, of the expected deviation", None, log_slope(walk.mean_contacts, walk.expected_rms)
            ),
            Comparison(f"{name}: rms deviation / expected, geometric mean of the rows", "1 (derived)", ratio),
            Comparison(f"{name}: share of the deviation that the account explains", None, walk.explained),
        ]
    return found


def drawn(walks: Mapping[str, Walks]) -> Figure:
    """Deviation against the number of contacts, a panel per scene."""
    figure, axes = new_figure(columns=2, width=9.2, height=4.4)
    for axis, (name, walk) in zip(axes, walks.items(), strict=True):
        single = {"color": "0.75", "linestyle": "none", "marker": ".", "markersize": 2, "zorder": 1}
        axis.plot(walk.contacts.ravel(), np.abs(walk.deviation).ravel(), **single, label="single runs, |E − E$_0$| / E$_0$")
        rest = np.sqrt(np.nanmean((walk.deviation - walk.account) ** 2, axis=0))
        look = {"linestyle": "none", "markersize": 4}
        axis.plot(walk.mean_contacts, walk.rms, **numbered_style(0, "rms of all runs") | look)
        axis.plot(walk.mean_contacts, rest, **numbered_style(1, "rms less the account") | look)
        axis.plot(walk.mean_contacts, walk.expected_rms, color="black", linewidth=1.2, label="expected (law of edges)")
        line = walk.expected_rms[-1] * np.sqrt(walk.mean_contacts / walk.mean_contacts[-1])
        axis.plot(walk.mean_contacts, line, color="0.4", linestyle="--", linewidth=1, label="slope 1/2")
        _, dt, end = SCENES[name]
        log_log(axis, "contacts that began", "(E − E$_0$) / E$_0$", f"{name}, dt = {dt:g} s, {end:g} s")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set(ylim=(walk.expected_rms[0] / 300, 10 * walk.expected_rms[-1]))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer seeds."""
    seeds = QUICK_SEEDS if quick else SEEDS
    walks = {name: walks_of(name, seeds) for name in SCENES}
    parts: list[dict[str, Any]] = [
        {
            "scene": name,
            "contacts": walk.mean_contacts,
            "rms_deviation": walk.rms,
            "expected_deviation": walk.expected_rms,
            "rms_less_account": np.sqrt(np.nanmean((walk.deviation - walk.account) ** 2, axis=0)),
            "runs_without_contact": np.isfinite(walk.deviation).sum(axis=0),
        }
        for name, walk in walks.items()
    ]
    return Outcome(stacked(parts), drawn(walks), compared(walks), (*NOTES, f"{seeds} seeds per scene"))
