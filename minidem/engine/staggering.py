"""Convert between on-step motion, as users see it, and the staggered motion that the time step works on."""

import numpy as np

from .compile.kernels import kernel


@kernel
def rotate_all(rotate, orientation, spin, torque, inertia, dt):
    """Call a function of a rotational integrator for all columns; only kernels can (see compile/pointers.py)."""
    rotate(orientation, spin, torque, inertia, 0, orientation.shape[1], dt)


@np.errstate(all="ignore")  # speeds and forces may be beyond the range of floats
def stagger_velocity(some, bodies, gravity, dt):
    """Replace the on-step velocity of `some` bodies, a slice or an array of columns: v(n-1/2) = v(n) - dt/2 a(n)."""
    bodies.velocity[:, some] -= 0.5 * dt * (bodies.force[:, some] / bodies.mass[some] + np.reshape(gravity, (3, 1)))


@np.errstate(all="ignore")
def stagger_spin(some, start, bodies, dt):
    """Replace the on-step angular velocity (principal axes, in the first rows of `spin`) of `some` bodies by what the
    rotational integrator keeps; `start` is its function of that name."""
    orientation, spin, torque, inertia = rotating_columns(bodies, some)
    spin[3:] = 0.0
    rotate_all(start, orientation, spin, torque, inertia, dt)
    bodies.orientation[:, some], bodies.spin[:, some] = orientation, spin


@np.errstate(all="ignore")  # the run may have blown up
def on_step_motion(some, on_step, bodies, gravity, dt):
    """Velocity (3, k) in world axes, orientation (4, k) and angular velocity (3, k) in principal axes, at step n, of `some`
    bodies: a slice, or an array of k columns."""
    orientation, spin, torque, inertia = rotating_columns(bodies, some)
    rotate_all(on_step, orientation, spin, torque, inertia, dt)
    kick = 0.5 * dt * (bodies.force[:, some] / bodies.mass[some] + np.reshape(gravity, (3, 1)))
    return bodies.velocity[:, some] + kick, orientation, spin[:3]


def rotating_columns(bodies, some):
    """Copies of orientation, spin, torque and inertia of `some` bodies, as the rotational integrators want them."""
    arrays = (bodies.orientation, bodies.spin, bodies.torque, bodies.inertia)
    return [np.array(values[:, some], order="C") for values in arrays]
