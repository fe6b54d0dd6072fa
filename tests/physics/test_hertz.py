"""Collisions of spheres with each other, with a wall and under gravity, against closed forms for Hertz contacts."""

import math

import numpy as np
import pytest
from scenes import followed, scene, simulated, slope
from scipy.integrate import quad
from scipy.optimize import brentq

from minidem.engine.contact import hertz

STEEL = 200e9 / (2 * (1 - 0.3**2))  # effective modulus of steel on steel, Pa
BALL, BEAD = (7800.0 * 4 / 3 * math.pi * radius**3 for radius in (0.01, 0.006))  # kg
AXIS = np.array([2.0, -1.0, 2.0]) / 3
SPEED = 2.0  # m/s, closing speed


def hertz_collision(mass, radius, speed):
    """Largest overlap (m) and contact time (s) of a head-on collision with effective mass (kg) and radius (m).

    From m u^2/2 = 8/15 E* sqrt(R*) d^(5/2), and t = 2 d/u times the integral of (1 - x^(5/2))^(-1/2) from 0 to 1, which is
    a beta function.
    """
    overlap = (15 * mass * speed**2 / (16 * STEEL * math.sqrt(radius))) ** 0.4
    integral = 0.4 * math.gamma(0.4) * math.gamma(0.5) / math.gamma(0.9)
    return overlap, 2 * integral * overlap / speed


def test_contact_time_of_the_scenarios_is_the_integral():
    """The constant 2.87 is 2.8683 rounded up."""
    integral = quad(lambda s: 2 * s / math.sqrt(1 - (1 - s * s) ** 2.5), 0, 1, epsabs=1e-12)[0]  # x = 1 - s^2
    overlap, time = hertz_collision(BALL, 0.01, SPEED)
    assert time == pytest.approx(2 * integral * overlap / SPEED, rel=1e-9)
    assert hertz.contact_time((4 / 3 * STEEL) ** 2, BALL, 0.01, SPEED) / time == pytest.approx(2.87 / 2.8683, rel=2e-5)


# Effective mass and radius of each pair, and speeds along AXIS before and after, from momentum and energy
CENTRE = (1.5 * BALL - 0.5 * BEAD) / (BALL + BEAD)
PAIRS = {
    "ball": (BALL / 2, 0.005, [1.5, -0.5], [-0.5, 1.5]),
    "bead": (BALL * BEAD / (BALL + BEAD), 0.01 * 0.006 / 0.016, [1.5, -0.5], [2 * CENTRE - 1.5, 2 * CENTRE + 0.5]),
    "wall": (BALL, 0.01, [2.0], [-2.0]),
}


