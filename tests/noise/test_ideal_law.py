"""The mass of a law that a row lacks, value by value within its reach and all of it beyond."""

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.noise.ideal_law import IdealLaw, missing_mass, reach
from discreet.noise.table import NoiseRow, NoiseTable

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
    law = IdealLaw("V", lambda V: 1 / (2 * V), lambda _row, _V: Fraction(0))
    assert law.scale_of(NoiseTable(4, (ROW,), parameters={"V": 2})) == 2.0
    assert reach(NoiseRow((-3, 1), (2, 4))) == 3
