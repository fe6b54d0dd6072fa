"""What a contact law of your own needs; see docs/own_law.py for an example.

A law is three functions of numbers in SI units:

    contact(distance, reach, radii, constant) -> (force over distance, N/m; potential energy, J)
    constant(a, b) -> the one number that `contact` needs of two materials, in any unit; the same for (b, a)
    contact_time(constant, mass, radius, speed) -> duration of a head-on collision, s

`distance` is that of the centres (m). Two spheres touch below the distance `reach` (m), the sum of their radii, so the
overlap is reach - distance. `radii` is the effective radius R* times the reach (m^2), with 1/R* = 1/R1 + 1/R2. `a` and `b`
map the keys of a material to its numbers. `mass` (kg) and `radius` (m) are effective ones, `speed` (m/s) the closing one,
which may be 0: return math.inf if the duration has no bound then.

`contact` is compiled; functions that it calls need the decorator `compiled`. `register` adds the law to the catalogue for
this process; a scenario then names it in `[contact] law`.
"""

from .engine.compile.kernels import inlined as compiled
from .engine.contact.registry import LAWS, Law
from .engine.contact.registry import register_law as register

__all__ = ["LAWS", "Law", "compiled", "register"]
