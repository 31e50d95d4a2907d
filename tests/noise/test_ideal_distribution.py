"""The mass of a law that a row lacks, value by value within its reach and all of it beyond."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise.ideal_distribution import (
    IdealDistribution,
    IdealRow,
    IdealTable,
    missing_mass,
    point_row,
    reach,
    row_from_logs,
    row_from_weights,
)
from discreet.noise.table import NoiseRow, NoiseTable


def test_a_row_knows_its_moments():
    row = IdealRow((-1, 0, 2), (0.5, 0.25, 0.25))
    assert row.mean() == 0
    assert row.variance() == 1.5


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (((), ()), "at least one"),
        (((0, 1), (1.0,)), "one probability"),
        (((1, 0), (0.5, 0.5)), "ascend"),
        (((0, 1), (1.0, 0.0)), "above zero"),
        (((0, 1), (0.5, 0.6)), "not to 1"),
        (((0,), (1.0,), (0,)), "integer weight"),
    ],
)
def test_a_row_that_is_no_law_is_refused(row, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        IdealRow(*row)


def test_a_table_needs_a_repeating_row():
    with pytest.raises(InfeasibleDesign, match="at least one"):
        IdealTable((point_row(),), repeats=0)


def test_float_probabilities_become_integers_in_the_same_proportion():
    assert IdealRow((0, 1), (0.75, 0.25)).exact_weights() == (3, 1)


def test_equal_logs_give_equal_weights_and_large_ones_do_not_overflow():
    row = row_from_logs((-1, 0, 1), (900.0, 901.0, 900.0))
    assert row.exact_weights()[0] == row.exact_weights()[2]
    assert row.probabilities[1] == pytest.approx(math.e / (2 + math.e), rel=1e-15)


def test_a_value_less_likely_than_any_key_is_refused():
    with pytest.raises(InfeasibleDesign, match="no key could select"):
        row_from_logs((0, 1), (0.0, -200.0))


def test_weights_give_their_probabilities():
    assert row_from_weights((0, 1), (3, 1)).probabilities == (0.75, 0.25)


ROW = NoiseRow((-1, 0, 1), (1, 3, 4))
TINY = Fraction(1, 10**30)


def test_a_row_that_is_the_law_lacks_nothing():
    assert 0 < missing_mass(ROW, [Decimal("0.5"), Decimal("0.25")]) < TINY


def test_what_lies_beyond_the_reach_is_missing_whole():
    law = [Decimal("0.4"), Decimal("0.2")]
    assert missing_mass(ROW, law) == pytest.approx(Fraction(2, 10), abs=1e-30)


def test_what_a_row_has_too_much_of_does_not_make_up_for_what_it_lacks():
    law = [Decimal("0.6"), Decimal("0.2")]
    assert missing_mass(ROW, law) == pytest.approx(Fraction(1, 10), abs=1e-30)


def test_the_scale_is_read_from_the_tables_own_parameters():
    law = IdealDistribution("V", lambda V: 1 / (2 * V), lambda _row, _V: Fraction(0))
    assert law.scale_of(NoiseTable(4, (ROW,), parameters={"V": 2})) == 2.0
    assert reach(NoiseRow((-3, 1), (2, 4))) == 3
