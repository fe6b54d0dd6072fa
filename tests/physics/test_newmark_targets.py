"""Tables and figures of Seelen et al. and of Krysl and Endres against the numbers and statements of the papers."""

from functools import cache

import numpy as np
import pytest

from minidem.reproduce import TARGETS, reproduced
from minidem.reproduce.newmark.common import ATTITUDE, MOMENTUM, converge, shift
from minidem.reproduce.newmark.fig8 import relative_error
from minidem.reproduce.newmark.free import increment, motions
from minidem.reproduce.newmark.toss import energy_change, momentum_change
from minidem.reproduce.seelen.fig3 import errors, order
from minidem.rotor.bench import integrated
from minidem.rotor.cases import CASES

OWN = [target for target in TARGETS if target.startswith(("seelen", "newmark"))]


@cache
def toss(integrator, dt, end):
    """The motion of the book toss, sampled at every step."""
    return integrated(CASES["book-toss"], integrator, dt, end, samples=10**6)


@pytest.mark.parametrize("target", OWN)
def test_target_is_complete(target):
    """Finite numbers, columns of equal length, notes, and curves with labels."""
    found = reproduced(target, quick=True)
    lengths = {len(column) for column in found.data.values()}
    assert len(lengths) == 1 and lengths.pop() > 2
    assert all(np.isfinite(comparison.measured) for comparison in found.comparisons)
    assert found.notes
    for axis in found.figure.axes:
        assert axis.get_ylabel() and axis.lines


@pytest.mark.parametrize(("integrator", "x", "z", "within"), [
    ("pcdm", 2.91578e-1, -9.56547e-1, 1e-5),
    ("pcdm-improved", 2.93444e-1, -9.55976e-1, 5e-7),
])  # fmt: skip
def test_arrow_points_where_the_table_says(integrator, x, z, within):
    """Against Seelen et al., Table 1."""
    arrow = integrated(CASES["forced-sphere"], integrator, 1e-4, samples=2).axis()[-1, :, 0]
    assert arrow == pytest.approx([x, 0.0, z], abs=within)


def test_table_of_the_forced_sphere_is_off_in_its_theory_row():
    """The exact solution against Table 1 of Seelen et al., as the notes of seelen-table1 say."""
    exact = CASES["forced-sphere"].reference(np.array([1.0])).axis()[0, 0, 0]
    assert exact - 2.93425e-1 == pytest.approx(1.9e-5, abs=1e-6)
    assert round(exact, 6) == 2.93444e-1


def test_energy_of_the_symmetric_top_grows_as_the_note_says():
    """Against k^4 dt^3 / 4 (explicit midpoint rule) and k^4 dt^3 / 2 (Adams-Bashforth) per second, k the precession rate."""
    case = CASES["symmetric-top"]
    share = 1100 * (1.2**2 + 0.45**2) / (1100 * (1.2**2 + 0.45**2) + 2600 * 0.6**2)
    for integrator, factor in (("pcdm", 1 / 4), ("pcdm-improved", 1 / 2)):
        motion = integrated(case, integrator, 0.02, 1000.0, samples=3)
        energy = motion.kinetic_energy(case.inertia)
        growth = (energy[2] - energy[1]) / energy[0] / 500.0
        assert growth == pytest.approx(factor * share * (1500 / 1100 * 0.6) ** 4 * 0.02**3, rel=0.05)


def test_forced_cylinder_converges_with_first_and_second_order():
    """Against the orders in Seelen et al., Fig. 3."""
    dts = 1e-3 / np.array([1, 3, 10, 30, 100, 300])
    found = errors(dts)
    assert 1.0 < order(dts, found["pcdm"]) < 1.1
    assert 1.9 < order(dts, found["pcdm-improved"]) < 2.1


def test_rubbing_cylinders_are_followed_better_by_the_improved_method():
    """Errors against the analytic solution, as in Seelen et al., Fig. 5."""
    case = CASES["coupled-cylinders"]
    worst = {}
    for integrator in ("pcdm", "pcdm-improved"):
        motion = integrated(case, integrator, case.dt)
        worst[integrator] = np.abs(motion.omega[:, 2, 0] / case.reference(motion.time).omega[:, 2, 0] - 1).max()
    assert worst["pcdm-improved"] < 1e-3
    assert 10 < worst["pcdm"] / worst["pcdm-improved"] < 100


def test_rotation_of_a_step_is_the_angle_between_orientations():
    """The angle from omega, as in newmark-fig2, against that between consecutive q, which is unique below a full turn."""
    motion = motions((1.0,))[1.0]
    turned = 2 * np.arccos(np.abs((motion.q[1:] * motion.q[:-1]).sum(axis=1)[:, 0]))
    assert increment(motion)[:-1] == pytest.approx(turned, rel=1e-7)


def test_newmark_keeps_the_hamiltonian_of_the_lagrange_top():
    """Against Krysl and Endres, Fig. 8: an error below 0.005, without drift."""
    error = relative_error(integrated(CASES["lagrange-top"], "newmark-body", 0.05, samples=10**6))
    assert 0.0005 < np.abs(error).max() < 0.005
    assert abs(shift(error)) < 0.05 * np.ptp(error)
    longer = relative_error(integrated(CASES["lagrange-top"], "newmark-body", 0.05, 10_000.0, samples=10**6))
    assert np.ptp(longer) < 1.01 * np.ptp(error)
    assert abs(shift(longer)) < 0.002 * np.ptp(error)


