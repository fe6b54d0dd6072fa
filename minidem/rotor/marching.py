"""Kernels of the bench: start a rotational scheme and take steps with a given torque.

Arrays of n bodies: orientations q (4, n), spin (values, n) as the scheme keeps it, torque (3, n) in N m and inertia (9, n),
see engine/rotation. `seen_q`, `seen_spin` and `seen_torque` are scratch arrays of the same shapes.
"""

from ..engine.compile.kernels import internal, kernel


@internal
def copied(source, target):
    """Copy one array of rows into another."""
    for c in range(source.shape[0]):
        for b in range(source.shape[1]):
            target[c, b] = source[c, b]


@internal
def torque_ahead(t, dt, foresee, torque_at, q, spin, last, inertia, seen_q, seen_spin, torque):
    """Fill `torque` with the torque at time t, for the q and omega that the scheme predicts from the torque `last`."""
    copied(q, seen_q)
    copied(spin, seen_spin)
    foresee(seen_q, seen_spin, last, inertia, 0, q.shape[1], dt)
    torque_at(t, dt, seen_q, seen_spin, torque)


@kernel
def begin(dt, starts, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin):
    """Turn q and omega at time 0 into the values that the scheme keeps between steps."""
    torque_at(0.0, dt, q, spin, torque)
    starts[0].move(q, spin, torque, inertia, 0, q.shape[1], dt)
    for k in range(1, len(starts)):
        torque_ahead(starts[k].time * dt, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, torque)
        starts[k].move(q, spin, torque, inertia, 0, q.shape[1], dt)


@kernel
def march(
    n, milestones, dt, stages, on_step, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque,
    out_q, out_omega,
):  # fmt: skip
    """Advance from step n to the last milestone. Write q and omega at each milestone to `out_q` and `out_omega`.

    Milestones are step numbers in ascending order. Writing at a milestone does not change the motion.
    """
    for k in range(milestones.size):
        while n < milestones[k]:
            for stage in stages:
                t = (n + stage.time) * dt
                torque_ahead(t, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, torque)
                stage.move(q, spin, torque, inertia, 0, q.shape[1], dt)
            n += 1
        if len(stages) == 1:  # schemes with several stages know omega on step without a torque
            torque_ahead(n * dt, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque)
        copied(q, seen_q)
        copied(spin, seen_spin)
        on_step(seen_q, seen_spin, seen_torque, inertia, 0, q.shape[1], dt)
        copied(seen_q, out_q[k])
        copied(seen_spin[:3], out_omega[k])
