"""The frontier: every table of the same support lies on or above it."""

import math

import pytest

from discreet.noise import families, maxent
from discreet.privacy.frontier import NEGATIVE, SMALL_COUNTS, compared_tables, frontier, place


def bound_at(line, wish):
    """The least variance at a delta: that of the frontier's next point to the right, a bound from below."""
    return max((each.variance for each in line if each.delta >= wish), default=0.0)


@pytest.mark.parametrize(("epsilon", "D", "js"), [(1.0, 5, 2), (0.5, 4, 1)])
def test_tables_of_the_same_support_lie_on_or_above_the_line(epsilon, D, js):
    line = frontier(epsilon, D, js)
    assert len(line) > 8
    assert [each.delta for each in line] == sorted(each.delta for each in line)
    for V in (2.5, 3.0, 4.0):
        table = place("maxent", maxent(D=D, V=V, js=js), epsilon)
        assert table.support == SMALL_COUNTS
        assert table.variance >= bound_at(line, table.delta) - 1e-6
    least = min(each.delta for each in line)
    assert least == pytest.approx(1 / (D + 1), rel=0.02)


def test_laplace_and_abs_noise_belong_to_the_line_of_negative_counts():
    line = frontier(1.0, 5, negative=True)
    for table in compared_tables(1.0, 5, 2, 3.0, {}):
        if table.support == NEGATIVE:
            assert table.variance >= bound_at(line, table.delta) - 1e-6
    assert {each.support for each in line} == {NEGATIVE}


def test_a_table_below_the_line_would_be_found():
    """The named wrong alternative: a frontier that forgets one of the directions lies below what is possible."""
    line = frontier(1.0, 5, 2)
    better = place(
        "impossible", families.build("least-variance", {"epsilon": 1.0, "delta": 0.5, "D": 5, "js": 2}), 1.0
    )
    assert better.variance < bound_at(line, 0.2)
    assert math.isclose(better.variance, 2.0, rel_tol=1e-3)