def collision(against, steps):
    """Overlap half-way through the contact (m), contact time (s) and final velocities (m/s) of a simulated collision."""
    mass, radius, before, _ = PAIRS[against]
    contact = hertz_collision(mass, radius, SPEED)[1]
    free = contact / 4  # s of free flight before and after, so that the contact is centred
    touching = {"ball": 0.02, "bead": 0.016, "wall": 0.01}[against]  # distance of the centres, or from the wall, m
    far = (touching + free * SPEED) * AXIS
    bodies = [dict(clump="ball", position=[0, 0, 0], velocity=before[0] * AXIS)]
    walls = []
    if against == "wall":
        walls.append(dict(point=far, normal=-AXIS, material="steel"))
    else:
        bodies.append(dict(clump=against, position=far, velocity=before[1] * AXIS))
    simulation = simulated(scene((contact + 2 * free) / steps, bodies, walls))

    def distance():
        places = simulation.frame().position
        return np.dot((far if walls else places[1]) - places[0], AXIS)

    simulation.advance(steps // 2)
    overlap = touching - distance()
    simulation.advance(steps // 2)
    return overlap, contact + (touching + free * SPEED - distance()) / SPEED, simulation.frame().velocity


@pytest.mark.parametrize("against", PAIRS)
def test_head_on_collision(against):
    """Overlap, contact time and final velocities against the closed forms.

    Overlap and contact time converge with the second order of leapfrog, to relative errors of 3e-8 with 4000 steps per
    contact. The final velocities are far more accurate, since leapfrog solves a nearby Hamiltonian exactly; across the axis
    there is only round-off.
    """
    mass, radius, _, after = PAIRS[against]
    overlap, contact = hertz_collision(mass, radius, SPEED)
    steps = 200 * 2 ** np.arange(6)
    overlaps, times, velocities = zip(*(collision(against, n) for n in steps), strict=True)
    for found, exact in ((overlaps, overlap), (times, contact)):
        errors = np.abs(np.array(found) / exact - 1)
        assert errors[-1] < 1e-7
        assert slope(1 / steps, errors) == pytest.approx(2, abs=0.05)
    along = velocities[-1] @ AXIS
    assert along == pytest.approx(after, abs=1e-10)
    assert np.abs(velocities[0] @ AXIS - after).max() < 1e-7
    assert velocities[-1] == pytest.approx(np.outer(along, AXIS), abs=1e-14)


def bounce(drop, gravity):
    """Exact period (s) of a ball bouncing on a wall, from rest to rest; gravity also acts during the contact.

    Speed while the overlap is d: v^2 = u^2 + 2 g d - 4 k d^(5/2) / (5 m), k = 4/3 E* sqrt(R). The contact time is
    the integral of 2/v from 0 to the d with v = 0, with d = deepest (1 - s^2).
    """
    stiffness, speed = 4 / 3 * STEEL * math.sqrt(0.01), math.sqrt(2 * gravity * drop)

    def squared(d):
        return speed**2 + 2 * gravity * d - 0.8 * stiffness / BALL * d**2.5

    static = (BALL * gravity / stiffness) ** (2 / 3)
    deepest = brentq(squared, static, 0.01, xtol=1e-18)
    contact = 2 * quad(lambda s: 2 * deepest * s / math.sqrt(squared(deepest * (1 - s * s))), 0, 1, epsrel=1e-11)[0]
    return 2 * speed / gravity + contact


def bouncing(steps, bounces, drop, gravity):
    """Simulated period (s), and |E/E0 - 1| at 200 times per bounce."""
    period = bounce(drop, gravity)
    ball = dict(clump="ball", position=drop * AXIS)
    wall = dict(point=-0.01 * AXIS, normal=AXIS, material="steel")
    simulation = simulated(scene(period / steps, [ball], [wall], gravity=-gravity * AXIS))
    rows = followed(simulation, bounces * 200, steps // 200)
    assert simulation.initial_energy == pytest.approx(BALL * gravity * drop, rel=1e-12)
    assert rows["elastic"].max() > 0.9 * simulation.initial_energy
    late = np.dot(simulation.frame().velocity[0], AXIS) / gravity  # time since the last highest point: v = -g (t - t_top)
    return period + late / bounces, np.abs(rows["total"] / simulation.initial_energy - 1)


def test_ball_bounces_under_gravity():
    """The period against quadrature and the energy, with the potential of gravity, against its initial value.

    The ball bounces by 10 um, so that it is in contact for a twentieth of the time, and gravity adds a tenth to the impulse.
    Both errors converge with second order.
    """
    drop, gravity, bounces = 1e-5, 9.81, 3
    exact = bounce(drop, gravity)
    steps = 3200 * 2 ** np.arange(4)
    periods, energies = zip(*(bouncing(n, bounces, drop, gravity) for n in steps), strict=True)
    errors = np.abs(np.array(periods) / exact - 1)
    swings = [energy.max() for energy in energies]
    assert errors[-1] < 1e-7
    assert slope(1 / steps, errors) == pytest.approx(2, abs=0.1)
    assert swings[-1] < 3e-6
    assert slope(1 / steps, swings) == pytest.approx(2, abs=0.1)
    assert energies[-1][::200].max() < 1e-8  # at each highest point
