"""Fields of delimited files are read exactly as written, and a wrong one is named by its line.

A declared mean of zero is checked, and rounding to keys is no bias.
"""

from decimal import Decimal

import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import check_unbiased, decimal, is_number, split_lines, whole
from discreet.noise.table import NoiseRow


@pytest.mark.parametrize("mark", [";", ",", "\t", " "])
def test_the_first_line_decides_the_separator_and_numbers_count_blank_lines(mark):
    text = f'\ufeff"i"{mark}v\n\n1{mark}"2"\n'
    assert split_lines(text) == [(1, ("i", "v")), (3, ("1", "2"))]
    assert split_lines("\n \n") == []


def test_numbers_are_not_rounded_and_a_decimal_comma_is_a_point():
    assert decimal("0,1000000000000000055", 1, "p") == Decimal("0.1000000000000000055")
    assert whole("3.0", 1, "v") == 3
    assert whole("-1234567890123456789", 1, "v") == -1234567890123456789


@pytest.mark.parametrize("text", ["x", "", "nan", "inf"])
def test_what_is_no_number_is_named_by_its_line(text):
    assert not is_number(text)
    with pytest.raises(BadNoiseTable, match="Line 7: p is"):
        decimal(text, 7, "p")


def test_a_half_is_no_whole_number():
    with pytest.raises(BadNoiseTable, match="must be a whole number"):
        whole("2.5", 7, "v")


@pytest.mark.parametrize("text", ["1e400000000", "1e-400000000", "9" * 400])
def test_a_number_of_absurd_size_is_refused_before_anybody_computes_with_it(text):
    with pytest.raises(BadNoiseTable, match="Line 3: p lies beyond"):
        decimal(text, 3, "p")


def test_a_whole_number_fits_a_count():
    with pytest.raises(BadNoiseTable, match="Line 3: i is beyond"):
        whole("9" * 20, 3, "i")


FAIR, ROUNDED = NoiseRow((-1, 0, 1), (1, 3, 4)), NoiseRow((-1, 0, 1), (333, 666, 1000))


def test_what_the_modulus_cannot_say_is_no_bias():
    assert ROUNDED.mean() != 0
    assert check_unbiased([FAIR, ROUNDED]) is None


def test_a_biased_row_is_named_by_its_count_and_mean():
    with pytest.raises(BadNoiseTable, match=r"row of count 2 has mean 0\.01;"):
        check_unbiased([FAIR, ROUNDED, NoiseRow((-1, 0, 1), (300, 690, 1000))])
