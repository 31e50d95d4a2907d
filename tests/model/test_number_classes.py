import math

import pytest

from discreet.model.number_classes import class_bounds

BELOW, ABOVE = -math.inf, math.inf


@pytest.mark.parametrize(
    ("code", "label", "bounds"),
    [
        ("25-29", "any", (25, 29)),
        ("85+", "any", (85, ABOVE)),
        ("7", "any", (7, 7)),
        ("<5", "any", (BELOW, 4)),
        ("A03", "10\u201314 years", (10, 14)),
        ("A03", "10 to 14", (10, 14)),
        ("A18", "85 years and over", (85, ABOVE)),
        ("A18", "5 or more", (5, ABOVE)),
        ("A01", "Under 5", (BELOW, 4)),
        ("A", "2 rooms", (2, 2)),
        ("3", "10-14", (10, 14)),
        ("U", "Unknown", None),
        ("2020-01-05", "A day", None),
        ("9-3", "Backwards", None),
        ("9" * 5000, "More digits than Python reads", None),
    ],
)
def test_a_class_is_read_from_its_code_else_from_its_label(code, label, bounds):
    assert class_bounds(code, label) == bounds
