"""Between motion on step, as it is given and given out, and the staggered motion that the time step works on."""

import numpy as np

from .compile.kernels import kernel


@kernel
def rotate_all(rotate, orientation, spin, torque, inertia, dt):
    """Only kernels can call the functions of a rotational integrator (see compile/pointers.py)."""
    rotate(orientation, spin, torque, inertia, 0, orientation.shape[1], dt)


@np.errstate(all="ignore")  # of speeds and forces beyond the range of numbers
def half_back(start, bodies, gravity, dt):
    """From on-step values to the staggered ones of step 0: v(-1/2) = v(0) - dt/2 a(0), and the scheme's own start."""
    for axis in range(3):
        bodies.velocity[axis] -= 0.5 * dt * (bodies.force[axis] / bodies.mass + gravity[axis])
    rotate_all(start, bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, dt)


@np.errstate(all="ignore")  # of a run that blew up
def on_step_motion(some, on_step, bodies, gravity, dt):
    """Velocity (3, k) in world axes, orientation (4, k) and angular velocity (3, k) in principal axes, at step n, of `some`
    bodies: a slice, or an array of k columns."""
    turning = (bodies.orientation, bodies.spin, bodies.torque, bodies.inertia)
    orientation, spin, torque, inertia = (np.array(values[:, some], order="C") for values in turning)
    rotate_all(on_step, orientation, spin, torque, inertia, dt)
    kick = 0.5 * dt * (bodies.force[:, some] / bodies.mass[some] + np.reshape(gravity, (3, 1)))
    return bodies.velocity[:, some] + kick, orientation, spin[:3]
