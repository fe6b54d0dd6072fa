"""A rotational integrator of your own, on the test bench and in a run, without any change to the package.

rate   = d omega/dt[omega(n), M(n)],     middle = omega(n) + dt/2 rate
q(n+1) = q(n) exp(dt/2 middle),          omega(n+1) = omega(n) + dt d omega/dt[middle, M(n)]

Second order under a constant torque. Not for contacts: it holds the torque constant at its value at the start of the step,
and the energy of colliding rods drifts by several per cent. A leapfrog scheme would keep omega half a step behind q.
"""

from pathlib import Path

import minidem
from minidem.rotor.bench import run
from minidem.schemes import acceleration, kicked, turned


# Functions of one body on plain tuples: q is (w, x, y, z); omega, torque and inertia are in the principal-axis body frame.
# numba compiles them.
def start(q, omega, torque, inertia, dt):
    """From q and omega at step 0 to what the scheme stores: here the same; leapfrog schemes move omega half a step back."""
    return q, omega


def advance(q, omega, torque, inertia, dt):
    """From step n to n + 1, with the torque at n."""
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
