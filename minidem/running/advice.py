"""The longest time step that keeps the energy within a wish, from pilot runs.

The wish is a drift: the larger of the mean and the last of |E - E0| / |E0| over the energy log of a run. Two runs of one
scenario differ, since the errors of contacts are random. So the drift of a time step is a distribution, and the advised time
step is the longest with which pilots expect nine of ten runs to stay within the wish, and half of them within half of it.
With corrected edges a few contacts make most of the error. Pilots may miss these: in the chess box seven of ten runs stay
within the wish. Nothing depends on the wall clock except the estimated wall times.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.contact.registry import LAWS
from ..errors import PhysicsError, ScenarioError
from ..model.building import Model, build_model
from ..model.overlaps import check_overlaps
from ..model.times import (
    GOOD_CONTACT,
    GOOD_RAYLEIGH,
    MAX_STEPS,
    contact_time,
    fastest,
    good_step,
    smallest_rayleigh_time,
)
from ..scenario.reading import Scenario
from ..scenario.values import EDGES
from .faults import can_touch
from .pilots import NOMINAL, Begin, Pilot, at_step, pilot, with_step

Array = NDArray[np.float64]
STEPS_PER_CONTACT = 5  # least, of the shortest contact
MARGIN = 0.5  # of the guards on travel and turn: pilots see single steps only
HALVINGS = 8  # of a time step, if guards stop the pilots
STRICT = 3  # of these at first, if a guard stops one of the pilots
SPREAD = (
    1.0,
    0.97,
    0.94,
    0.91,
    0.98,
    0.95,
    0.92,
    0.96,
)  # time steps of a group of pilots: collisions make their motions independent
GROUP_WORK = 1e8  # bodies times steps of a group of pilots, about
ENOUGH = 1000  # contacts of the first two groups together, after which they get no further pilots
PATHS = 256  # random walks for each pilot
ROUND_OFF = 1e-15  # relative error of one step; the errors of steps are independent
LEVELS = (0.1, 0.5, 0.9)  # quantiles of the drift: low, expected, high
HALF = 0.5  # of the wish, for the expected drift: where all runs are alike, the high one leaves no margin
BOUNDED_POWER = 2.0  # of dt, in the error of contacts under way
LEAST_POWER, MOST_POWER = 1.0, 5.0  # of dt, in the rest
NUMBERS = ("dt", "uncertainty", "drift", "low", "high", "steps", "estimated_s", "contacts")  # of a choice
RULE = f"a rule of thumb, {round(1 / GOOD_CONTACT)} steps for the shortest contact; pilot runs say nothing"
SUGGESTED = 1e-4  # drift of the time step that `minidem check` and the guards suggest
SETTLED = 1.1  # ratio of two estimates of dt that are as good as equal


@dataclass(frozen=True)
class Expectation:
    """What pilots say about the drift with any time step."""

    pilots: tuple[Pilot, ...]  # the group nearest to the time step that is looked for
    seen: tuple[Pilot, ...]  # all pilots
    edge_power: float  # of dt, in the error of plain edges
    rest_power: float
    end: float  # s

    def drift(self, dt: float) -> tuple[float, float, float]:
        """Low, expected and high drift of runs with a time step (s): a tenth of all runs is below low or above high."""
        random = np.random.default_rng(0)
        found = np.concatenate([self._drifts(run, dt, random) for run in self.pilots])
        low, median, high = np.quantile(found, LEVELS) + ROUND_OFF * math.sqrt(self.end / dt)
        return float(low), float(median), float(high)

    def _drifts(self, run: Pilot, dt: float, random: np.random.Generator) -> Array:
        """(PATHS,) drifts of random walks with the contacts and the rest of one pilot."""
        ratio, rows = dt / run.dt, len(run.rest)
        made = np.diff(run.variance, prepend=0.0).clip(0.0) / run.part
        walk = np.cumsum(random.standard_normal((PATHS, rows)) * np.sqrt(made), axis=1)
        walk *= ratio**self.edge_power
        walk += run.rest / run.part * ratio**self.rest_power
        inside = run.inside * ratio**BOUNDED_POWER
        last = np.abs(walk[:, -1] + inside[random.integers(rows, size=PATHS)])  # the last row is as any other
        found: Array = np.maximum(np.abs(walk + inside).mean(axis=1), last)
        return found

    def longest(self, wish: float, most: float) -> float:
        """The longest time step (s), up to `most`, whose high drift is within the wish and whose expected drift is within
        half of it; 0 if there is none."""

        def good(dt: float) -> bool:
            _, expected, high = self.drift(dt)
            return high <= wish and expected <= HALF * wish

        least = self.end / MAX_STEPS
        if good(most):
            return most
        steps = np.geomspace(most, max(least, 1e-9 * most), 64)
        below = next((k for k, dt in enumerate(steps) if good(dt)), None)
        if below is None:
            return 0.0
        low, high = math.log(steps[below]), math.log(steps[below - 1])
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if good(math.exp(middle)) else (low, middle)
        return math.exp(low)

    def uncertainty(self, dt: float) -> float:
        """Relative standard error of the advised time step, from the number of contacts and the scatter of the pilots."""
        power = max(math.log2(self.drift(dt)[2] / self.drift(0.5 * dt)[2]), LEAST_POWER)
        sizes = np.sqrt([edge_strength(run, self.edge_power) for run in self.seen])
        if not sizes.all():
            sizes = np.array([np.median(self._drifts(run, dt, np.random.default_rng(0))) for run in self.pilots])
        entered = max(sum(run.entered for run in self.seen), 1)
        scatter = float(sizes.std(ddof=1) / sizes.mean()) if len(sizes) > 1 and sizes.any() else math.sqrt(10 / entered)
        return math.sqrt(1 / (2 * entered) + scatter**2 / len(sizes)) / power


class Adviser:
    """Advice about a scenario, whose bodies are placed once. `begin` makes simulations of a model, for pilot runs."""

    def __init__(
        self, begin: Begin, scenario: Scenario, source: str = "", threads: int | None = None, model: Model | None = None
    ):
        self.scenario, self.source, self.threads = scenario, source or scenario.name, threads
        self.begin = begin
        self.model = model or build_model(with_step(scenario, NOMINAL), self.source)
        begun = begin(self.model, scenario.integrator.rotation, threads)
        if model is None:
            check_overlaps(scenario, begun._world, begun._numbers, self.source)
        initial = begun.initial_energy
        self.most, self.limit = math.inf, ""  # longest time step (s), and what limits it
        if not can_touch(self.model):
            raise self.fault("nothing can touch: there is one body and no wall")
        if initial == 0 or not math.isfinite(initial):
            raise self.fault(f"the initial energy is {initial:g} J, so there is no relative drift")

    def fault(self, what: str, remedy: str = "give dt in seconds") -> ScenarioError:
        """The error that says why there is no advice."""
        return ScenarioError([f"{self.source}: time.dt: {what}; {remedy}"])

    def pilots(
        self, rotation: str, edges: str, dt: float, most: int, enough: float = math.inf, stopped: bool = False
    ) -> list[Pilot]:
        """Up to `most` pilots with time steps near `dt` (s), until they have seen enough contacts. PhysicsError if a guard
        stops one of them; if some may be `stopped`, only if it stops them all."""
        found: list[Pilot] = []
        error: PhysicsError | None = None
        if not min(SPREAD) * dt * MAX_STEPS >= self.scenario.time.end:
            raise self.fault(f"contacts are so short that a run would have more than {MAX_STEPS:.0e} steps")
        work = self.scenario.time.end / dt * len(self.model.species)
        for factor in SPREAD[:most]:
            model = at_step(self.model, self.scenario, factor * dt, edges)
            try:
                found.append(pilot(self.begin, model, rotation, self.scenario, self.threads))
            except PhysicsError as stop:
                if not stopped:
                    raise
                error = stop
                continue
            if sum(run.entered for run in found) >= enough or found[-1].part < 1 or len(found) * work >= GROUP_WORK:
                break
        if error and not found:
            raise error
        return found

    def group(
        self, rotation: str, edges: str, dt: float, most: int, enough: float = math.inf, all_of_them: int = 0
    ) -> list[Pilot]:
        """`pilots` near `dt` (s), or near a shorter time step if guards stop them: in the first tries, `all_of_them`, if one
        is stopped. Later the others count, because some motions are stopped with any time step."""
        reason = ""
        for halving in range(HALVINGS):
            try:
                return self.pilots(rotation, edges, dt, most, enough, stopped=halving >= all_of_them)
            except PhysicsError as error:
                reason, dt = str(error), 0.5 * dt
                self.most, self.limit = min(self.most, dt), "a guard that stops runs with longer time steps"
        remedy = "use stiffer materials, lower the speeds, or raise that guard"
        raise self.fault(f"guards stop every pilot run ({reason})", remedy)

    def lower(self, run: Pilot | None = None) -> None:
        """Lower the longest time step to what guards and contacts allow, at the start and at the speeds of a pilot."""
        guard, model = self.scenario.guard, self.model
        speed = max(fastest(model), run.speed if run else 0.0)
        shortest = contact_time(model, speed) if speed > 0 else math.inf
        limits = [
            (shortest / STEPS_PER_CONTACT, f"the shortest contact ({STEPS_PER_CONTACT} steps)"),
            (guard.contact * shortest, f"guard.contact = {guard.contact:g}"),
            (self.scenario.time.end / 20, "time.end (20 steps)"),
        ]
        if run is not None and run.travel > 0:
            limits.append((MARGIN * guard.travel * float(model.templates.radius.min()) / run.travel, "half of guard.travel"))
        if run is not None and run.spin > 0:
            limits.append((MARGIN * guard.turn / run.spin, "half of guard.turn"))
        most, limit = min(limits)
        if most < self.most:
            self.most, self.limit = most, limit

    def unwarned(self) -> float:
        """The longest time step (s) about which runs do not warn. Advice may be longer: where small spheres are parts of
        heavy bodies, the time of a Rayleigh wave says little."""
        return self.scenario.guard.rayleigh * smallest_rayleigh_time(self.scenario, self.model.spheres_by_clump)

    def expectation(self, rotation: str, edges: str, wish: float) -> Expectation:
        """What to expect of runs with an integrator, near the time step that fulfils the wish."""
        self.most, self.limit = math.inf, ""
        self.lower()
        first = self.group(rotation, edges, self.most, 2, ENOUGH / 2, STRICT)
        for run in first:
            self.lower(run)
        power = LAWS[self.scenario.contact.law].edge_power
        edge_power = 1.0 + power if power is not None else 0.0
        start = min(first[0].dt, self.most)
        second = self.group(rotation, edges, 0.5 * start, 2, ENOUGH / 2)
        groups = [first, second]
        if not any(run.touched or run.entered for run in first + second):
            covered = min(run.part for run in second) * self.scenario.time.end
            raise self.fault(f"there is no contact in {covered:.3g} s, so the energy says nothing about the time step")
        expected = expectation_of(groups, edge_power, self.scenario.time.end)
        dt = expected.longest(wish, self.most)
        alone = expectation_of(groups, edge_power, self.scenario.time.end, edges_only=True).longest(wish, self.most)
        if edges == "plain" and alone <= SETTLED * dt:
            return expected  # the law of the edges needs no pilot near dt
        for _ in range(2):
            if dt == 0.0:
                break
            groups.append(self.group(rotation, edges, dt, len(SPREAD), 4 * ENOUGH))
            expected = expectation_of(groups, edge_power, self.scenario.time.end)
            before, dt = dt, expected.longest(wish, self.most)
            if max(dt, before) <= SETTLED**2 * min(dt, before):
                break
        return expected

    def choice(self, rotation: str, edges: str, wish: float) -> dict[str, Any]:
        """The advice for one integrator, with plain or corrected edges."""
        expected = self.expectation(rotation, edges, wish)
        dt, output = expected.longest(wish, self.most), self.scenario.output
        found: dict[str, Any] = {"integrator": rotation, "edges": edges} | dict.fromkeys(NUMBERS) | {"warning": ""}
        if dt == 0.0:
            return found | {"limit": "round-off alone exceeds it"}
        limit = self.limit if dt >= self.most else ""
        dt = rounded_down(dt)
        low, median, high = expected.drift(dt)
        steps = max(1, round(self.scenario.time.end / dt))
        seconds = steps * step_seconds(expected.seen, dt) + (output.energies + output.frames) * expected.seen[0].row_s
        contacts = round(float(np.mean([run.entered / run.part for run in expected.seen])))
        numbers = (dt, expected.uncertainty(dt), median, low, high, steps, seconds, contacts)
        warning = f"guard.rayleigh = {self.scenario.guard.rayleigh:g}" if dt > self.unwarned() else ""
        return found | dict(zip(NUMBERS, numbers, strict=True)) | {"limit": limit, "warning": warning}


def expectation_of(
    groups: Sequence[Sequence[Pilot]], edge_power: float, end: float, edges_only: bool = False
) -> Expectation:
    """What groups of pilots say together about runs that end at `end` (s): the edges from all of them, the rest and the
    contacts under way from the last."""
    seen = tuple(run for group in groups for run in group)
    strength = float(np.mean([edge_strength(run, edge_power) for run in seen]))
    pilots = []
    for run in groups[-1]:
        own, kept = edge_strength(run, edge_power), 0.0 if edges_only else 1.0
        variance = run.variance * (strength / own if own > 0 else 1.0)
        pilots.append(replace(run, variance=variance, rest=kept * run.rest, inside=kept * run.inside))
    last, power = groups[-1][0].dt, BOUNDED_POWER
    others = [group for group in groups[:-1] if abs(math.log(group[0].dt / last)) > 0.3]
    if others:
        other = min(others, key=lambda group: abs(math.log(group[0].dt / last)))
        before, now = size_of_rest(other), size_of_rest(groups[-1])
        if before > 0 and now > 0:
            power = min(max(math.log(before / now) / math.log(other[0].dt / last), LEAST_POWER), MOST_POWER)
    return Expectation(tuple(pilots), seen, edge_power, power, end)


def edge_strength(run: Pilot, edge_power: float) -> float:
    """Expected square of the error of plain edges over the whole time, over that power of the time step."""
    return float(run.variance[-1] / run.part / run.dt ** (2 * edge_power))


def size_of_rest(group: Sequence[Pilot]) -> float:
    """Root mean square of the rest of some pilots at the end of the whole time."""
    return math.sqrt(float(np.mean([np.mean(run.rest**2) / run.part**2 for run in group])))


def step_seconds(pilots: Sequence[Pilot], dt: float) -> float:
    """Wall time of a step, s: a part for each step and a part for each second of simulated time, from pilots."""
    steps, took = np.array([run.dt for run in pilots]), np.array([run.step_s for run in pilots])
    if np.ptp(steps) < 0.2 * steps.max():
        return float(took.mean())
    slope, constant = np.polyfit(steps, took, 1)
    return float(max(constant + slope * dt, 0.2 * took.min()))


def rounded_down(value: float) -> float:
    """A positive number with two significant digits, not above `value`; zero and infinity stay what they are."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.1e}")


