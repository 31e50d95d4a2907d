"""A declared mean of zero is checked, and rounding to keys is no bias."""

import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files.bias import check_unbiased
from discreet.noise.table import NoiseRow

FAIR, ROUNDED = NoiseRow((-1, 0, 1), (1, 3, 4)), NoiseRow((-1, 0, 1), (333, 666, 1000))


def test_what_the_modulus_cannot_say_is_no_bias():
    assert ROUNDED.mean() != 0
    assert check_unbiased([FAIR, ROUNDED]) is None


def test_a_biased_row_is_named_by_its_count_and_mean():
    with pytest.raises(BadNoiseTable, match=r"row of count 2 has mean 0\.01;"):
        check_unbiased([FAIR, ROUNDED, NoiseRow((-1, 0, 1), (300, 690, 1000))])
