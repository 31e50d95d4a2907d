"""What custodians see of a budget: what is planned, spent and left, and what a variable costs."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.budget_document import budget_document, ledger_document
from discreet.ledger.entries import Budget, Charge, canonical_request
from discreet.ledger.ledger import Ledger
from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.privacy.audit import delta as exact_delta
from discreet.protect.charges import answer_cost
from discreet.protect.plan import make_plan

KEY = bytes(range(32))

UNIVERSE = {"variables": ["sex", "age", "job"], "up_to": 2}


def declare_budget(ledger, *declared):
    """Set a cap as a load does, without a version."""
    ledger.declare(Budget(*declared))


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def plan_of(dataset, noise=None, universe=None, **terms):
    promised = parse_terms({"family": "census", "epsilon": 1.0, "cap_epsilon": 1.0, "delta": 1e-9, **terms})
    declared = parse_universe(universe or UNIVERSE, dataset, known_total=promised.known_total)
    return make_plan(dataset, declared, promised, noise or {"family": "laplace"})


@pytest.mark.slow
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


@pytest.mark.slow
def test_dropping_a_variable_shows_what_the_others_gain(dataset):
    dropped = {each["variable"]: each for each in budget_document(plan_of(dataset), dataset)["if_dropped"]}
    assert set(dropped) == {"age", "job", "sex"}
    assert dropped["job"]["d"] == 4
    assert dropped["job"]["expected_abs_error"] == pytest.approx(1 / math.sinh(1 / 4))
    assert dropped["job"]["expected_abs_error_now"] == pytest.approx(1 / math.sinh(1 / 7))


def test_answers_outside_the_universe_are_charged_under_the_same_cap(dataset, tmp_path):
    terms = plan_of(dataset).terms
    table = plan_of(dataset, epsilon=0.7).tables[0].noise
    loss, failure = answer_cost(terms, table, 0.1)
    assert loss == Fraction(0.1)
    assert failure == pytest.approx(float(exact_delta(table, epsilon=0.1)))
    twice = answer_cost(replace(terms, neighbours="replace-one", records_per_unit=2), table, 0.1)
    assert twice[0] == 4 * loss
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
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