def advice_for(
    begin: Begin,
    scenario: Scenario,
    wish: float,
    integrators: Sequence[str] = (),
    source: str = "",
    threads: int | None = None,
) -> dict[str, Any]:
    """The longest time steps for a wish: {"drift": wish, "choices": [...]}, with plain and corrected edges for each of the
    integrators; without any, for that of the scenario. The scenario's own integrator and edges come first."""
    adviser, own = Adviser(begin, scenario, source, threads), (scenario.integrator.rotation, scenario.contact.edges)
    names = list(dict.fromkeys(integrators)) or [own[0]]
    known = EDGES if LAWS[scenario.contact.law].edge_power is not None else (own[1],)
    pairs = sorted(((name, edges) for name in names for edges in known), key=lambda pair: (pair[0] != own[0], pair != own))
    choices = [adviser.choice(*pair, wish) for pair in pairs]
    if all(choice["dt"] is None for choice in choices):
        raise adviser.fault(f"no time step keeps the drift within {wish:g}: {choices[0]['limit']}", "allow a larger drift")
    return {"drift": wish, "choices": choices}


def advised_step(begin: Begin, scenario: Scenario, wish: float, source: str = "", threads: int | None = None) -> float:
    """The advised time step (s) for the integrator and the edges of the scenario."""
    adviser = Adviser(begin, scenario, source, threads)
    found = adviser.choice(scenario.integrator.rotation, scenario.contact.edges, wish)
    if found["dt"] is None:
        raise adviser.fault(f"no time step keeps the drift within {wish:g}: {found['limit']}", "allow a larger drift")
    return float(found["dt"])


