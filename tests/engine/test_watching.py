"""The alarms of the kernels: just at a limit there is none, just beyond it there is, and the first one stays."""

import numpy as np
import pytest
from brute_force import bodies_of, hertz_world, templates_of, walls_of

from minidem.engine.compile.kernels import kernel
from minidem.engine.contact.loading import contact_law
from minidem.engine.geometry import index
from minidem.engine.rotation.loading import rotation
from minidem.engine.state import Limits
from minidem.engine.step import advance
from minidem.engine.watching import (
    BEHIND_WALL,
    INSPECT_EVERY,
    NO_NUMBER,
    NOTHING,
    TOO_DEEP,
    TOO_FAR,
    alarmed,
    find_too_deep,
    inspect,
    steps_to_inspection,
)
from minidem.engine.world import make_room

BALL = np.array([[0.0, 0.0, 0.0, 1.0]])
WALLS = walls_of(
    [[0.0, 0.0, 0.0], [0.0, -5.0, 0.0], [9.0, 0.0, 0.0]], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
)  # z > 0, y > -5, x < 9
HERE = [[0.0, 0.0, 3.0], [4.0, 0.0, 3.0], [0.0, 4.0, 3.0]]


@kernel
def inspected(begin, end, bodies, walls, dt, limits, alarm):
    inspect(begin, end, bodies, walls, dt, limits, alarm)


@kernel
def looked_at(count, pair, second, place, walls, spheres, limits, alarm):
    find_too_deep(index(count), pair, index(second), place, walls, spheres, limits, alarm)


@kernel
def until(team):
    return steps_to_inspection(team)


@kernel
def any_alarm(team):
    return alarmed(team)


def moving(**changes):
    """Three balls of which the second moves by (0.2, 0.3, -0.6) m, which is 0.7 m, in a step of 0.5 s."""
    bodies = bodies_of(templates_of([BALL]), [0, 0, 0], HERE, [[1, 0, 0, 0]] * 3)
    bodies.velocity[:, 1] = 0.4, 0.6, -1.2
    for name, (row, column, value) in changes.items():
        getattr(bodies, name)[row, column] = value
    return bodies


def alarm_of(bodies, limits, begin=0, end=3, before=(0, 0, 0, 0)):
    alarm = np.array([before], dtype=float)
    inspected(begin, end, bodies, WALLS, 0.5, limits, alarm[0])
    return alarm[0].tolist()


@pytest.mark.parametrize(("travel", "found"), [(0.70001, NOTHING), (0.69999, TOO_FAR)])
def test_travel_in_a_step(travel, found):
    alarm = alarm_of(moving(), Limits(travel=travel, outside=True, motion=True))
    assert alarm == ([found, pytest.approx(0.7, rel=1e-14), 1, 0] if found else [NOTHING, 0, 0, 0])


def test_a_body_may_move_by_just_the_limit():
    bodies = moving(velocity=(slice(None), 1, (0.0, 0.0, 1.0)))
    assert alarm_of(bodies, Limits(travel=0.5))[0] == NOTHING
    assert alarm_of(bodies, Limits(travel=np.nextafter(0.5, 0.0)))[0] == TOO_FAR


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("name", "rows"), [("position", 3), ("velocity", 3), ("orientation", 4)])
def test_numbers_that_are_not_finite(name, rows, value):
    for row in range(rows):
        alarm = alarm_of(moving(**{name: (row, 2, value)}), Limits(outside=True, motion=True))
        assert alarm[0] == NO_NUMBER and alarm[2] == 2


@pytest.mark.parametrize(
    ("place", "behind"),
    [((0, 0, -1e-9), True), ((0, 0, 0), False), ((0, -5.1, 1), True), ((9.1, 0, 1), True), ((9, 0, 1), False)],
)
def test_behind_a_wall(place, behind):
    """By any of the walls, the first and the last; a centre of mass just at a wall is not behind it."""
    bodies = moving(position=(slice(None), 2, place))
    assert alarm_of(bodies, Limits(outside=True))[:3] == ([BEHIND_WALL, 0, 2] if behind else [NOTHING, 0, 0])
    assert alarm_of(bodies, Limits(outside=False)) == [NOTHING, 0, 0, 0]


def test_the_first_alarm_stays():
    limits = Limits(travel=0.1, outside=True)
    bodies = moving(position=(slice(None), 2, (0, 0, -1)))
    assert alarm_of(bodies, limits)[:3] == [TOO_FAR, pytest.approx(0.7), 1]  # not body 2, which is behind the wall
    assert alarm_of(bodies, limits, begin=2)[:3] == [BEHIND_WALL, 0, 2]
    assert alarm_of(bodies, limits, end=1) == [NOTHING, 0, 0, 0]
    assert alarm_of(bodies, limits, before=(TOO_DEEP, 0.6, 4, 5)) == [TOO_DEEP, 0.6, 4, 5]


PLACE = np.array([[0.0, 0.0, 3.0, 1.0], [2.5, 0.0, 3.0, 2.0], [0.0, 0.0, 0.4, 0.5]]).ravel()  # x, y, z and radius
ROOM = 4  # of a batch


