"""Plans, their tightest claims, and their file: written and read it is the same, and a change is noticed."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadNoiseTable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import parse_terms
from discreet.model.universe import dp_terms, parse_universe
from discreet.protect.best_composition import best_claim, figures, with_claim
from discreet.protect.plan import WITHIN, make_plan, plan_text, read_plan, style_advice

from .conftest import UNIVERSE, dataset_of, plan_of


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
    assert "the number of records is public" in best_claim(plan).sentence


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
    ("noise", "terms", "words"),
    [
        ({"family": "maxent", "D": 5}, {}, "cannot serve"),
        ({"family": "laplace", "epsilon": 1.0}, {}, "follows from the budget"),
        ({"family": "gaussian", "V": 1.0}, {}, "follows from the budget"),
        ({"family": "gaussian"}, {"delta": 0.0}, "delta 0"),
    ],
)
def test_noise_that_cannot_serve_is_refused(dataset, noise, terms, words):
    with pytest.raises(BadDescription, match=words):
        plan_of(dataset, noise, **terms)


def test_a_distance_is_that_of_the_stated_scale_even_where_integers_agree(dataset):
    from discreet.privacy.accounting import distance_to_ideal

    table = plan_of(dataset).tables[0].noise
    honest = distance_to_ideal(table)
    relabelled = replace(table, parameters={**table.parameters, "epsilon": 0.01})
    assert distance_to_ideal(relabelled) > 0.5 > honest


def test_an_answer_that_no_budget_in_rho_could_pay_is_refused(dataset):
    promised = {"name": "b", "epsilon": 1, "cap_epsilon": 1, "rule": "zcdp"}
    universe = parse_universe({"variables": ["sex"]}, dataset)
    make_plan(dataset, universe, parse_terms({**promised, "answer_cost": 0.01}), {"family": "gaussian"})
    with pytest.raises(BadDescription, match=r"answer_cost is 0\.5, and the budget has rho 0\.01"):
        make_plan(dataset, universe, parse_terms({**promised, "answer_cost": 0.5}), {"family": "gaussian"})


def plan_of_calibrate(description, noise, **terms):
    dataset = parse_dataset(description)
    stated, universe = dp_terms(dataset)
    stated = replace(stated, answer_cost=Fraction(0), **terms)
    return make_plan(dataset, universe, stated, noise)


def claim(plan):
    return min(figure.epsilon for figure in figures(plan).values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "spread"), [("laplace", "equal"), ("laplace", "optimised"), ("gaussian", "equal")]
)
def test_what_is_claimed_is_what_was_granted(private_description, family, spread):
    """Wrong alternative: shares that add up to epsilon, of which a part is never used."""
    pytest.importorskip("dp_accounting")
    before = plan_of_calibrate(private_description, {"family": family}, spread=spread, epsilon=Fraction(1))
    plan = plan_of_calibrate(
        private_description, {"family": family}, spread=spread, epsilon=Fraction(1), calibrate=True
    )
    assert 1 - WITHIN <= claim(plan) <= 1
    assert claim(before) < claim(plan) or claim(before) >= 1 - WITHIN
    spread_before, spread_now = (max(each.variances().values()) for each in (before, plan))
    assert spread_now <= spread_before


def test_pure_epsilon_has_nothing_to_gain(private_description):
    plans = [
        plan_of_calibrate(private_description, {"family": "laplace"}, delta=Fraction(0), calibrate=each)
        for each in (True, False)
    ]
    assert plans[0].tables == plans[1].tables


def advice(universe, epsilon=0.05, **terms):
    dataset = dataset_of(a=10, b=10, c=10, d=10)
    stated = parse_terms({"family": "f", "epsilon": epsilon, "cap_epsilon": epsilon, **terms})
    declared = parse_universe(universe, dataset, known_total=stated.known_total)
    return style_advice(make_plan(dataset, declared, stated, {"family": "laplace"}), dataset)


def test_the_two_way_margins_of_the_paper():
    """Six margins of 10 x 10 of a table of 10^4: 8.5/eps with noise of their own, which sums cannot better."""
    pairs = [[a, b] for place, a in enumerate("abcd") for b in "abcd"[place + 1 :]]
    own = advice({"variables": [], "up_to": 0, "tables": pairs, "exclude": []})
    # The grand total is declared too: seven tables.
    assert own["own"] * 0.05 == pytest.approx(7 * 2**0.5, rel=0.02)
    everything = advice({"variables": ["a", "b", "c", "d"], "up_to": 4})
    assert everything["own"] * 0.05 <= 16 * 2**0.5 * 1.02
    assert everything["sums"] == pytest.approx(
        sum(2**0.5 * 10 ** (summed / 2) * ways for summed, ways in enumerate((1, 4, 6, 4, 1))) / 16 / 0.05,
        rel=0.02,
    )


@pytest.fixture
def described(private_description):
    return parse_dataset(private_description)


@pytest.fixture
def plan(described):
    terms, universe = dp_terms(described)
    return with_claim(make_plan(described, universe, terms, {"family": "laplace"}))


def test_a_plan_that_was_written_is_read_back_whole(plan, described):
    back = read_plan(plan_text(plan), described)
    assert back.tables == plan.tables
    assert (back.currency, back.answer, back.claim) == (plan.currency, plan.answer, plan.claim)
    assert plan_text(back) == plan_text(plan)


@pytest.mark.parametrize("harm", ["another name", "a key missing", "no JSON"])
def test_a_plan_that_contradicts_itself_is_refused(plan, described, harm):
    document = json.loads(plan_text(plan))
    if harm == "another name":
        (one, *_), (two, *_) = document["noise"], reversed(document["noise"])
        document["noise"][one] = document["noise"][two] | {"parameters": {"epsilon": 0.123}}
    else:
        del document["currency"]
    text = "{" if harm == "no JSON" else json.dumps(document)
    with pytest.raises(BadNoiseTable, match="cannot be read"):
        read_plan(text, described)
