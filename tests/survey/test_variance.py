"""Variances against slow loops over units, and by hand."""

from collections import defaultdict

import numpy as np
import pytest

from discreet.model.sampling_design import SamplingDesign, sampling_design
from discreet.records.sampled_rows import CellSums
from discreet.survey.variance import cell_variances, fractions, replicate_variance, stratum_variance


def slow(records, units, sampled):
    """Σ_h (1 - f) n/(n-1) Σ_c (z - mean)², a unit at a time; records are (stratum, unit, weight)."""
    sums = defaultdict(float)
    for stratum, unit, weight in records:
        sums[stratum, unit] += weight
    total = 0.0
    for stratum, n in enumerate(units):
        z = [value for (h, _), value in sums.items() if h == stratum]
        z += [0.0] * (n - len(z))
        if n == 1:
            total += (1 - sampled[stratum]) * z[0] ** 2
            continue
        mean = sum(z) / n
        total += (1 - sampled[stratum]) * n / (n - 1) * sum((value - mean) ** 2 for value in z)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_sums_of_a_cell_give_the_variance_of_its_units(seed):
    rng = np.random.RandomState(seed)
    units, sampled = np.array([1, 2, 7, 30]), np.array([0.0, 0.5, 0.1, 0.0])
    records = [(h, rng.randint(units[h]), rng.randint(1, 50)) for h in rng.randint(0, 4, 40)]
    by_unit = defaultdict(float)
    for h, c, w in records:
        by_unit[h, c] += w
    strata = sorted({h for h, _ in by_unit})
    totals = [sum(z for (h, _), z in by_unit.items() if h == s) for s in strata]
    squares = [sum(z * z for (h, _), z in by_unit.items() if h == s) for s in strata]
    sums = CellSums(np.zeros(len(strata), int), np.array(strata), np.array(totals), np.array(squares))
    design = SamplingDesign("h", "c", tuple((str(h), f) for h, f in enumerate(sampled)))
    found = cell_variances(sums, units, design, (1,))
    assert found[0] == pytest.approx(slow(records, units, sampled))


def test_a_lonely_unit_counts_with_its_whole_square():
    """Centred at its own mean, the wrong alternative, it would count nothing."""
    assert stratum_variance(np.array([40.0]), np.array([1600.0]), np.array([1])).tolist() == [1600.0]


def test_everybody_drawn_has_no_variance():
    assert stratum_variance(np.array(30.0), np.array(500.0), 2, 1.0) == 0


def test_replicates_are_centred_at_the_full_estimate_and_not_at_their_mean():
    design = sampling_design({"replicates": "r1..r2", "method": "brr"})
    both = [np.array([12.0]), np.array([12.0])]
    assert replicate_variance(np.array([10.0]), both, design).tolist() == [4.0]


def test_fractions_stand_in_the_order_of_the_declared_strata():
    listed = sampling_design({"strata": "h", "fpc": {"B": 0.5, "A": 0.1}})
    assert fractions(listed, 2).tolist() == [0.5, 0.1]
    assert fractions(sampling_design({"fpc": 0.2}), 3).tolist() == [0.2] * 3
