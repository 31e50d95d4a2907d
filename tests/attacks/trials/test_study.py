from types import SimpleNamespace

import pytest

from discreet.attacks.knowledge import DP, UNPROTECTED
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.noise import laplace
from discreet.protect.plan import make_plan
from discreet_studies.attacks.scoring import grid_up_to, noise_in_words


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
    told = noise_in_words(SimpleNamespace(protection=DP, declared=plan))
    assert told["claim"]["epsilon"] == 4.0
    assert len(told["noise"]["tables"]) == plan.d
    assert "differentially private" in told["claim"]["sentence"]
