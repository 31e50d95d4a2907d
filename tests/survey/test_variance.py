"""Variances against slow loops over units and by hand, and design effects. R survey: release/measures/test_weighted.py."""

from collections import defaultdict
from math import sqrt

import numpy as np
import pytest

from discreet.model.shape import Dimension, Output, TableShape
from discreet.model.survey import SamplingDesign, sampling_design
from discreet.noise.families.maxent import maxent
from discreet.survey.variance import (
    RATIO,
    SMALL,
    CellSums,
    Sample,
    SampleRows,
    cell_variances,
    design_effects,
    effect_steps,
    effects_for_release,
    fractions,
    minimum_effects,
    stratum_variance,
)
from discreet.survey.weight_forms import SurveyDesign


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


def test_fractions_stand_in_the_order_of_the_declared_strata():
    listed = sampling_design({"strata": "h", "fpc": {"B": 0.5, "A": 0.1}})
    assert fractions(listed, 2).tolist() == [0.5, 0.1]
    assert fractions(sampling_design({"fpc": 0.2}), 3).tolist() == [0.2] * 3


#: Six people in three clusters; the first variable has a and b.
WEIGHTS = np.array([3, 5, 2, 4, 6, 1])
CODES = np.array([0, 1, 0, 0, 1, 1])
CLUSTERS = np.array([0, 0, 1, 1, 2, 2])


def sample(design, clusters=None, replicates=()):
    outputs = (Output("a", "", (0,)), Output("b", "", (1,)))
    shape = TableShape((Dimension("x", "x", outputs, (0, 1), ("a", "b"), total=True),), ())
    none = np.zeros(6, dtype=np.int64)
    unit = none if clusters is None else clusters
    squares = None if clusters is not None else WEIGHTS.astype(float) ** 2
    units = np.array([6 if clusters is None else 3])
    return Sample(SampleRows(shape, (CODES,), none, unit, WEIGHTS, squares, replicates, units, 1), design)


def spread(scores):
    return sqrt(len(scores) / (len(scores) - 1) * sum((z - sum(scores) / len(scores)) ** 2 for z in scores))


def test_people_drawn_by_themselves():
    drawn = sample(SamplingDesign())
    total = drawn.total(0)
    assert total.value == 9
    assert drawn.standard_error(total) == pytest.approx(spread([3, 0, 2, 4, 0, 0]))
    assert "9" not in repr(total)


def test_a_ratio_is_linearised_and_a_difference_is_not_that_of_two_strangers():
    """The wrong alternative adds the variances as if both totals came from two samples."""
    drawn = sample(SamplingDesign(None, "c"), CLUSTERS)
    share, ratio = drawn.total(0) / drawn.total(2), 9 / 21
    scores = [(3 - ratio * 8) / 21, (6 - ratio * 6) / 21, (0 - ratio * 7) / 21]
    assert share.value == pytest.approx(ratio)
    assert drawn.standard_error(share) == pytest.approx(spread(scores))
    first, second = drawn.total(0), drawn.total(1)
    error = drawn.standard_error(first - second)
    assert error == pytest.approx(spread([3 - 5, 6, -7]))
    assert error > 1.1 * sqrt(drawn.standard_error(first) ** 2 + drawn.standard_error(second) ** 2)


def test_ratios_by_replicates_are_made_again_with_each_weight():
    design = sampling_design({"replicates": "r1..r2", "method": "brr"})
    columns = (2 * WEIGHTS * (CLUSTERS < 2), 2 * WEIGHTS * (CLUSTERS > 0))
    drawn = sample(design, replicates=columns)
    share = drawn.total(0) / drawn.total(2)
    by_hand = [18 / 28, 12 / 26]
    assert share.replicates.tolist() == pytest.approx(by_hand)
    assert drawn.standard_error(share) == pytest.approx(sqrt(sum((r - 9 / 21) ** 2 for r in by_hand) / 2))


def effect(variance, count, weighted, shown=None):
    arrays = (np.array([float(variance)]), np.array([count]), np.array([float(weighted)]))
    without_noise = np.array([float(weighted if shown is None else shown)])
    return float(design_effects(*arrays, without_noise, np.array([count]))[0])


def test_people_of_equal_weight_have_no_design_effect_and_unequal_ones_have_kishs():
    assert effect(50 * 9, 50, 150) == pytest.approx(1)
    weights = np.array([1.0, 1, 4])
    assert effect((weights**2).sum(), 3, weights.sum()) == pytest.approx(3 * 18 / 36)
    assert effect(0, 0, 0) == 0


def test_a_form_that_misses_the_weighted_count_has_that_error_too():
    """Ten people of weight 9 shown as if they weighed 3: wrong by 60 of 30, whatever the sampling."""
    assert effect(0, 10, 90, shown=30) == pytest.approx(10 * (60 / 30) ** 2)
    assert effect(810, 10, 90, shown=30) > effect(0, 10, 90, shown=30)


