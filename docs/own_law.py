"""A contact law of your own, without any change to the package: a linear spring.

    python own_law.py        # a collision of two balls
    minidem run rods.toml --plugin own_law.py --set contact.law=spring --set material.plastic.stiffness=1e5

F = k d,   U = 1/2 k d^2,   1/k = 1/k1 + 1/k2 (springs in series)

A head-on collision lasts half a period of the spring: pi sqrt(m*/k), at any speed.
"""

import math
import tempfile
from pathlib import Path

import minidem
import minidem.laws


# A function of scalars, which numba compiles; what it calls needs the decorator minidem.laws.compiled. The overlap is
# reach - distance.
def contact(distance, reach, radii, constant):
    """Force over distance (N/m) and energy (J)."""
    overlap = reach - distance
    return constant * overlap / distance, 0.5 * constant * overlap * overlap


def constant(a, b):
    """k of two materials (N/m), given by their numbers in the scenario."""
    return 1.0 / (1.0 / a["stiffness"] + 1.0 / b["stiffness"])


def contact_time(constant, mass, radius, speed):
    """Duration of a head-on collision (s)."""
    return math.pi * math.sqrt(mass / constant)


minidem.laws.register("spring", contact, constant, contact_time, edge_power=1.0, keys=("stiffness",), summary="F = k d")

SCENE = """
time = {dt = 1e-6, end = 4e-3}
contact.law = "spring"
material.rubber = {young = 1e7, poisson = 0.3, density = 1000.0, stiffness = 1e4}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "rubber"}
body = [
    {clump = "ball", position = [0, 0, 0], velocity = [0.5, 0, 0]},
    {clump = "ball", position = [0.0201, 0, 0], velocity = [-0.5, 0, 0]},
]
output = {energies = 4001}
"""


def collision():
    """The run of SCENE."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "collision.toml"
        file.write_text(SCENE)
        return minidem.run(file)


if __name__ == "__main__":
    result = collision()
    touching = result.energy["elastic"] > 0
    duration = touching.sum() * result.summary["dt"]
    mass = result.trajectory.mass[0]
    print(f"contact for {duration:.4g} s, closed form {math.pi * math.sqrt(mass / 2 / 5e3):.4g} s")
    print(f"energy drift at the end {result.summary['energy']['drift_last']:.2g}")
