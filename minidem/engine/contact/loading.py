"""From the name of a contact law to its compiled loop over a batch of contacts."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ..compile.faults import compilation_fault, fault
from ..compile.kernels import in_this_process, inlined, kernel
from ..compile.pointers import edge_pointer, law_pointer, signature_for
from ..geometry import FOUR, ONE, THREE, TWO, index
from ..state import CONTACTS, World
from .batch import CONSTANT, ENERGY, FORCE, RADII, ROWS
from .edges import edge_scene, over_edges, series_of
from .registry import LAWS, Law

USE = "use numbers and functions of math; helpers need the decorator minidem.laws.compiled"
SEE = "`minidem new own_law` writes an example"
ROUND_OFF = 1e-12  # relative difference between constants that counts as none


class LoadedLaw(NamedTuple):
    """The functions of a law; see hertz.py."""

    row: Law
    forces: Any  # function pointer: forces and energies of a batch
    constant: Callable[..., float]
    contact_time: Callable[..., float]

    def constants(self, materials: Mapping[str, Mapping[str, float]]) -> Any:
        """The law's constant for each pair of the m materials, (m, m). `materials` has their numbers by name."""
        found = np.array([[self.constant(a, b) for b in materials.values()] for a in materials.values()], dtype=float)
        for i, a in enumerate(materials):
            for j, b in enumerate(materials):
                if not math.isfinite(found[i, j]):
                    raise InputError(f"the constant of {a} and {b} must be finite, got {found[i, j]}")
                if not math.isclose(found[i, j], found[j, i], rel_tol=ROUND_OFF):
                    both = f"{found[i, j]:g} and {found[j, i]:g}"
                    raise InputError(f"the constants of {a} and {b} and of {b} and {a} must be equal, got {both}")
        return found

    def pointers(self, world: World) -> tuple[Any, Any]:
        """Function pointers to the forces of a batch and to the pass over the edges of contacts, for such a world."""
        signature = signature_for(0, 0, 0, 0, False, 0.0, edge_scene.py_func(world))
        return self.forces, _edge_pass(self.row, world.edges.corrected, signature)

    def force(self, distance: Any, reach: Any, radii: Any, constant: Any) -> Any:
        """Magnitudes (c,) of the forces of c contacts, N. The arguments are arrays (c,) of what `contact` takes."""
        force = np.empty(len(distance))
        _set_forces(self.forces, np.stack([distance, reach, radii, constant]), np.zeros(ROWS * CONTACTS), force)
        return force


@kernel
def _set_forces(law, contacts, batch, force):
    """Set the forces (c,) of contacts (4, c) with the function pointer of a law; `batch` is working space."""
    for begin in range(0, force.size, CONTACTS):
        count = min(CONTACTS, force.size - begin)
        for c in range(count):
            batch[4 * c], batch[4 * c + 3] = contacts[0, begin + c], -contacts[1, begin + c]
            batch[RADII + index(c)], batch[CONSTANT + index(c)] = contacts[2, begin + c], contacts[3, begin + c]
        law(count, batch, np.inf)
        for c in range(count):
            force[begin + c] = batch[FORCE + index(c)] * contacts[0, begin + c]


def over_contacts(count, batch, deep_overlap):
    """Set force and energy of the first `count` contacts of a batch with the law's function `contact`. Returns how many
    overlap by more than `deep_overlap` (m)."""
    deep = 0
    for c in range(min(index(count), index(CONTACTS))):  # LLVM takes no lanes without this bound
        dx, dy, dz = batch[FOUR * c], batch[FOUR * c + ONE], batch[FOUR * c + TWO]
        reach = -batch[FOUR * c + THREE]
        distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))  # two centres at one place have no direction
        deep += reach - distance > deep_overlap
        force, energy = contact(distance, reach, batch[RADII + c], batch[CONSTANT + c])  # noqa: F821 - see law_pointer
        batch[FORCE + c] = force
        batch[ENERGY + c] = energy
    return deep


def _parts(law):
    """The functions of a row of the registry, by name."""
    return law.parts or vars(import_module(law.module))


def _in_python(law, part):
    """A function of a row of the registry that stays in Python; if a law of one's own fails there, three lines say so."""
    function = _parts(law)[part]
    if law.parts is None:
        return function

    def call(*arguments):
        try:
            return float(function(*arguments))
        except Exception as error:  # of somebody else's code
            reason = f"{type(error).__name__}: {error}"
            raise fault(f'contact law "{law.name}": {part} fails', function, reason, SEE) from None

    return call


@cache
def _compiled_contact(law):
    """The function `contact` of a row of the registry, compiled, and the compiler for function pointers with it."""
    contact = _parts(law)["contact"]
    contact = contact if hasattr(contact, "py_func") else inlined(contact)
    if law.parts is None:
        return contact, kernel
    check_result(law.name, contact)
    # The disk cache covers the sources of the package only; a law from elsewhere may have been edited since.
    return contact, in_this_process


@cache
def compiled(law):
    """A row of the registry with its functions compiled."""
    contact, compiler = _compiled_contact(law)
    forces = law_pointer(over_contacts, contact, law.name, compiler)
    return LoadedLaw(law, forces, _in_python(law, "constant"), _in_python(law, "contact_time"))


@cache
def _edge_pass(law, corrected, signature):
    """Function pointer to edges.over_edges with the function of a law; `corrected` as for `edges_of`."""
    contact, compiler = _compiled_contact(law)
    power = law.edge_power or 1.0  # without a power it is never called
    name = f"{law.name}_edges_{'corrected' if corrected else 'plain'}"
    constants = {"CORRECTED": corrected, "POWER": power, "SERIES": series_of(power)}
    return edge_pointer(over_edges, contact, name, signature, compiler, **constants)


def check_result(name, contact):
    """Raise an InputError unless the compiled function `contact` of a law returns two numbers."""
    try:
        result = in_this_process(lambda: contact(1.0, 1.5, 0.5, 1.0))()
    except Exception as error:  # numba raises errors of many kinds
        raise compilation_fault(f'contact law "{name}": contact cannot be compiled', contact, error, USE) from None
    if not (isinstance(result, tuple) and len(result) == 2 and all(isinstance(number, float | int) for number in result)):
        what = f"it must return two numbers, force over distance and energy, not {result}"
        raise fault(f'contact law "{name}": contact returns something else', contact, what, SEE)


def contact_law(name):
    """The law of that name, compiled."""
    return compiled(LAWS[name])
