"""A rotational integrator of one's own, on the test bench and in a run, without touching the package.

rate   = d omega/dt[omega(n), M(n)],     middle = omega(n) + dt/2 rate
q(n+1) = q(n) exp(dt/2 middle),          omega(n+1) = omega(n) + dt d omega/dt[middle, M(n)]

Second order under a constant torque; but as it holds the torque of the beginning of a step, no scheme for contacts: the
energy of colliding rods drifts by per cents. A leapfrog would keep omega half a step behind.
"""

from pathlib import Path

import minidem
from minidem.engine.quaternion import turned
from minidem.engine.rotation.euler import acceleration, kicked
from minidem.rotor.bench import run


# Functions of one body on plain tuples: q (w, x, y, z); omega, torque and inertia in principal axes. numba compiles them.
def start(q, omega, torque, inertia, dt):
    """From q and omega on step to what the scheme keeps: the same here; leapfrog schemes go half a step back."""
    return q, omega


def advance(q, omega, torque, inertia, dt):
    """From step n to n + 1, with the torque of n."""
    middle = kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)
    q = turned(q, middle, dt)
    return q, kicked(omega, acceleration(middle, torque, inertia), dt)


def on_step(q, omega, torque, inertia, dt):
    """q and omega at step n, for energies and output."""
    return q, omega


minidem.register("exponential-midpoint", start, advance, on_step, order_q=2, order_omega=2)

if __name__ == "__main__":
    for dt in (2e-3, 1e-3, 5e-4):
        print(f"constant torque, dt {dt:g} s: error", run("constant-torque", "exponential-midpoint", dt)["error"])
    changes = {"integrator.rotation": "exponential-midpoint", "time.end": 0.1}
    rods = minidem.load(Path(__file__).parents[1] / "scenarios" / "rods.toml").with_changes(changes)
    print("30 rods for 0.1 s: energy drift", minidem.run(rods).summary["energy"]["drift_max"])
