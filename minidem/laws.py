"""What a contact law of your own needs.

A law is three functions: `contact`, `constant` and `contact_time`, as in minidem/engine/contact/hertz.py. `register` adds it
to the catalogue for this process; a scenario then names it in `[contact] law`.
"""

from .engine.contact.registry import LAWS, Law
from .engine.contact.registry import register_law as register

__all__ = ["LAWS", "Law", "register"]
