"""Scenario files: every check on user input."""

from .reading import Scenario, load, parse, read_text

__all__ = ["Scenario", "load", "parse", "read_text"]
