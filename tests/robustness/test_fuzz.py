"""Damaged files of every kind are read or refused; see fuzz.py for what counts."""

from fuzz import fuzz, shared_out


def test_damaged_files_are_read_or_refused(tmp_path, long):
    counts = shared_out(100_000 if long else 600)
    table, findings = fuzz(counts, 0, tmp_path)
    assert findings == []
    assert {kind: sum(row.values()) for kind, row in table.items()} == counts
    assert all(row["accepted"] > 0 and row["refused"] > 0 for row in table.values())  # the damage is of every degree
