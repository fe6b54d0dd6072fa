"""The edges of contacts in head-on collisions, each with its own phase and speed: the law of the energy error with plain
edges, the account of it, and what corrected edges leave."""

import math

import numpy as np
import pytest
from scenes import simulated, slope, two_rods
from texts import scenario_text

from minidem.engine.contact.registry import LAWS, register_law
from minidem.engine.rotation.registry import SCHEMES
from minidem.engine.state import BLOCK
from minidem.scenario.reading import parse

YOUNG, POISSON, DENSITY, RADIUS = 1e9, 0.1, 2500.0, 0.01
MODULUS = YOUNG / (2 * (1 - POISSON**2))  # effective, Pa
MASS = DENSITY * 4 / 3 * math.pi * RADIUS**3  # kg
REDUCED = {"ball": (MASS / 2, RADIUS / 2), "wall": (MASS, RADIUS)}  # effective mass and radius
SPEED = 1.0  # m/s, mean closing speed
COUNT = 400  # collisions at once
STEPS = (10, 20, 40, 80, 160)  # in a contact at the mean speed
BETA = 0.8 * math.gamma(0.4) * math.gamma(0.5) / math.gamma(0.9)  # contact time over largest overlap and speed: 2.943


def contact_time(against, speed):
    """Of a head-on collision with Hertz contact (s)."""
    mass, radius = REDUCED[against]
    return BETA * (15 * mass * speed**2 / (16 * MODULUS * math.sqrt(radius))) ** 0.4 / speed


def mean_square():
    """Of zeta(-3/2, theta) over theta: 2 Gamma(5/2)^2 zeta(5) / (2 pi)^5."""
    zeta = sum(k**-5.0 for k in range(1, 2000))
    return 2 * math.gamma(2.5) ** 2 * zeta / (2 * math.pi) ** 5


def law():
    """C of the rms error C (dt / T)^(5/2), in units of the energy m* u^2 / 2.

    An edge has the error k (u dt)^(5/2) zeta(-3/2, theta), and there are two. With d the largest overlap,
    2/5 k d^(5/2) = m* u^2 / 2 and T = 2.943 d / u.
    """
    return math.sqrt(2) * 2.5 * BETA**2.5 * math.sqrt(mean_square())


