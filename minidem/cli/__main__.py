"""Runs the command line: `python -m minidem.cli`."""

from . import main

main()
