"""From the name of a contact law to its compiled loop over a batch of contacts."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..compile.kernels import in_this_process, inlined, kernel
from ..compile.pointers import law_pointer
from ..geometry import FOUR, ONE, THREE, TWO, index
from ..state import CONTACTS
from .batch import CONSTANT, ENERGY, FORCE, RADII
from .registry import LAWS


class LoadedLaw(NamedTuple):
    """The functions of a law; see hertz.py."""

    forces: Any  # function pointer: forces and energies of a batch
    contact: Callable[..., tuple[float, float]]  # of scalars, not compiled
    constant: Callable[..., float]
    contact_time: Callable[..., float]

    def constants(self, materials: Sequence[Mapping[str, float]]) -> Any:
        """The law's constant for each pair of the m materials, (m, m)."""
        return np.array([[self.constant(a, b) for b in materials] for a in materials], dtype=float)


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


@cache
def compiled(law):
    """A row of the registry with its functions compiled."""
    parts = law.parts or vars(import_module(law.module))
    # The disk cache covers the sources of the package only; a law from elsewhere may have been edited since.
    compiler = kernel if law.parts is None else in_this_process
    contact = parts["contact"]
    contact = contact if hasattr(contact, "py_func") else inlined(contact)
    forces = law_pointer(over_contacts, contact, law.name, compiler)
    return LoadedLaw(forces, contact.py_func, parts["constant"], parts["contact_time"])


def contact_law(name):
    """The law of that name, compiled."""
    return compiled(LAWS[name])