class Collisions:
    """Many collisions that know nothing of each other, before and after."""

    def __init__(self, against, edges, steps, seed=1, contact="hertz", count=COUNT):
        rng = np.random.default_rng(seed)
        self.dt = contact_time(against, SPEED) / steps
        self.speed = SPEED * rng.uniform(0.8, 1.2, count)  # closing speeds
        gap = self.speed * self.dt * (5.0 + 10.0 * rng.uniform(size=count))
        side = math.ceil(math.sqrt(count))
        y, z = 0.1 * (np.arange(count) // side), 0.1 * (np.arange(count) % side)
        share = rng.uniform(0.0, 1.0, count) if against == "ball" else np.ones(count)  # of the speed: that of the first
        left = np.stack([-gap - RADIUS, y, z], 1)
        still = np.zeros(count)
        bodies = [dict(clump="ball", position=x, velocity=[v, 0, 0]) for x, v in zip(left, share * self.speed, strict=True)]
        walls = [dict(point=[0, 0, 0], normal=[-1, 0, 0])]
        if against == "ball":
            right = np.stack([still + RADIUS, y, z], 1)
            speeds = (share - 1) * self.speed
            bodies += [dict(clump="ball", position=x, velocity=[v, 0, 0]) for x, v in zip(right, speeds, strict=True)]
            walls = []
        material = {"plastic": (YOUNG, POISSON, DENSITY)}
        tables = {"contact": {"law": contact, "edges": edges}, "guard": {"rayleigh": False, "contact": False}}
        text = scenario_text(
            material, {"ball": [[0, 0, 0, RADIUS]]}, bodies, walls=walls, dt=self.dt, end=self.dt * 10**4, **tables
        )
        self.simulation = simulated(parse(text))
        self.before = self.simulation.velocities.copy()
        self.simulation.advance(round(1.5 * steps) + 30)
        self.after = self.simulation.velocities
        self.mass = REDUCED[against][0]
        self.error = (self.closing(self.after) / self.closing(self.before)) ** 2 - 1  # of the energy, relative
        self.in_steps = contact_time(against, self.speed) / self.dt  # duration of each contact
        assert self.simulation.energies["elastic"] == 0 and (self.closing(self.after) < 0).all()  # all have separated
        assert self.simulation.contacts_entered == (count if LAWS[contact].edge_power else 0)

    def closing(self, velocities):
        """Closing speeds (m/s)."""
        x = velocities[:, 0]
        return x[: len(self.speed)] - x[len(self.speed) :] if len(x) > len(self.speed) else x

    @property
    def energy(self):
        """Of the relative motion before the collisions (J)."""
        return 0.5 * self.mass * self.speed**2

    @property
    def rms(self):
        return math.sqrt(np.mean(self.error**2))


@pytest.fixture(scope="module")
def collisions():
    """Collisions, each kind made once."""
    made = {}

    def get(*kind):
        if kind not in made:
            made[kind] = Collisions(*kind)
        return made[kind]

    return get


AGAINST = pytest.mark.parametrize("against", REDUCED)


def test_constant_of_the_law():
    assert law() == pytest.approx(1.0165, abs=5e-5)
    assert pytest.approx(2.943, abs=5e-4) == BETA


@AGAINST
def test_plain_edges_follow_the_law(collisions, against):
    """The rms of 400 collisions is known to 1 / sqrt(800) = 3.5 %, more or less: two edges are not quite Gaussian."""
    dts, rms = [], []
    for steps in STEPS:
        plain = collisions(against, "plain", steps)
        scaled = plain.error * plain.in_steps**2.5
        dts.append(plain.dt)
        rms.append(math.sqrt(np.mean(scaled**2)) * plain.dt**2.5)
        if steps >= 40:
            assert math.sqrt(np.mean(scaled**2)) == pytest.approx(law(), rel=0.1)
            assert abs(np.mean(scaled)) < 4 * np.std(scaled) / math.sqrt(COUNT)
    assert slope(dts, rms) == pytest.approx(2.5, abs=0.1)


@AGAINST
def test_account_is_the_error_of_plain_edges(collisions, against):
    """Summed over all collisions; in units of the deviation that the law gives for their sum."""
    for steps, tolerance in ((10, 0.03), (40, 1e-3), (160, 1e-4)):
        plain = collisions(against, "plain", steps)
        made = np.sum(plain.error * plain.energy)
        deviation = law() * math.sqrt(np.sum((plain.energy * plain.in_steps**-2.5) ** 2))
        assert abs(plain.simulation.edge_error - made) < tolerance * deviation
        assert plain.simulation.edge_deviation == pytest.approx(deviation, rel=0.01 if steps > 10 else 0.1)
        assert abs(made) > 0.01 * deviation  # there is something to account for


@AGAINST
def test_corrected_edges_are_of_fifth_order(collisions, against):
    corrected = [collisions(against, "corrected", steps) for steps in STEPS]
    rms = [some.rms for some in corrected]
    assert slope([some.dt for some in corrected], rms) == pytest.approx(5.0, abs=0.1)
    assert rms[STEPS.index(40)] < 5e-8


@AGAINST
def test_corrected_edges_have_no_error_in_the_mean(collisions, against):
    """In units of the standard deviation of the mean of 400."""
    for steps in STEPS[1:]:
        error = collisions(against, "corrected", steps).error
        assert abs(np.mean(error)) < 4 * np.std(error) / math.sqrt(COUNT)


@AGAINST
def test_corrected_edges_take_out_what_plain_ones_make(collisions, against):
    """The same collisions to a part in a thousand."""
    plain, corrected = (collisions(against, edges, 40).simulation for edges in ("plain", "corrected"))
    assert corrected.edge_error == pytest.approx(plain.edge_error, abs=2e-3 * plain.edge_deviation)
    assert corrected.edge_deviation == pytest.approx(plain.edge_deviation, rel=2e-3)


@AGAINST
@pytest.mark.parametrize("seed", range(4))
def test_one_collision(against, seed):
    """Its account is its own error with plain edges, in units of the deviation; corrected edges leave a few millionths."""
    plain = Collisions(against, "plain", 20, seed, count=1)
    deviation = plain.simulation.edge_deviation
    assert deviation == pytest.approx(law() * plain.energy[0] * plain.in_steps[0] ** -2.5, rel=0.1)
    assert plain.simulation.edge_error == pytest.approx(np.sum(plain.error * plain.energy), abs=0.01 * deviation)
    corrected = Collisions(against, "corrected", 20, seed, count=1)
    assert corrected.rms < 5e-6
    assert corrected.simulation.edge_error == pytest.approx(plain.simulation.edge_error, abs=0.01 * deviation)
    assert corrected.simulation.edge_deviation == pytest.approx(deviation, rel=0.01)


def test_collisions_within_a_block_and_across():
    """The second balls of some are in another block than the first."""
    count = BLOCK - 200
    plain, corrected = (Collisions("ball", edges, 10, count=count) for edges in ("plain", "corrected"))
    made, deviation = np.sum(plain.error * plain.energy), plain.simulation.edge_deviation
    assert plain.simulation.edge_error == pytest.approx(made, abs=0.03 * deviation)
    assert deviation == pytest.approx(law() * math.sqrt(np.sum((plain.energy * plain.in_steps**-2.5) ** 2)), rel=0.1)
    assert corrected.rms < 1e-4 < plain.rms
    velocities = corrected.after
    closing = corrected.before[:count] + corrected.before[count:]
    np.testing.assert_allclose(velocities[:count] + velocities[count:], closing, rtol=0, atol=1e-14)


def test_momentum_is_conserved(collisions):
    """Of each pair, to round-off, though both balls are in different blocks; what happens across x is nothing."""
    corrected = collisions("ball", "corrected", 40)
    total = [velocities[:COUNT] + velocities[COUNT:] for velocities in (corrected.before, corrected.after)]
    np.testing.assert_allclose(total[1], total[0], rtol=0, atol=1e-14)
    assert np.abs(corrected.after[:COUNT, 0] - corrected.before[:COUNT, 0]).min() > 0.5
    assert not corrected.after[:, 1:].any()


CONSERVING = [name for name, row in SCHEMES.items() if row.torque_evaluations == 1 and "angular momentum" in row.conserves]


@pytest.mark.parametrize("scheme", CONSERVING)
def test_rods_conserve_momentum_and_angular_momentum(scheme):
    """As with plain edges (test_collisions.py), after they have separated: the corrections act along the line of centres."""
    scenario = two_rods(1e-5, scheme).with_changes({"contact.edges": "corrected"})
    simulation = simulated(scenario)
    before = simulation.observables()
    simulation.advance(1600)
    after = simulation.observables()
    assert simulation.contacts_entered >= 2 and simulation.edge_error != 0 and after["elastic"] == 0
    for name, bound in (("momentum", 1e-14), ("angular_momentum", 1e-12)):
        assert np.abs(after[name] - before[name]).max() < bound * np.linalg.norm(before[name])


# --- laws of one's own --------------------------------------------------------------------------------------

STIFFNESS = math.pi**2 * MASS / 2 / contact_time("ball", SPEED) ** 2  # N/m: contacts last as long as those of Hertz at SPEED


def spring(distance, reach, radii, constant):
    overlap = reach - distance
    return constant * overlap / distance, 0.5 * constant * overlap * overlap


@pytest.fixture
def linear():
    """Registers a linear spring with an edge power, in place of one that there may be."""
    before = LAWS.pop("linear", None)

    def register(edge_power):
        register_law("linear", spring, lambda a, b: STIFFNESS, lambda *_: 1.0, edge_power=edge_power)

    yield register
    LAWS.pop("linear", None)
    if before is not None:
        LAWS["linear"] = before


def test_linear_spring_gains(linear):
    """All its contacts last equally long, whatever their speed: not a whole number of steps here, or the errors of
    beginning and end would cancel."""
    linear(1)
    plain, corrected = (Collisions("ball", edges, 40.4, 2, "linear") for edges in ("plain", "corrected"))
    assert corrected.rms < plain.rms / 20
    made = np.sum(plain.error * plain.energy)
    assert plain.simulation.edge_error == pytest.approx(made, abs=0.02 * plain.simulation.edge_deviation)
    assert abs(made) > 0.1 * plain.simulation.edge_deviation


def test_law_without_an_edge_power_has_no_account(linear):
    linear(None)
    plain = Collisions("ball", "plain", 40, 2, "linear")
    assert plain.simulation.edge_error == plain.simulation.edge_deviation == 0.0
    linear(1)
    assert np.array_equal(Collisions("ball", "plain", 40, 2, "linear").after, plain.after)
