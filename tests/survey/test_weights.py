"""Fixed-point quotients: halves away from zero, and no product passes 64 bits."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadDescription
from discreet.model.survey import FORMS as DECLARED
from discreet.model.survey import OPEN_FORMS
from discreet.survey import dp_weights as private_weights
from discreet.survey.dp_weights import average_weight, public_strata
from discreet.survey.weight_forms import (
    FORMS,
    SurveyDesign,
    cautions,
    nearest_quotient,
    on_grid,
    times_ratio,
    weight_form,
)
from discreet_studies.average_weights import cell_average, overall_average, relative_variance


def test_products_beyond_64_bits_are_never_formed():
    """factor x numerator is 10^24 here; a plain product of 64-bit integers would be wrong without a word."""
    large = np.array([10**6, -(10**6)])
    assert times_ratio(large, 10**18, 10**12).tolist() == [10**12, -(10**12)]
    assert ((large * np.int64(10**18)) // 10**12).tolist() != [10**12, -(10**12)]


ORACLES = Path(__file__).parents[1] / "oracles"
#: 1,500 respondents for a million people; four decimals; nobody weighs more than 3,000.
SPUDLANDIA = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000)
#: Three respondents who weigh 600, 700 and 650, by hand: W = 1950, average 650.
COUNT, WEIGHT = np.array([3]), np.array([19_500_000])


def test_averages_by_hand():
    # 1950 + 2 · 666.6667 and 1950 - 3 · 666.6667
    assert overall_average(np.array([5, 0]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [32_833_333, -500_000]
    # 5 · 650; a count perturbed to zero weighs nothing
    assert cell_average(np.array([5, 0]), COUNT, WEIGHT, SPUDLANDIA).tolist() == [32_500_000, 0]
    # an empty cell has no average and takes the overall one
    empty = np.zeros(2, dtype=np.int64)
    assert cell_average(np.array([0, 2]), empty, empty, SPUDLANDIA).tolist() == [0, 13_333_333]


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
        names = [name for name in ("region", "sex", "age") if cell[name] != "Total"]
        inside = np.array([all(cell[name] == record[name] for name in names) for record in oracle["micro"]])
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


BAILIE = json.loads((ORACLES / "bailie2020.json").read_text())
BAILIE_DESIGN = SurveyDesign(BAILIE["sample_size"], BAILIE["population"] * 10_000, 4, 30_000_000)


def test_no_form_can_be_given_an_exact_count_or_weight():
    seen = {
        name: set(inspect.signature(function).parameters)
        for name, function in vars(private_weights).items()
        if inspect.isfunction(function) and function.__module__ == private_weights.__name__
    }
    allowed = {"noisy", "noisy_by_stratum", "stratum_weights", "design"}
    assert seen.keys() >= {"public_strata", "average_weight"}
    assert all(parameters <= allowed for parameters in seen.values())


def test_forms_by_hand():
    noisy = np.array([5, 0, -1])
    assert average_weight(noisy, BAILIE_DESIGN).tolist() == [33_333_333, 0, -6_666_667]
    # 2 respondents at 600 and 1 at 700
    assert public_strata(np.array([2, 1]), np.array([6_000_000, 7_000_000])) == 19_000_000
    # 1950.4 persons are 1950 steps of one person; 4,500 are one and a half steps of 3,000: a half goes up
    assert on_grid(np.array([19_504_000]), SPUDLANDIA.scale).tolist() == [1950]
    assert on_grid(np.array([45_000_000, 44_999_999]), SPUDLANDIA.largest_weight).tolist() == [2, 1]
    assert nearest_quotient(np.array([1, -1, 3, -3, 2]), 2).tolist() == [1, -1, 2, -2, 1]
    # Weights 1, 1, 4: mean 2, variance 2, relative variance 1/2.
    assert SurveyDesign(3, 6, 0, 4, relative_variance(np.array([1, 1, 4]))).design_effect == Fraction(3, 2)
    assert SurveyDesign(10, 5, 0, 1).sampling_fraction == 1


def test_replacing_one_person_moves_a_table_by_two_average_weights():
    before, after = np.array([500, 1000]), np.array([501, 999])
    moved = np.abs(average_weight(after, BAILIE_DESIGN) - average_weight(before, BAILIE_DESIGN)).sum()
    assert moved == pytest.approx(2 * float(BAILIE_DESIGN.average_weight) * BAILIE_DESIGN.scale, abs=2)


@pytest.mark.parametrize(
    "wrong", [(0, 1, 0, 1), (1, 1, 10, 1), (10, 101, 0, 10), (10, 0, 0, 10), (10, 40, 0, 9, Fraction(-1))]
)
def test_a_design_that_contradicts_itself_is_refused(wrong):
    with pytest.raises(BadDescription):
        SurveyDesign(*wrong)


def test_every_form_that_can_be_declared_says_what_it_promises_and_no_other_does():
    assert tuple(FORMS) == DECLARED
    assert not set(FORMS) & set(OPEN_FORMS)


def test_varying_weights_call_for_caution_where_the_overall_average_is_used():
    def design(variance):
        return replace(SPUDLANDIA, relative_variance=variance)

    assert not cautions(weight_form("average-weight"), design(Fraction(1, 10)))
    (warned,) = cautions(weight_form("average-weight"), design(Fraction(11, 100)))
    assert "11.0 %, above 10 %" in warned
    assert cautions(weight_form("invariant"), design(Fraction(1, 2)))
    assert not cautions(weight_form("public-strata"), design(Fraction(1, 2)))