@pytest.mark.parametrize(
    ("i", "j", "overlap", "radius"),
    [(0, 1, 0.5, 1.0), (1, 0, 0.5, 1.0), (2, 3, 0.1, 0.5), (1, 4, -3.0, 2.0), (1, 5, -4.5, 2.0)],  # from 3 on, walls
)
def test_overlaps_in_radii_of_the_smaller_sphere(i, j, overlap, radius):
    pair = np.zeros(2 * ROOM, np.uint32)
    pair[0], pair[ROOM] = i, j
    for off, found in ((1e-9, NOTHING), (-1e-9, TOO_DEEP)):
        alarm = np.zeros((1, 4))
        looked_at(1, pair, ROOM, PLACE, WALLS, 3, Limits(overlap=overlap / radius + off), alarm[0])
        expected = [TOO_DEEP, pytest.approx(overlap / radius, rel=1e-12), i, j] if found else [NOTHING, 0, 0, 0]
        assert alarm[0].tolist() == expected


def test_an_overlap_of_just_the_limit_is_allowed():
    """0.5 m of two spheres, without rounding."""
    for limit, found in ((0.5, NOTHING), (np.nextafter(0.5, 0.0), TOO_DEEP)):
        alarm = np.zeros((1, 4))
        looked_at(1, np.array([0, 0, 0, 0, 1, 0, 0, 0], np.uint32), ROOM, PLACE, WALLS, 3, Limits(overlap=limit), alarm[0])
        assert alarm[0, 0] == found


def test_the_first_overlap_stays():
    """Of those in the batch, and of an earlier one."""
    pair = np.array([0, 1, 2, 2, 2, 0, 3, 0], np.uint32)  # apart, too deep, too deep, and no contact of the batch
    alarm = np.zeros((1, 4))
    looked_at(3, pair, ROOM, PLACE, WALLS, 3, Limits(overlap=0.1), alarm[0])
    assert alarm[0].tolist() == [TOO_DEEP, pytest.approx(0.5), 1, 0]
    looked_at(1, pair[2:], ROOM, PLACE, WALLS, 3, Limits(overlap=0.1), alarm[0])
    assert alarm[0, 2:].tolist() == [1, 0]
    alarm[:] = 0
    looked_at(1, pair, ROOM, PLACE, WALLS, 3, Limits(overlap=0.1), alarm[0])  # the others are not in the batch
    assert alarm[0].tolist() == [NOTHING, 0, 0, 0]


def team_of(motion=True, start=0, end=0):
    world = hertz_world(moving(), templates_of([BALL]), WALLS, np.ones((1, 1)))
    team = world.team._replace(limits=Limits(motion=motion))
    team.step[:] = start, end
    return team


@pytest.mark.parametrize(
    ("start", "end", "steps"),
    [
        *((0, 10_000, INSPECT_EVERY), (1, 10_000, INSPECT_EVERY - 1), (INSPECT_EVERY - 1, 10_000, 1)),
        *((INSPECT_EVERY, 10_000, INSPECT_EVERY), (3 * INSPECT_EVERY + 7, 10_000, INSPECT_EVERY - 7)),
        *((10, 30, 20), (10, 11, 1), (10, 10, INSPECT_EVERY - 10), (10, 0, INSPECT_EVERY - 10)),  # no end, or beyond it
    ],
)
def test_steps_to_the_next_inspection(start, end, steps):
    """At every multiple of INSPECT_EVERY steps, and at the last step of a run."""
    assert until(team_of(start=start, end=end)) == steps
    assert until(team_of(False, start, end)) == -1


def flight(start, steps, travel, gravity):
    """A world of balls that fly for some steps of 10 ms, or until one moves by more than `travel` in a step; and the step at
    which that is."""
    world = hertz_world(moving(), templates_of([BALL]), walls_of([], []), np.ones((1, 1)))
    world = world._replace(team=world.team._replace(limits=Limits(travel=travel, motion=True)))
    world.team.step[:] = start, start + steps
    arguments = rotation("spiral").advance, *contact_law("hertz").pointers(world), world
    made, pending = advance(0, 0, 1e-2, (0.0, 0.0, 0.0), *arguments, True)
    assert (made, pending) == (0, False) or pending
    while pending:
        make_room(world)
        made, pending = advance(0, 0, 1e-2, (0.0, 0.0, 0.0), *arguments, True)
    made, pending = advance(0, steps, 1e-2, gravity, *arguments, False)
    assert not pending
    return world, start + made


@pytest.mark.parametrize(("start", "steps", "seen"), [(240, 100, 250), (0, 600, 250), (260, 600, 500), (3, 40, 43)])
def test_an_inspection_in_time(start, steps, seen):
    """A ball flies too fast from the start: the motion ends at the next inspection, which is due at the last step, too."""
    world, end = flight(start, steps, 0.001, (0.0, 0.0, 0.0))
    assert end == seen
    assert world.team.alarm[0, :3].tolist() == [TOO_FAR, pytest.approx(1.4e-2, rel=1e-12), 1]


def test_inspections_go_on():
    """Balls that fall are too fast after the first inspection: the second one ends the motion."""
    world, end = flight(0, 600, 0.3, (0.0, 0.0, -10.0))
    assert end == 2 * INSPECT_EVERY
    assert world.team.alarm[0, 0] == TOO_FAR


def test_inspections_are_as_rare_as_documented():
    assert INSPECT_EVERY == 250


def test_the_alarm_of_any_thread_counts():
    team = team_of()._replace(size=3, alarm=np.zeros((3, 8)))
    assert not any_alarm(team)
    for thread in range(3):
        team.alarm[:] = 0
        team.alarm[thread, 0] = TOO_FAR
        assert any_alarm(team)
    team.alarm[:, 0] = 0
    team.alarm[1, 1:] = 5.0
    assert not any_alarm(team)
