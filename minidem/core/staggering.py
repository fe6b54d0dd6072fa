"""Between motion on step, as it is given and given out, and the staggered motion that the time step works on."""

import numpy as np

from .compiling import kernel


@kernel
def rotate_all(rotate, orientation, spin, torque, inertia, dt):
    """Only kernels can call the functions of a rotational integrator (see compiling.rotation_kernel)."""
    rotate(orientation, spin, torque, inertia, 0, orientation.shape[1], dt)


def half_kick(axis, bodies, gravity, dt):
    """dt/2 a(n) (n,) of the bodies along one axis, m/s"""
    return 0.5 * dt * (bodies.force[axis] / bodies.mass + gravity[axis])


@np.errstate(all="ignore")  # of speeds and forces beyond the range of numbers
def half_back(start, bodies, gravity, dt):
    """From on-step values to the staggered ones of step 0: v(-1/2) = v(0) - dt/2 a(0), and the scheme's own start."""
    for axis in range(3):
        bodies.velocity[axis] -= half_kick(axis, bodies, gravity, dt)
    rotate_all(start, bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, dt)


@np.errstate(all="ignore")  # of a run that blew up
def on_step_motion(on_step, bodies, gravity, dt):
    """Velocity (3, n) in world axes, orientation (4, n) and angular velocity (3, n) in principal axes, at step n."""
    velocity, orientation, spin = bodies.velocity.copy(), bodies.orientation.copy(), bodies.spin.copy()
    for axis in range(3):
        velocity[axis] += half_kick(axis, bodies, gravity, dt)
    rotate_all(on_step, orientation, spin, bodies.torque, bodies.inertia, dt)
    return velocity, orientation, spin[:3]
