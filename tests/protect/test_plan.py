"""Plans, their tightest claims, and the documents that custodians see."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.protect.plan import make_plan
from discreet.protect.tightest import figures, tightest

UNIVERSE = {"variables": ["sex", "age", "job"], "up_to": 2}


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def plan_of(dataset, noise=None, universe=None, **terms):
    promised = parse_terms({"family": "census", "epsilon": 1.0, "cap_epsilon": 1.0, "delta": 1e-9, **terms})
    declared = parse_universe(universe or UNIVERSE, dataset, known_total=promised.known_total)
    return make_plan(dataset, declared, promised, noise or {"family": "laplace"})


def test_equal_shares_add_up_to_the_budget_and_basic_composition_says_so(dataset):
    plan = plan_of(dataset)
    assert plan.d == 7
    assert {table.share for table in plan.tables} == {Fraction(1, 7)}
    basic = figures(plan)["basic"]
    assert basic.epsilon == pytest.approx(1.0, abs=1e-14)
    assert basic.epsilon <= 1.0
    assert basic.delta < 1e-15


def test_a_known_total_needs_no_share_and_neighbours_cost_twice(dataset):
    plan = plan_of(dataset, neighbours="replace-one", invariants=["n"])
    assert plan.d == 6
    assert all(table.epsilon == pytest.approx(1 / 12) for table in plan.tables)
    assert figures(plan)["basic"].epsilon == pytest.approx(1.0)
    assert "the number of records is public" in tightest(plan).sentence


def test_persons_with_several_records_get_so_much_more_noise(dataset):
    one, three = plan_of(dataset), plan_of(dataset, records_per_unit=3)
    assert three.tables[0].epsilon == pytest.approx(one.tables[0].epsilon / 3)
    assert figures(three)["basic"].epsilon == pytest.approx(1.0)
    wide, wider = (plan_of(dataset, {"family": "gaussian"}, records_per_unit=r) for r in (1, 3))
    assert wider.tables[0].noise.parameters["V"] == pytest.approx(9 * wide.tables[0].noise.parameters["V"])


def test_importance_and_optimum_are_spread(dataset):
    entry = {**UNIVERSE, "importance": [{"table": ["sex", "age"], "weight": 4}]}
    plan = plan_of(dataset, universe=entry, spread="importance")
    shares = {table.margin: table.share for table in plan.tables}
    assert shares[("age", "sex")] == Fraction(4, 10)
    best = plan_of(dataset, universe=entry, spread="optimised", measure="absolute")
    assert sum(table.share for table in best.tables) == 1
    assert best.d == len(best.universe.margins) <= 7


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ({"family": "maxent", "D": 5}, "cannot serve"),
        ({"family": "laplace", "epsilon": 1.0}, "follows from the budget"),
        ({"family": "gaussian", "V": 1.0}, "follows from the budget"),
    ],
)
def test_noise_that_cannot_serve_is_refused(dataset, noise, words):
    with pytest.raises(BadDescription, match=words):
        plan_of(dataset, noise)


def test_gaussian_noise_cannot_promise_delta_zero(dataset):
    with pytest.raises(BadDescription, match="delta 0"):
        plan_of(dataset, {"family": "gaussian"}, delta=0.0)


def test_a_distance_is_that_of_the_stated_scale_even_where_integers_agree(dataset):
    from discreet.privacy.distance import distance_to_ideal

    table = plan_of(dataset).tables[0].noise
    honest = distance_to_ideal(table)
    relabelled = replace(table, parameters={**table.parameters, "epsilon": 0.01})
    assert distance_to_ideal(relabelled) > 0.5 > honest


def test_an_answer_that_no_budget_in_rho_could_pay_is_refused(town):
    dataset = parse_dataset(town.description)
    promised = {"name": "b", "epsilon": 1, "cap_epsilon": 1, "rule": "zcdp"}
    universe = parse_universe({"variables": ["sex"]}, dataset)
    make_plan(dataset, universe, parse_terms({**promised, "answer_cost": 0.01}), {"family": "gaussian"})
    with pytest.raises(BadDescription, match=r"answer_cost is 0\.5, and the budget has rho 0\.01"):
        make_plan(dataset, universe, parse_terms({**promised, "answer_cost": 0.5}), {"family": "gaussian"})
