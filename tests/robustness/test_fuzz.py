"""Damaged files of every kind are read or refused; see fuzz.py for what counts."""

import json
import subprocess
import sys
from pathlib import Path

from fuzz import shared_out


def test_damaged_files_are_read_or_refused(long):
    """In a process of its own, which has children."""
    inputs = 100_000 if long else 300
    command = [sys.executable, Path(__file__).with_name("fuzz.py"), "--inputs", str(inputs), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    assert found["findings"] == []
    table = found["table"]
    assert {kind: sum(row[outcome] for outcome in ("accepted", "refused", "finding")) for kind, row in table.items()} == (
        shared_out(inputs)
    )
    assert all(row["accepted"] > 0 and row["refused"] > 0 for row in table.values())  # the damage is of every degree
