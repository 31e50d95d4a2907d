"""Cells for the eye: numbers, letters with their meaning, and what is told of each."""

from discreet.model.release import STATUSES
from discreet.server.grid_cells import cell_of

PLAIN = {"signed": 5, "status": 0, "error": -1, "noise": 0, "low": 3, "high": 7, "least": -1.0, "most": -1.0}


def cell(value, *rest, **changes):
    return cell_of(value, *{**PLAIN, **changes}.values(), *rest)


def test_a_number_has_its_interval_and_what_stands_below_it():
    assert cell(5, "12 %", "t") == ("5", "t", ("12 %",), "95 %: 3 to 7")
    assert "share: 10.0 to 20.0 %" in cell(5, "", least=10.0, most=20.0)[3]
    assert cell(0, "", signed=-2)[3].endswith("before it was raised to zero: −2")


def test_a_letter_has_its_meaning_and_no_number():
    text, look, notes, told = cell(5, "", status=STATUSES.index("c"))
    assert (text, look, notes) == ("[c]", "s", ())
    assert told
    assert "5" not in told
