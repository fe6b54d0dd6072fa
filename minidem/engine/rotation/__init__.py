"""Rotational integrators, one per file.

A scheme is three functions of one body, each ``(q, spin, torque, inertia, dt) -> (q, spin)``:

``start``    turns q and the body-frame angular velocity at step 0 into what the scheme keeps (for example half a step back);
``advance``  goes from step n to step n + 1 with the torque at n. It may be a tuple of two functions, applied one after the
             other in separate loops over the bodies, to keep code that LLVM cannot vectorise out of the loop that it can;
``on_step``  returns q and the body-frame angular velocity at step n for energies and output; needs the torque at n.

q is (w, x, y, z), body -> world. `torque` (N m) and `inertia` (kg m^2, nine numbers: see euler.py) are in the
principal-axis body frame. `spin` is what the scheme keeps from step to step besides q: a body-frame angular velocity (rad/s)
or, if its file says so, a world-frame angular momentum (J s) or more. It has as many numbers as `values` in the scheme's row
of the registry. `start` receives the angular velocity in the first three and zeros in the others; `on_step` returns the
angular velocity in the first three.

Forces that depend on velocities need omega(n) before the torque at n is known. `on_step` is then called with the torque of
step n - 1 to predict it; a scheme with its own prediction has it as a fourth function, ``foresee``.

A scheme with several torque evaluations per step has, instead of `advance`, a tuple ``stages`` of such functions and a tuple
``times`` with the time of each torque as a fraction of the step (0 to 1); likewise ``starts`` and ``start_times`` if its
start needs more than the torque at time 0. Between stages, `foresee` returns the q and omega for which the next torque is
evaluated.
"""
