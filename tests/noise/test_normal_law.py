"""The rounded normal law of a joint cell, beside the law of a noise that lies on a grid."""

import math

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.noise.normal_law import NormalLaw


def on_grid(variance, grid):
    """The law of a discrete Gaussian on multiples of 1/grid, rounded to whole numbers, summed up."""
    reach = math.ceil(9 * math.sqrt(variance) * grid)
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * variance * grid**2))
    shown = np.rint(z / grid).astype(int)
    return {k: float(weights[shown == k].sum() / weights.sum()) for k in range(shown.min(), shown.max() + 1)}


@pytest.mark.parametrize(("variance", "grid"), [(4.0, 5), (30.0, 3), (100.0, 1)])
def test_the_error_bounds_the_distance_to_a_noise_on_an_odd_grid(variance, grid):
    """Wrong alternative: an even grid, on which halves occur and go to even numbers."""
    law = NormalLaw(variance, math.sqrt(variance) * grid)
    first, chances = law.law()

    def distance(true):
        return sum(abs(true.get(first + at, 0.0) - p) for at, p in enumerate(chances.tolist())) / 2

    assert distance(on_grid(variance, grid)) <= law.error
    assert distance(on_grid(variance, grid + 1)) > law.error


def test_it_is_the_family_rounded_normal():
    law, table = NormalLaw(9.0, 100.0), rounded_normal(9.0)
    first, chances = law.law()
    shipped = table.rows[0].probabilities()
    assert all(abs(float(shipped.get(first + at, 0)) - p) < 1e-14 for at, p in enumerate(chances.tolist()))
    assert float(law.variance) == pytest.approx(float(table.rows[0].variance()), rel=1e-9)


def test_half_widths_cover_and_are_not_wider_than_needed():
    law = NormalLaw(50.0, 90.0)
    first, chances = law.law()
    for level in (0.5, 0.9, 0.95, 0.999):
        half = law.half_width(level)
        inside = chances[-half - first : half - first + 1].sum()
        assert inside >= level
        assert chances[-(half - 1) - first : half - first].sum() < level + law.error
    with pytest.raises(BadRequest, match="level"):
        law.half_width(1.0)
