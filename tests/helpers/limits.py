"""Processes that could not take the memory, if they tried to."""

import resource
import subprocess
import sys

LEAST = 3 * 2**30  # bytes of address space that a command takes by its libraries, and some more


def short_of_memory(size):
    """For subprocess.run(..., preexec_fn=...): no more address space than `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def lines_of_script(script, *arguments, size=LEAST):
    """What a Python script prints, line by line, with no more than `size` bytes of address space."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=short_of_memory(size), timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
