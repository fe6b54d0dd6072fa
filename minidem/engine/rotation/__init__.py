"""Rotational integrators, one a file.

A scheme is three functions of one body, each ``(q, spin, torque, inertia, dt) -> (q, spin)``:

``start``    from q and the body-frame angular velocity on step to whatever the scheme keeps (say, half a step back);
``advance``  from step n to step n + 1 with the torque at n; may be a tuple of functions, which act one after the other,
             each in a loop of its own, so that what LLVM cannot put into vector lanes is apart from what it can;
``on_step``  q and the body-frame angular velocity at n, for energies and output; needs the torque at n.

q is (w, x, y, z), body -> world. `torque` (N m) and `inertia` (kg m^2, nine numbers: see euler.py) are in the
principal-axis body frame. `spin` is what the scheme keeps from step to step: a body-frame angular velocity (rad/s) or,
where its file says so, a world-frame angular momentum (J s), or more: as many numbers as `values` in its row of the
registry. `start` finds the angular velocity in the first three and zeros in the others, and `on_step` returns the angular
velocity in the first three.

Where forces depend on velocities, the torque at n is wanted before omega(n) is known. Then `on_step` is asked with the
torque of n - 1 for a prediction; a scheme with a prediction of its own has it as a fourth function, ``foresee``.

A scheme with several torque evaluations a step has, in place of `advance`, a tuple ``stages`` of such functions, and a
tuple ``times`` that says where in the step (0 to 1) each wants its torque; likewise ``starts`` and ``start_times`` if its
start needs more than the torque of time 0. Between stages, `foresee` gives the q and omega that the next torque is wanted
for.
"""
