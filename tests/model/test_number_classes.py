import math

import pytest

from discreet.model.number_classes import number_classes

BELOW, ABOVE = -math.inf, math.inf


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("25-29", (25, 29)),
        ("85+", (85, ABOVE)),
        ("7", (7, 7)),
        ("<5", (BELOW, 4)),
        ("10\u201314 years", (10, 14)),
        ("10 to 14", (10, 14)),
        ("85 years and over", (85, ABOVE)),
        ("5 or more", (5, ABOVE)),
        ("Under 5", (BELOW, 4)),
        ("2 rooms", (2, 2)),
        ("Unknown", None),
        ("2020-01-05", None),
        ("9-3", None),
        ("9" * 5000, None),
    ],
)
def test_a_class_is_read_from_a_code_and_from_a_label(text, bounds):
    found = {} if bounds is None else {0: bounds}
    assert number_classes([text], ["Any"]) == number_classes(["any"], [text]) == found


def test_codes_that_only_count_the_categories_are_no_numbers():
    """A reading category by category would take "None" for 1 and "Not stated" for 9."""
    labels = ["None", "1-999", "1000-1999", "Not stated"]
    assert number_classes(["1", "2", "3", "9"], labels) == {1: (1, 999), 2: (1000, 1999)}
    assert number_classes(["0", "1", "U"], ["None", "One", "Unknown"]) == {0: (0, 0), 1: (1, 1)}