@dataclass(frozen=True)
class Suggestion:
    """The time step that `minidem check` and the guards suggest."""

    dt: float  # s
    reason: str  # what it is good for, in words
    drift: tuple[float, float, float] | None = None  # low, expected and high with the time step that was asked about


def suggestion(begin: Begin, scenario: Scenario, model: Model, threads: int | None = None) -> Suggestion:
    """The time step for a drift of SUGGESTED, and the drift to expect with that of the model; a rule of thumb where pilots
    find no contacts or are stopped. The bodies of the model are where a run starts."""
    try:
        adviser = Adviser(begin, scenario, "", threads, model)
        expected = adviser.expectation(scenario.integrator.rotation, scenario.contact.edges, SUGGESTED)
    except ScenarioError:
        speed = fastest(model)
        rule = f"a rule of thumb, {GOOD_RAYLEIGH:g} Rayleigh times; pilot runs say nothing" if speed == 0 else RULE
        return Suggestion(rounded_down(good_step(scenario, model, speed)), rule)
    dt = expected.longest(SUGGESTED, adviser.most)
    limit = f", limited by {adviser.limit}" if dt >= adviser.most else ""
    if dt > adviser.unwarned():
        dt, limit = adviser.unwarned(), f", limited by guard.rayleigh = {scenario.guard.rayleigh:g}"
    return Suggestion(rounded_down(dt), f"for a drift below {SUGGESTED:g}{limit}", expected.drift(model.dt))
