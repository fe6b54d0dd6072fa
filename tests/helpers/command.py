"""Calling the command line in tests."""

import json
import subprocess
import sys
from dataclasses import dataclass

BOX = """\
schema = 1
name = "some-rods"
seed = 3

[time]
dt = 4e-5
end = 0.004

[domain]
box = [0.5, 0.4, 0.3]
material = "plastic"

[material.plastic]
young = 1e9
poisson = 0.1
density = 2500.0

[clump.rod]
spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]
material = "plastic"

[[body]]
clump = "rod"
position = [0.25, 0.2, 0.15]
velocity = [1, 0, 0]

[[place]]
clump = "rod"
count = 4
speed = 2.0
spin = 10.0

[output]
frames = 5
energies = 11
"""
PATIENCE = 120  # s, after which a process hangs


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self):
        """The one JSON object on stdout. NaN and Infinity, which Python would write and read, are no JSON."""

        def refuse(word):
            raise ValueError(f"{word} is no JSON")

        assert self.stdout.endswith("\n")
        value = json.loads(self.stdout, parse_constant=refuse)
        assert isinstance(value, dict)
        return value


def in_a_shell(directory, *arguments, **options):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "minidem.cli", *map(str, arguments)]
    options = {"cwd": directory, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": PATIENCE} | options
    done = subprocess.run(command, **options)
    return Outcome(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())
