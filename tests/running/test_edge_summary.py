"""Where the energy error of a run comes from, by logs made by hand."""

import numpy as np
import pytest

from minidem.running.edge_summary import edge_summary, lines_of

INITIAL = np.full(5, 2.0)
ELASTIC = np.array([0.0, 0.5, 0.0, 0.5, 0.0])


def test_edges_explain_the_deviation_of_rows_without_contacts():
    error = np.array([0.0, 0.0, 2e-4, 2e-4, 4e-4])
    total = INITIAL + error + np.array([0.0, 3e-5, 0.0, -5e-5, 1e-5])
    found = edge_summary("plain", 3, total, INITIAL, ELASTIC, error)
    assert found.error == pytest.approx(2e-4)
    assert found.explained == pytest.approx(4e-4 / 4.1e-4)
    assert found.drift == pytest.approx(2.05e-4)
    # The rest is 0, 3e-5, 0, -5e-5, 1e-5 J: in rows with contacts 3e-5 and -5.5e-5 J from the line between the others.
    assert found.bounded == pytest.approx(np.sqrt((3e-5**2 + 5.5e-5**2) / 2) / 2)
    assert found.larger == "drift"
    assert found.drift_free == pytest.approx((0 + 1e-4 + 2.05e-4) / 3)
    line = "mean 0.000102, last 0.000205 in rows without contacts; bounded error within contacts 2.22e-05, which is smaller"
    assert lines_of(found._asdict())["free drift"] == line
    assert "97.6 % of the deviation" in lines_of(found._asdict())["edges"]


def test_with_corrected_edges_what_was_taken_out_is_no_part_of_the_deviation():
    error = np.array([0.0, 0.0, 2e-4, 2e-4, 4e-4])
    total = INITIAL + np.array([0.0, 3e-5, 0.0, 3e-5, 2e-6])
    found = edge_summary("corrected", 3, total, INITIAL, ELASTIC, error)
    assert found.explained is None
    assert found.drift == pytest.approx(1e-6)
    assert found.bounded == pytest.approx(np.sqrt((3e-5**2 + 2.9e-5**2) / 2) / 2)
    assert found.larger == "bounded"
    assert lines_of(found._asdict())["free drift"].endswith(", which dominates")


def test_packings_always_in_contact():
    """Of the energy in the last row 5e-5 J are bounded error, which leaves 2e-5 J."""
    total = 2.0 + np.array([0.0, 3e-5, -1e-5, 7e-5])
    error = np.array([0.0, 0.0, 1e-5, 1.5e-5])
    found = edge_summary("plain", 9, total, np.full(4, 2.0), np.ones(4), error, 5e-5)
    assert found.drift == pytest.approx(1e-5)
    assert found.bounded == pytest.approx(2.5e-5)
    assert found.explained == pytest.approx(0.75)
    assert found.larger == "bounded" and found.drift_free is None
    line = (
        "1e-05 of the modified energy, since all rows have contacts; bounded error within contacts 2.5e-05, which dominates"
    )
    assert lines_of(found._asdict())["drift"] == line


def test_summaries_of_earlier_versions():
    """They have no mean of the rows without contacts."""
    found = edge_summary("plain", 3, INITIAL + 1e-4, INITIAL, ELASTIC, np.zeros(5))._asdict()
    del found["drift_free"]
    assert lines_of(found)["drift"].startswith("5e-05; bounded error within contacts ")


def test_nothing_is_said_of_energies_that_are_not_numbers():
    for total, initial in ((np.array([1.0, np.nan]), np.ones(2)), (np.ones(2), np.zeros(2)), (np.empty(0), np.empty(0))):
        found = edge_summary("plain", 0, total, initial, np.zeros_like(total), np.zeros_like(total))
        assert found[2:] == (None,) * 6
        assert lines_of(found._asdict()) == {"edges": "plain, 0 contacts entered"}


def test_packings_whose_last_row_is_not_the_present_step():
    found = edge_summary("plain", 9, np.full(4, 2.1), np.full(4, 2.0), np.ones(4), np.full(4, 1e-5))
    assert found[2:] == (pytest.approx(5e-6), None, None, None, None, None)
    assert lines_of(found._asdict()) == {"edges": "plain, 9 contacts entered"}
