"""The command line: parses and prints, nothing else."""

from .runs import app, main

__all__ = ["app", "main"]
