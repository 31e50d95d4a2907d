"""Fixed-point quotients: halves away from zero, and no product passes 64 bits."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.survey.weight_forms import SurveyDesign
from discreet.survey.weights import cell_average, nearest_quotient, on_grid, overall_average, times_ratio


def test_quotients_are_rounded_halves_away_from_zero():
    assert nearest_quotient(np.array([1, -1, 3, -3, 2]), 2).tolist() == [1, -1, 2, -2, 1]
    assert times_ratio(np.array([1, -1]), np.array([5, 5]), np.array([2, 2])).tolist() == [3, -3]


def test_products_beyond_64_bits_are_never_formed():
    """factor x numerator is 10^24 here; a plain product of 64-bit integers would be wrong without a word."""
    large = np.array([10**6, -(10**6)])
    assert times_ratio(large, 10**18, 10**12).tolist() == [10**12, -(10**12)]
    assert ((large * np.int64(10**18)) // 10**12).tolist() != [10**12, -(10**12)]


def test_a_quotient_is_the_nearest_for_every_small_numerator():
    for denominator in (1, 2, 3, 7):
        for numerator in range(-20, 21):
            found = int(nearest_quotient(np.array([numerator]), denominator)[0])
            assert abs(found * denominator - numerator) * 2 <= denominator


ORACLES = Path(__file__).parents[1] / "oracles"
#: 1,500 respondents for a million people; four decimals; nobody weighs more than 3,000.
SPUDLANDIA = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000)
#: Three respondents who weigh 600, 700 and 650, by hand: W = 1950, average 650.
COUNT, WEIGHT = np.array([3]), np.array([19_500_000])


def test_the_overall_average_by_hand():
    # 1950 + 2 · 666.6667 and 1950 - 3 · 666.6667
    assert overall_average(np.array([5]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [32_833_333]
    assert overall_average(np.array([0]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [-500_000]


def test_the_cell_average_by_hand():
    # 5 · 650; a count perturbed to zero weighs nothing
    assert cell_average(np.array([5]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [32_500_000]
    assert cell_average(np.array([0]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [0]


def test_an_empty_cell_has_no_average_and_takes_the_overall_one():
    empty = np.array([0])
    assert cell_average(empty, empty, empty, SPUDLANDIA).tolist() == [0]
    assert cell_average(np.array([2]), empty, empty, SPUDLANDIA).tolist() == [13_333_333]


def test_steps_by_hand():
    # 1950.4 persons are 1950 steps of one person; 4,500 are one and a half steps of 3,000: a half goes up
    assert on_grid(np.array([19_504_000]), SPUDLANDIA.scale).tolist() == [1950]
    assert on_grid(np.array([45_000_000, 44_999_999]), SPUDLANDIA.largest_weight).tolist() == [2, 1]


@given(st.integers(0, 10**12), st.integers(0, 30_000_000), st.sampled_from([1, 10_000, 70_000, 10**8]))
def test_one_person_moves_a_cell_by_at_most_the_steps_of_the_largest_weight(weight, person, grid):
    before, after = on_grid(np.array([weight, weight + person]), grid)
    assert 0 <= after - before <= -(-SPUDLANDIA.largest_weight // grid)


@given(st.integers(1, 10**6), st.integers(1, 10**15), st.integers(-5000, 5000))
def test_the_cell_average_is_the_exact_quotient_rounded_halves_away_from_zero(count, weight, noise):
    found = cell_average(np.array([count + noise]), np.array([count]), np.array([weight]), SPUDLANDIA)
    exact = weight + Fraction(noise * weight, count)
    assert abs(int(found[0]) - exact) <= Fraction(1, 2)


def test_weighted_counts_equal_those_of_r_cellkey():
    oracle = json.loads((ORACLES / "cellkey_e2e.json").read_text())
    sample = len(oracle["micro"])
    weights = np.array([round(record["w"] * 10_000) for record in oracle["micro"]])
    design = SurveyDesign(sample, int(weights.sum()), 4, int(weights.max()))
    for cell in oracle["result"]:
        inside = np.array(
            [
                all(cell[name] in ("Total", record[name]) for name in ("region", "sex", "age"))
                for record in oracle["micro"]
            ]
        )
        count, weight = int(inside.sum()), int(weights[inside].sum())
        assert count == cell["uwc"]
        assert weight == round(cell["wc"] * 10_000)
        found = cell_average(np.array([cell["puwc"]]), np.array([count]), np.array([weight]), design)
        assert abs(int(found[0]) - cell["pwc"] * 10_000) <= 0.5 + 1e-6


NOISE = range(-7, 8)


def values_with_any_noise(counts: int, weight: int) -> set[int]:
    noisy = np.array([counts + p for p in NOISE])
    same = np.full(noisy.size, counts), np.full(noisy.size, weight)
    return set(overall_average(noisy, *same, SPUDLANDIA).tolist())


def test_the_overall_average_form_is_not_private_because_it_releases_the_weight_modulo_the_average():
    # Shlomo et al., eq. 4, taken for differentially private there. Neighbours: a person of weight 640 is in
    # the cell or not. Whatever the noise, no value can come from both, so one look tells which (delta 1).
    without, with_her = values_with_any_noise(3, 19_500_000), values_with_any_noise(4, 19_500_000 + 6_400_000)
    assert not without & with_her
    # What is released exactly: W modulo the average, up to the rounding of the last decimal.
    average = SPUDLANDIA.average_weight * SPUDLANDIA.scale
    residues = {float((value - 19_500_000) % average) for value in without}
    assert all(min(residue, float(average) - residue) <= 0.5 for residue in residues)


def test_with_equal_weights_the_overall_average_form_is_post_processing():
    design = SurveyDesign(1500, 15_000_000, 4, 10_000)
    noisy = np.arange(0, 9)
    for count in (2, 3):
        same = np.full(9, count)
        assert overall_average(noisy, same, same * 10_000, design).tolist() == (noisy * 10_000).tolist()


@pytest.mark.parametrize("scale", [1, 10**3, 10**6])
def test_large_sums_do_not_overflow(scale):
    weight, count = np.array([3 * 10**11 * scale]), np.array([10**6])
    found = cell_average(count + 1000, count, weight, SPUDLANDIA)
    assert int(found[0]) == 3 * 10**11 * scale + 3 * 10**8 * scale
