"""Intervals of what was measured: they cover, and they are not too wide to be of use."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from discreet.attacks.knowledge import DP, UNPROTECTED
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.noise import laplace
from discreet.protect.plan import make_plan
from discreet_studies.attacks.scoring import grid_up_to, noise_in_words, root_mean_square, share


def test_the_grid_starts_at_one_ends_at_the_last_and_ascends():
    for most in (1, 2, 3, 5, 34, 128):
        grid = grid_up_to(most)
        assert grid[0] == 1
        assert grid[-1] == most
        assert grid == sorted(set(grid))


def test_plain_counts_have_no_noise_to_tell():
    assert noise_in_words(SimpleNamespace(protection=UNPROTECTED)) == {"noise": None}


def test_a_law_is_told_by_its_parameters_and_the_variance_of_large_counts():
    law = laplace(epsilon=0.5, m=9)
    told = noise_in_words(SimpleNamespace(protection="cellkey", law=law))["noise"]
    assert told["family"] == "laplace"
    assert None not in told["parameters"].values()
    assert told["variance"] == pytest.approx(float(law.rows[-1].variance()))


def test_under_dp_the_claim_is_told_with_its_tables(private_town):
    dataset = parse_dataset(private_town.description)
    terms, universe = dp_terms(dataset)
    plan = make_plan(dataset, universe, terms, {"family": "laplace"})
    told = noise_in_words(SimpleNamespace(protection=DP, noise_plan=plan))
    assert told["claim"]["epsilon"] == 4.0
    assert len(told["noise"]["tables"]) == plan.d
    assert "differentially private" in told["claim"]["sentence"]


@pytest.mark.parametrize(("hits", "of", "low", "high"), [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0)])
def test_none_and_all_have_one_sided_limits(hits, of, low, high):
    measured = share(hits, of)
    assert (round(measured.low, 4), round(measured.high, 4)) == (low, high)


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_the_interval_of_a_share_covers_at_least_as_often_as_it_says(p):
    chances = binom.pmf(np.arange(61), 60, p)
    covered = sum(c for hits, c in enumerate(chances) if share(hits, 60).low <= p <= share(hits, 60).high)
    assert 0.95 <= covered < 0.995


def test_the_interval_of_the_error_holds_the_true_error_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    runs = [root_mean_square(rng.normal(0, 2, 200)) for _ in range(400)]
    covered = np.mean([run.low <= 2 <= run.high for run in runs])
    assert 0.9 < covered < 0.98
    wrong = np.mean([run.low <= 2.6 <= run.high for run in runs])
    assert wrong < 0.2


def test_no_error_has_no_interval():
    assert root_mean_square(np.zeros(5)) == (0.0, 0.0, 0.0)