def test_small_cells_are_told_nothing_of_their_own():
    """Two samples that differ inside small cells only are told the same."""
    noisy, shown = np.array([SMALL - 1, 3, 200, SMALL]), np.full(4, True)
    one = effects_for_release(np.array([1.0, 40.0, 2.0, 1.5]), noisy, 1.1, shown)
    other = effects_for_release(np.array([7.0, 1.0, 2.0, 1.5]), noisy, 1.1, shown)
    assert one.tolist() == other.tolist() == [2.0, 2.0, 2.0, 1.5]


def test_small_cells_have_at_least_the_declared_effect_and_none_of_a_cell_that_cannot_occur():
    both = np.array([900, 2]), 1.4, np.full(2, True)
    assert effects_for_release(np.array([0.2, 0.1]), *both).tolist() == [0.2, 1.4]
    impossible = np.array([2, 100]), 1.0, np.array([True, False])
    assert effects_for_release(np.array([1.0, 50.0]), *impossible).tolist() == [1.0, 50.0]


DISTRIBUTION = {
    noise: float(chance) for noise, chance in maxent(D=5, V=3, js=2).row(50).probabilities().items()
}
CHANCES = (np.arange(100) + 0.5) / 100


def best_guess(told):
    """How often the count of a cell is guessed, all counts from 24 to 90 being as likely, by what is told of it.

    `told(count, noisy)` gives a value for each of CHANCES. The attacker knows the rule, the weights and the noise.
    """
    most = defaultdict(float)
    for count in range(24, 91):
        for noise, chance in DISTRIBUTION.items():
            values, times = np.unique(np.round(told(count, count + noise), 9), return_counts=True)
            for value, share in zip(values.tolist(), (times / CHANCES.size).tolist(), strict=True):
                place = count + noise, value
                most[place] = max(most[place], chance * share)
    return sum(most.values()) / 67


def own_effect(count, weight, drawn, noisy):
    """The effect of people of one known weight, shown as if they weighed 1, among so many of a stratum."""
    variance = stratum_variance(np.array([count * weight]), np.array([count * weight**2]), drawn)
    people = np.array([count])
    return np.repeat(design_effects(variance, people, people * weight, people * 1.0, np.array([noisy])), 100)


@pytest.mark.parametrize(("weight", "drawn"), [(1.0, 1500), (0.7, 1500), (2.0, 1500), (1.3, 150), (0.4, 150)])
def test_the_rung_of_a_design_effect_tells_no_more_of_the_count_than_the_noisy_count_does(weight, drawn):
    """Exact, no simulation: with rungs the best guess gains less than 0.1 points. Three wrong rules are seen."""
    alone = best_guess(lambda _count, _noisy: np.zeros(100))

    def gain(rule):
        return best_guess(rule) - alone

    def served(count, noisy):
        least = np.full(100, 1 - noisy / 1500)
        return effect_steps(own_effect(count, weight, drawn, noisy), least, CHANCES)

    def without_rungs(count, noisy):
        return own_effect(count, weight, drawn, noisy)

    def true_count(count, _noisy):
        return np.ceil(np.log(own_effect(count, weight, drawn, count)) / np.log(RATIO))

    def without_chance(count, noisy):
        return np.ceil(np.log(own_effect(count, weight, drawn, noisy)) / np.log(RATIO))

    assert 0 <= gain(served) + 1e-12 < 0.001
    assert gain(without_rungs) > 0.5
    if weight != 1:  # with equal weights the effect hardly depends on the count
        assert gain(true_count) > 0.02
    if drawn == 150:
        assert gain(without_chance) > gain(served) + 0.001


def test_a_rung_is_never_below_its_effect_and_one_rung_above_it_on_average():
    effects = np.repeat(np.geomspace(0.3, 40, 37), 100)
    rungs = effect_steps(effects, np.full(effects.size, 0.01), np.tile(CHANCES, 37))
    assert (rungs >= effects).all()
    assert (rungs <= effects * RATIO**2).all()
    above = np.log(rungs / effects).reshape(37, 100).mean(axis=1) / np.log(RATIO)
    assert above == pytest.approx(1, abs=0.01)


def test_a_cell_that_is_a_whole_stratum_or_nearly_everybody_is_not_told_apart():
    """Design effects of 0, 1/1500 and 2/1500 would tell that nobody, one or two people are missing."""
    design = SurveyDesign(1500, 1_000_000, 0, 1100)
    noisy = np.array([1497, 1500, 1503, 300])
    least = minimum_effects(noisy, design)
    assert least[:3] == pytest.approx((1 - 0.0015) * SMALL / 1500)
    assert least[3] == pytest.approx((1 - 0.0015) * 0.8)
    rungs = [effect_steps(np.full(4, missing / 1500), least, np.full(4, 0.5)) for missing in (0, 1, 2)]
    assert rungs[0].tolist() == rungs[1].tolist() == rungs[2].tolist()
