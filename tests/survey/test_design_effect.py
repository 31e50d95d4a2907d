"""Design effects, and what small cells are told."""

from collections import defaultdict

import numpy as np
import pytest

from discreet.noise.families.maxent import maxent
from discreet.survey.design import SurveyDesign
from discreet.survey.design_effect import (
    RATIO,
    SMALL,
    design_effects,
    effect_rungs,
    least_effects,
    told_effects,
)
from discreet.survey.variance import stratum_variance


def effect(variance, count, weighted, shown=None):
    arrays = (np.array([float(variance)]), np.array([count]), np.array([float(weighted)]))
    without_noise = np.array([float(weighted if shown is None else shown)])
    return float(design_effects(*arrays, without_noise, np.array([count]))[0])


def test_people_of_equal_weight_have_no_design_effect_and_unequal_ones_have_kishs():
    assert effect(50 * 9, 50, 150) == pytest.approx(1)
    weights = np.array([1.0, 1, 4])
    assert effect((weights**2).sum(), 3, weights.sum()) == pytest.approx(3 * 18 / 36)


def test_a_form_that_misses_the_weighted_count_has_that_error_too():
    """Ten people of weight 9 shown as if they weighed 3: wrong by 60 of 30, whatever the sampling."""
    assert effect(0, 10, 90, shown=30) == pytest.approx(10 * (60 / 30) ** 2)
    assert effect(810, 10, 90, shown=30) > effect(0, 10, 90, shown=30)


def test_an_empty_cell_has_none():
    assert effect(0, 0, 0) == 0


def test_small_cells_are_told_nothing_of_their_own():
    """Two samples that differ inside small cells only are told the same."""
    noisy, shown = np.array([SMALL - 1, 3, 200, SMALL]), np.full(4, True)
    one = told_effects(np.array([1.0, 40.0, 2.0, 1.5]), noisy, 1.1, shown)
    other = told_effects(np.array([7.0, 1.0, 2.0, 1.5]), noisy, 1.1, shown)
    assert one.tolist() == other.tolist() == [2.0, 2.0, 2.0, 1.5]


def test_small_cells_have_at_least_the_declared_effect():
    assert told_effects(np.array([0.2, 0.1]), np.array([900, 2]), 1.4, np.full(2, True)).tolist() == [
        0.2,
        1.4,
    ]


def test_the_effect_of_a_cell_that_cannot_occur_is_nobodys():
    shown = np.array([True, False])
    assert told_effects(np.array([1.0, 50.0]), np.array([2, 100]), 1.0, shown).tolist() == [1.0, 50.0]


LAW = {noise: float(chance) for noise, chance in maxent(D=5, V=3, js=2).row(50).probabilities().items()}
CHANCES = (np.arange(100) + 0.5) / 100


def best_guess(told):
    """How often the count of a cell is guessed, all counts from 24 to 90 being as likely, by what is told of it.

    `told(count, noisy)` gives a value for each of CHANCES. The attacker knows the rule, the weights and the noise.
    """
    most = defaultdict(float)
    for count in range(24, 91):
        for noise, chance in LAW.items():
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
        return effect_rungs(own_effect(count, weight, drawn, noisy), least, CHANCES)

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
    rungs = effect_rungs(effects, np.full(effects.size, 0.01), np.tile(CHANCES, 37))
    assert (rungs >= effects).all()
    assert (rungs <= effects * RATIO**2).all()
    above = np.log(rungs / effects).reshape(37, 100).mean(axis=1) / np.log(RATIO)
    assert above == pytest.approx(1, abs=0.01)


def test_a_cell_that_is_a_whole_stratum_or_nearly_everybody_is_not_told_apart():
    """Design effects of 0, 1/1500 and 2/1500 would tell that nobody, one or two people are missing."""
    design = SurveyDesign(1500, 1_000_000, 0, 1100)
    noisy = np.array([1497, 1500, 1503, 300])
    least = least_effects(noisy, design)
    assert least[:3] == pytest.approx((1 - 0.0015) * SMALL / 1500)
    assert least[3] == pytest.approx((1 - 0.0015) * 0.8)
    rungs = [effect_rungs(np.full(4, missing / 1500), least, np.full(4, 0.5)) for missing in (0, 1, 2)]
    assert rungs[0].tolist() == rungs[1].tolist() == rungs[2].tolist()
