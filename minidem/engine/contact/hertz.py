"""Hertz contacts between elastic spheres, without friction or damping.

    F = 4/3 E* sqrt(R*) d^(3/2),    U = 8/15 E* sqrt(R*) d^(5/2) = 2/5 F d
    1/E* = (1 - v1^2)/E1 + (1 - v2^2)/E2,    1/R* = 1/R1 + 1/R2, and R* = R at a wall

Hertz 1881; Johnson, Contact Mechanics, 1985, Sec. 4.2. Conservative.
"""

import math

from ..compile.kernels import inlined


def constant(a, b):
    """(4/3 E*)^2 of two materials (Pa^2), given as mappings of their numbers; larger for stiffer ones."""
    modulus = 1.0 / ((1.0 - a["poisson"] ** 2) / a["young"] + (1.0 - b["poisson"] ** 2) / b["young"])
    return (4.0 / 3.0 * modulus) * (4.0 / 3.0 * modulus)


@inlined
def contact(distance, reach, radii, constant):
    """Force over distance (N/m) and potential energy (J) of two spheres at a distance (m) below their reach (m); `radii` is
    R* times reach (m^2)."""
    overlap = reach - distance
    # One root and one quotient: with (4/3 E*)^2 R* reach^2 under the root, force and energy come out times the reach.
    force = overlap * math.sqrt(radii * constant * reach * overlap)
    energy = 0.4 * force * overlap
    per_length = 1.0 / (reach * distance)
    return force * per_length, energy * distance * per_length


def contact_time(constant, mass, radius, speed):
    """Duration of a head-on collision (s) of effective mass (kg), effective radius (m) and closing speed (m/s):
    2.87 (m*^2 / (R* E*^2 u))^(1/5). Infinite without approach."""
    modulus = 0.75 * math.sqrt(constant)
    stiffness = radius * modulus**2 * speed
    return 2.87 * (mass**2 / stiffness) ** 0.2 if stiffness > 0 else math.inf
