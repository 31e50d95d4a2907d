from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise.families.laplace import ideal_laplace
from discreet.noise.side_by_side import compare, row_delta, within

# Rinott et al. (2018), Table 2, as printed: counts 0..4 and 5+, ranges ±0..±4.
PRINTED = {
    ("laplace", 1.5): "82 96 99 100 100|64 96 99 100 100|64 92 99 100 100|64 92 98 100 100|64 92 98 100 100|"
    "64 92 98 100 100",
    (
        "normal",
        1.5,
    ): "57 70 81 89 94|14 70 81 89 94|14 40 81 89 94|14 40 62 89 94|14 40 62 78 94|14 40 62 78 88",
    (
        "laplace",
        0.5,
    ): "63 78 87 93 96|25 78 87 93 96|25 55 87 93 96|25 55 74 93 96|25 55 74 85 96|25 55 74 85 92",
    ("normal", 0.5): "54 63 71 78 84|9 63 71 78 84|9 26 71 78 84|9 26 42 78 84|9 26 42 57 84|9 26 42 57 69",
}


@pytest.mark.parametrize(("family", "epsilon"), PRINTED)
def test_the_printed_table_2_follows(family, epsilon):
    _, sides = compare(epsilon, m=7)
    side = next(side for side in sides if side.family == family)
    printed = np.array([[int(x) for x in line.split()] for line in PRINTED[family, epsilon].split("|")])
    assert np.abs(100 * np.array(side.within) - printed).max() <= 0.51


def test_every_family_keeps_the_common_delta_when_the_smallest_m_is_asked():
    common, sides = compare(0.8, delta=1e-4, match="smallest")
    assert common == 1e-4
    for side in sides:
        assert side.delta <= common * (1 + 1e-9), side.family


def test_laplace_is_nearest_to_the_truth_at_equal_epsilon_and_delta():
    _, sides = compare(1.0, delta=1e-4)
    assert min(sides, key=lambda side: side.variance).family == "laplace"
    assert max(sides, key=lambda side: side.p_exact).family == "laplace"


def test_clipping_counts_negative_releases_as_zero():
    row = ideal_laplace(0.5, 7).last
    slow = sum(p for z, p in zip(row.values, row.probabilities, strict=True) if abs(max(0, 2 + z) - 2) <= 2)
    assert within(row, 2, 2) == pytest.approx(slow)


def test_a_laplace_row_has_its_end_probability_as_delta():
    row = ideal_laplace(1.5, 7).last
    assert row_delta(row, 1.5) == pytest.approx(row.probabilities[0], rel=1e-9)


def test_a_comparison_needs_delta_or_m():
    with pytest.raises(InfeasibleDesign, match="not both"):
        compare(1.0)
