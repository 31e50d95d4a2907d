"""What agrees is decided by a stated tolerance and a stated relation, never by hand."""

import pytest

from discreet_studies.exhibit import Effort, Exhibit, Finding, Reading


@pytest.mark.parametrize(
    ("printed", "ours", "tolerance", "relation", "agrees"),
    [
        (0.46, 0.4621, 0.005, "=", True),
        (0.46, 0.4721, 0.005, "=", False),
        (120.0, 120.0, 0.0, "=", True),
        (0.005, 0.004, 0.0, "<=", True),
        (0.005, 0.005, 0.0, "<=", True),
        (0.005, 0.0056, 0.0, "<=", False),
        (2.0, 3.0, 0.0, ">=", True),
        (2.0, 1.999, 0.0, ">=", False),
        (None, 1.5, 0.0, "=", None),
    ],
)
def test_the_verdict_of_a_finding(printed, ours, tolerance, relation, agrees):
    assert Finding("x", printed, ours, tolerance, relation=relation).agrees is agrees


@pytest.mark.parametrize("relation", ["<=", ">="])
def test_a_bound_has_no_tolerance_that_lets_a_number_beyond_it_pass(relation):
    """The wrong alternative: 0.0056 with three of its errors, 0.002, taken for "less than 0.005"."""
    with pytest.raises(ValueError, match=r"a bound has no tolerance, 0\.002 was given"):
        Finding("interquartile range", 0.005, 0.0056, 0.002, relation=relation)


def test_another_reading_is_counted_apart():
    literal, other = (Finding("a", 1, 2), Finding("b", 1, 2)), (Finding("a", 1, 1), Finding("b", 1, 2))
    exhibit = Exhibit("table 1", "t", literal, readings=(Reading("b read otherwise", "why", other),))
    assert exhibit.verdict == (0, 2, 0)
    (reading,) = exhibit.document()["readings"]
    assert (reading["name"], reading["note"]) == ("b read otherwise", "why")
    assert (reading["agree"], reading["printed"]) == (1, 2)
    assert [f["agrees"] for f in reading["findings"]] == [True, False]


def test_an_exhibit_counts_its_verdicts():
    exhibit = Exhibit("table 1", "t", (Finding("a", 1, 1), Finding("b", 1, 2), Finding("c", None, 2)))
    assert exhibit.verdict == (1, 1, 1)


def test_a_document_says_why_only_where_numbers_differ():
    same, other = Finding("a", 1, 1, why="w").document(), Finding("a", 1, 2, why="w").document()
    assert (same["why"], other["why"]) == ("", "w")
    assert set(same) == {"what", "relation", "printed", "ours", "tolerance", "agrees", "why"}


def test_quick_asks_for_fewer_repetitions():
    assert (Effort().of(100, 10), Effort(quick=True).of(100, 10)) == (100, 10)
