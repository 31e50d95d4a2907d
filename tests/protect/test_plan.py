"""Plans, their tightest claims, and the documents that custodians see."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.budget_document import budget_document, ledger_document
from discreet.errors import BadDescription, BudgetSpent
from discreet.ledger.entries import Budget, Charge, canonical_request
from discreet.ledger.ledger import Ledger
from discreet.ledger.statements import declare
from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.privacy import composition_pld
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.composition_zcdp import with_distance, zcdp_delta
from discreet.protect import tightest as tightest_module
from discreet.protect.charges import answer_charge, answer_cost, budget_cap, version_charge
from discreet.protect.plan import interactive_table, make_plan
from discreet.protect.tightest import figures, tightest

UNIVERSE = {"variables": ["sex", "age", "job"], "up_to": 2}


def declare_budget(ledger, *declared):
    """Set a cap as a load does, without a version."""
    with ledger.database.transaction() as connection:
        declare(connection, Budget(*declared))


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def plan_of(dataset, noise=None, universe=None, **terms):
    promised = parse_terms({"family": "census", "epsilon": 1.0, "delta": 1e-9, **terms})
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


def test_the_tightest_figure_is_the_smallest_and_keeps_its_name(dataset):
    universe = {"variables": ["sex", "age", "job", "area"], "up_to": 3}
    plan = plan_of(dataset, universe=universe, neighbours="replace-one")
    found = figures(plan)
    assert set(found) == {"basic", "pld", "zcdp"}
    claim = tightest(plan)
    assert claim.method == "pld"
    assert claim.epsilon == min(figure.epsilon for figure in found.values()) < 1
    assert claim.delta <= 1e-9


def test_without_the_library_every_other_figure_stands(dataset, monkeypatch):
    monkeypatch.setattr(composition_pld, "available", lambda: False)
    assert tightest_module.composition_pld is composition_pld
    assert set(figures(plan_of(dataset))) == {"basic", "zcdp"}


def test_gaussian_plans_meet_their_epsilon_by_zcdp_and_better_by_others(dataset):
    plan = plan_of(dataset, {"family": "gaussian"})
    found = figures(plan)
    assert "basic" not in found
    assert 0.99 < found["zcdp"].epsilon <= 1.0
    rounded = figures(plan_of(dataset, {"family": "rounded-normal"}))
    assert rounded["gaussian"].epsilon < rounded["zcdp"].epsilon <= 1.0


def test_a_truncated_table_is_not_given_a_zcdp_claim_that_forgets_its_cut(dataset):
    """m = 8 at epsilon 1/7: a third of the ideal mass is cut off, and no argument reaches delta 1e-9."""
    plan = plan_of(dataset, {"family": "laplace", "m": 8})
    assert figures(plan) == {}
    assert tightest(plan) is None
    with pytest.raises(BadDescription, match="cannot promise"):
        version_charge(plan, dataset, "1", "f")


def test_few_tables_of_one_kind_are_composed_exactly(dataset):
    plan = plan_of(dataset, universe={"variables": ["sex"], "up_to": 1}, epsilon=4.0, delta=1e-6)
    found = figures(plan)
    assert found["exact"].epsilon <= found["basic"].epsilon
    table = plan.tables[0].noise
    assert exact_delta(table, epsilon=found["exact"].epsilon, cells=2) <= Fraction(1, 10**6)


def test_every_figure_bounds_the_exact_composition(dataset):
    """Two tables, where the product of the laws can be computed: no argument may claim less."""
    for noise in ({"family": "laplace"}, {"family": "gaussian"}, {"family": "rounded-normal"}):
        plan = plan_of(dataset, noise, {"variables": ["sex"], "up_to": 1}, epsilon=6.0, delta=1e-3)
        assert len({table.noise for table in plan.tables}) == 1
        for name, figure in figures(plan).items():
            exact = exact_delta(plan.tables[0].noise, epsilon=figure.epsilon, cells=2)
            assert float(exact) <= figure.delta * (1 + 1e-9), name


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


def test_the_budget_document_has_the_promised_keys(dataset):
    document = budget_document(plan_of(dataset), dataset)
    for key in ("family", "cap", "neighbours", "invariants", "tables", "d", "total", "spent", "left"):
        assert key in document
    assert document["cap"] == {"epsilon": 1.0, "delta": 1e-9}
    assert document["left"] == document["cap"]
    table = document["tables"][-1]
    assert table["variables"] == ["job", "sex"]
    assert {"epsilon", "delta", "p_exact", "expected_abs_error"} <= set(table)
    assert table["epsilon"] == pytest.approx(1 / 7)
    assert table["expected_abs_error"] == pytest.approx(1 / math.sinh(1 / 7), rel=1e-9)
    assert table["p_exact"] == pytest.approx(math.tanh(1 / 14), rel=1e-9)
    assert "basic" in document["total"]
    assert document["promise"].startswith("All answers from the declared tables of this version together")
    gaussian = budget_document(plan_of(dataset, {"family": "gaussian"}), dataset)["tables"][0]
    assert 0 < gaussian["epsilon"] < 1
    assert gaussian["delta"] == pytest.approx(1e-9 / 7)


def test_dropping_a_variable_shows_what_the_others_gain(dataset):
    dropped = {each["variable"]: each for each in budget_document(plan_of(dataset), dataset)["if_dropped"]}
    assert set(dropped) == {"age", "job", "sex"}
    assert dropped["job"]["d"] == 4
    assert dropped["job"]["expected_abs_error"] == pytest.approx(1 / math.sinh(1 / 4))
    assert dropped["job"]["expected_abs_error_now"] == pytest.approx(1 / math.sinh(1 / 7))


def test_publishing_charges_the_family_once_and_a_change_charges_again(dataset, tmp_path):
    plan = plan_of(dataset, cap_epsilon=2.0, cap_delta=1e-6)
    ledger = Ledger.create(tmp_path / "ledger.sqlite")
    declare_budget(ledger, "census", budget_cap(plan.terms))

    def publish(version, fingerprint):
        charge = version_charge(plan, dataset, version, fingerprint)
        assert fingerprint not in charge.request
        return ledger.charge_version(charge, dataset.id, version, fingerprint)

    first = publish("1", "fffe")
    assert not first.repeat
    assert publish("1", "fffe").repeat
    with pytest.raises(BadDescription, match="other records"):
        publish("1", "fffd")
    assert not publish("2", "fffe").repeat
    with pytest.raises(BudgetSpent):
        publish("3", "fffe")
    with pytest.raises(BudgetSpent):
        publish("3", "fffd")  # the refused charge left no name behind
    document = budget_document(plan, dataset, ledger.state("census"))
    assert document["spent"]["epsilon"] == pytest.approx(2 * first.loss)
    assert document["left"]["epsilon"] < 0.01


def test_answers_outside_the_universe_are_charged_under_the_same_cap(dataset, tmp_path):
    terms = plan_of(dataset).terms
    table = plan_of(dataset, epsilon=0.7).tables[0].noise
    loss, failure = answer_cost(terms, table, 0.1)
    assert loss == Fraction(0.1)
    assert failure == pytest.approx(float(exact_delta(table, epsilon=0.1)))
    twice = answer_cost(replace(terms, neighbours="replace-one", records_per_unit=2), table, 0.1)
    assert twice[0] == 4 * loss
    ledger = Ledger.create(tmp_path / "ledger.sqlite")
    declare_budget(ledger, "census", (Fraction(1), Fraction(1, 10**6)))
    ledger.allow("census", "ann", (Fraction(1, 2), Fraction(1, 10**6)))
    asked = canonical_request("margin", "town", "1", "records", ["age", "sex"], "laplace")
    ledger.charge(Charge("census", asked, loss, failure, "ann"))
    document = ledger_document(ledger.state("census"))
    assert document["accounts"][0]["account"] == "ann"
    assert document["accounts"][0]["spent"]["epsilon"] == pytest.approx(0.1)
    (charge,) = document["charges"]
    assert charge["what"] == asked
    assert charge["asked"] == "age x sex of town, version 1"
    assert charge["loss"] == pytest.approx(0.1)
    assert document["left"]["epsilon"] == pytest.approx(0.9)


def test_the_zcdp_rule_books_rho_and_distance_within_the_cap(dataset):
    plan = plan_of(dataset, {"family": "gaussian"}, rule="zcdp", cap_epsilon=3.0, cap_delta=1e-6)
    cap = budget_cap(plan.terms)
    assert zcdp_delta(float(cap[0]), 3.0) <= 5e-7
    assert with_distance(zcdp_delta(float(cap[0]), 3.0), 3.0, 1, cap[1]) <= 1e-6 * (1 + 1e-9)
    cost = version_charge(plan, dataset, "1", "f")
    rho = sum(float(table.share) for table in plan.tables)
    assert float(cost.loss) == pytest.approx(rho, rel=1e-9)
    assert cost.loss < cap[0]
    assert 0 < cost.failure < cap[1]
    unknown = plan_of(dataset, {"family": "normal", "delta": 1e-6})
    with pytest.raises(BadDescription, match="no ideal law"):
        answer_cost(plan.terms, unknown.tables[0].noise, 0.1)


def test_one_margin_is_charged_whole_whoever_asks_and_however(dataset, tmp_path):
    plan = plan_of(dataset, cap_epsilon=2.0, cap_delta=1e-6)
    ledger = Ledger.create(tmp_path / "ledger.sqlite")
    declare_budget(ledger, "census", budget_cap(plan.terms))
    for account in ("ann", "bob"):
        ledger.allow("census", account, (Fraction(1, 4), Fraction(1, 10**6)))
    table = interactive_table(plan.terms, ("age", "area", "sex"), Fraction(1, 4), {"family": "laplace"})
    first = ledger.charge(answer_charge(plan, dataset, "1", "f", table, "ann"))
    again = ledger.charge(answer_charge(plan, dataset, "1", "f", table, "bob"))
    assert (first.repeat, again.repeat) == (False, True)
    assert first.loss == Fraction(1, 4)
    finer = interactive_table(plan.terms, ("age", "area", "sex"), Fraction(1, 5), {"family": "laplace"})
    with pytest.raises(BudgetSpent):
        ledger.charge(answer_charge(plan, dataset, "1", "f", finer, "ann"))
    wider = plan.universe.with_margin(("age", "area", "sex"))
    assert wider.margins[-1] == ("age", "area", "sex")
    assert wider.with_margin(("age", "area", "sex")) is wider
    with pytest.raises(BadDescription, match="rule"):
        interactive_table(plan.terms, ("age",), Fraction(1, 4), {"family": "gaussian"})


def test_a_distance_is_that_of_the_stated_scale_even_where_integers_agree(dataset):
    from discreet.privacy.distance import distance_to_ideal

    table = plan_of(dataset).tables[0].noise
    honest = distance_to_ideal(table)
    relabelled = replace(table, parameters={**table.parameters, "epsilon": 0.01})
    assert distance_to_ideal(relabelled) > 0.5 > honest
