"""On-step motion and the sums over all bodies that should be conserved."""

import numpy as np

from .compiling import kernel
from .quaternion import to_world


@kernel
def on_step_motion(on_step, bodies, gravity, dt):
    """Velocity (3, n) in world axes, orientation (4, n) and angular velocity (3, n) in principal axes, at step n."""
    velocity, orientation, omega = bodies.velocity.copy(), bodies.orientation.copy(), bodies.spin.copy()
    for c in range(3):
        for b in range(bodies.mass.size):
            velocity[c, b] += 0.5 * dt * (bodies.force[c, b] / bodies.mass[b] + gravity[c])
    on_step(orientation, omega, bodies.torque, bodies.inertia, 0, orientation.shape[1], dt)
    return velocity, orientation, omega[:3]


@kernel
def conserved_sums(bodies, velocity, orientation, omega, gravity):
    """Translational and rotational kinetic energy, gravity's potential (J), momentum (kg m/s) and angular momentum about the
    origin (J s), in world axes: (9,), from on-step motion."""
    sums = np.zeros(9)
    for b in range(bodies.mass.size):
        m, x, v = bodies.mass[b], bodies.position, velocity
        spin = (bodies.inertia[0, b] * omega[0, b], bodies.inertia[1, b] * omega[1, b], bodies.inertia[2, b] * omega[2, b])
        own = to_world((orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b]), spin)
        for c in range(3):
            d, e = (c + 1) % 3, (c + 2) % 3
            sums[0] += 0.5 * m * v[c, b] * v[c, b]
            sums[1] += 0.5 * spin[c] * omega[c, b]
            sums[2] -= m * gravity[c] * x[c, b]
            sums[3 + c] += m * v[c, b]
            sums[6 + c] += m * (x[d, b] * v[e, b] - x[e, b] * v[d, b]) + own[c]
    return sums