def test_newmark_is_the_same_in_both_frames():
    """newmark-spatial against newmark-body."""
    body, spatial = (
        integrated(CASES["lagrange-top"], name, 0.05, samples=10**6) for name in ("newmark-body", "newmark-spatial")
    )
    assert len(body.time) == 2001
    assert spatial.omega == pytest.approx(body.omega, abs=1e-10 * 12)
    assert spatial.q == pytest.approx(body.q, abs=1e-10)


@pytest.mark.parametrize("dt", [1.0, 0.1, 0.01])
def test_simo_and_wong_keep_the_momentum_of_a_free_body(dt):
    """Against the initial angular momentum."""
    case = CASES["free-body"]
    momentum = integrated(case, "simo-wong", dt).momentum(case.inertia)[:, :, 0]
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.linalg.norm(momentum[0])


@pytest.mark.parametrize("dt", [0.05, 0.001])
def test_simo_and_wong_keep_the_momentum_after_the_toss(dt):
    """Against the impulse of the push, 20 N m for 2 s, and of the blow, 0.2 J s."""
    motion = toss("simo-wong", dt, 20.0)
    assert momentum_change(motion, dt).max() < 1e-12
    assert motion.momentum(CASES["book-toss"].inertia)[-1, :, 0] == pytest.approx([40.0, 0.2, 0.0], abs=1e-10)


def test_energy_after_the_toss_drifts_with_simo_and_wong_only():
    """Against Krysl and Endres, Fig. 6 and 7, at dt 0.05 s. With Newmark, energy oscillates by 7 %, momentum by 15 %."""
    assert np.abs(energy_change(toss("simo-wong", 0.05, 5.0), 0.05)).max() > 0.1
    assert shift(energy_change(toss("simo-wong", 0.05, 100.0), 0.05)) > 0.2
    early, late = (np.abs(half).max() for half in np.array_split(energy_change(toss("newmark-body", 0.05, 100.0), 0.05), 2))
    assert 0.05 < early < 0.08
    assert late == pytest.approx(early, rel=0.01)
    assert abs(shift(energy_change(toss("newmark-body", 0.05, 1000.0), 0.05))) < 0.001
    assert 0.05 < momentum_change(toss("newmark-body", 0.05, 100.0), 0.05).max() < 0.2


def test_energy_of_simo_and_wong_does_not_drift_at_small_steps():
    """Contrary to the paper, as the notes of newmark-fig6 say."""
    change = energy_change(toss("simo-wong", 0.01, 200.0), 0.01)
    assert 1e-3 < change.max() < 1e-2
    assert abs(shift(change)) < 0.05 * change.max()


@pytest.mark.parametrize("dt", [2.0, 0.1])
def test_midpoint_keeps_energy_and_momentum_of_a_free_body(dt):
    """Against the initial energy and angular momentum."""
    case = CASES["free-body"]
    motion = integrated(case, "midpoint", dt)
    energy, momentum = motion.kinetic_energy(case.inertia), motion.momentum(case.inertia)[:, :, 0]
    assert energy == pytest.approx(np.full_like(energy, energy[0]), rel=1e-12)
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.linalg.norm(momentum[0])


@pytest.mark.parametrize(
    ("case", "largest"), [("free-body", 0.25), ("fast-top", 0.001), ("slow-top", 0.02), ("soft-wall", 0.02)]
)
def test_newmark_converges_with_second_order(case, largest):
    """The slope of the error against the reference solution is 2 in both norms."""
    curves = converge(CASES[case], ("newmark-body",), [largest / 2**k for k in range(4)])
    for norm in (ATTITUDE, MOMENTUM):
        assert 1.9 < curves.slope("newmark-body", norm) < 2.1


def test_published_ratios_of_convergence():
    """Against the statements of Krysl and Endres about Fig. 4, 10 and 11."""
    free = converge(CASES["free-body"], ("newmark-body", "midpoint"), [1 / 64])
    assert 50 < free.ratio("midpoint", "newmark-body", ATTITUDE) < 200  # "two orders of magnitude"
    fast = converge(CASES["fast-top"], ("simo-wong", "hulbert"), [0.001])
    for norm in (ATTITUDE, MOMENTUM):
        assert fast.ratio("simo-wong", "hulbert", norm) == pytest.approx(1.0, abs=0.06)  # "essentially identical"
    slow = converge(CASES["slow-top"], ("newmark-body", "midpoint"), [0.01])
    for norm in (ATTITUDE, MOMENTUM):
        assert slow.ratio("midpoint", "newmark-body", norm) > 1.5  # Newmark "improves on" it


def test_hulbert_blows_up_for_the_slow_top_only():
    """Against Krysl and Endres, Fig. 12."""
    changes = {}
    for name, dt in (("free-body", 1.0), ("slow-top", 0.05)):
        case = CASES[name]
        energy = case.energy(integrated(case, "hulbert", dt, 100.0))
        changes[name] = np.abs(energy / energy[0] - 1).max()
    assert changes["free-body"] < 0.01
    assert changes["slow-top"] > 100
