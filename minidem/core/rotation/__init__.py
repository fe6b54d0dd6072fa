"""Rotational integrators, one a file.

A scheme is three functions of one body, each ``(q, spin, torque, inertia, dt) -> (q, spin)``:

``start``    from q and the body-frame angular velocity on step to whatever the scheme keeps (say, half a step back);
``advance``  from step n to step n + 1 with the torque at n;
``on_step``  q and the body-frame angular velocity at n, for energies and output; needs the torque at n.

q is (w, x, y, z), body -> world. `torque` (N m) and `inertia` (kg m^2) are in the principal-axis body frame. `spin` is
what the scheme keeps from step to step: a body-frame angular velocity (rad/s) or, where its file says so, a world-frame
angular momentum (J s).
"""
