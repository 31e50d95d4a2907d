from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.margins.integer_noise import SeededNoise, laplace_noise
from discreet.margins.laplace_sum import LaplaceSum

#: Chance that the right law fails its test, for each fixed seed.
FALSE_ALARM = 1e-6
Z = 4.9
DRAWS = 200_000


def drawn(terms, seed):
    source = SeededNoise(seed)
    total = np.zeros(DRAWS)
    for weight, times, scale in terms:
        for _ in range(times):
            total += weight * laplace_noise(scale).draw(source, "x", DRAWS)
    return total


@pytest.mark.parametrize(
    "terms",
    [
        [(1.0, 1, 6.0)],
        [(0.8, 1, 20.0), (0.1, 6, 15.0)],
        [(0.25, 4, 9.0)],
        [(0.9, 1, 0.6), (0.2, 3, 0.8)],
        [(0.7, 1, 2.0), (0.3, 2, 30.0)],
    ],
)
def test_mean_absolute_is_that_of_drawn_noise(terms):
    sample = np.abs(drawn(terms, 11))
    spread = sample.std() / math.sqrt(DRAWS)
    expected = LaplaceSum.of(terms).mean_absolute()
    assert abs(sample.mean() - expected) < Z * spread + 0.002 * expected
    assert abs(sample.mean() - 1.05 * expected) > Z * spread


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0, 8.0])
def test_a_single_noise_has_its_closed_form(scale):
    assert LaplaceSum.of([(1.0, 1, scale)]).mean_absolute() == pytest.approx(
        1 / math.sinh(1 / scale), rel=3e-3
    )


def test_equal_noises_have_the_closed_form_of_their_sum():
    # the sum of two Laplace noises of scale b has mean absolute value 3b/2
    assert LaplaceSum.of([(1.0, 2, 500.0)]).mean_absolute() == pytest.approx(750, rel=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_half_widths_hold_their_share_of_drawn_noise(level):
    terms = [(0.8, 1, 20.0), (0.1, 6, 15.0)]
    inside = (np.abs(drawn(terms, 5)) <= LaplaceSum.of(terms).half_width(level)).mean()
    spread = math.sqrt(level * (1 - level) / DRAWS)
    assert abs(inside - level) < Z * spread
    narrow = (np.abs(drawn(terms, 5)) <= 0.95 * LaplaceSum.of(terms).half_width(level)).mean()
    assert abs(narrow - level) > Z * spread


def test_no_noise_has_no_error():
    nothing = LaplaceSum.of([(0.0, 3, 5.0)])
    assert nothing.mean_absolute() == 0.0
    assert nothing.half_width(0.95) == 0.0
