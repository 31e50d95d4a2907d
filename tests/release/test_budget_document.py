"""What custodians see of a budget, before a load and after it: what is planned, spent and left, and what it buys."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.protect.conftest import plan_of as plan_of_universe

from discreet.errors import BadRequest, NotAllowed
from discreet.ledger.entries import Budget, Charge, canonical_request
from discreet.ledger.ledger import Ledger
from discreet.model import privacy_budget as terms
from discreet.model import revision as defaults
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.privacy.audit import delta as exact_delta
from discreet.protect.charges import answer_cost
from discreet.protect.plan import make_plan
from discreet.release import budget_document as documents
from discreet.release.dataset_registry import DatasetService
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.versions.history import lineage_defaults
from discreet.workspace.workspace import Workspace

KEY = bytes(range(32))


def plan_of(dataset, noise=None, **terms):
    return plan_of_universe(dataset, noise, **{"cap_epsilon": 1.0, **terms})


@pytest.mark.slow
def test_the_budget_document_has_the_promised_keys(dataset):
    document = documents.budget_document(plan_of(dataset), dataset)
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
    gaussian = documents.budget_document(plan_of(dataset, {"family": "gaussian"}), dataset)["tables"][0]
    assert 0 < gaussian["epsilon"] < 1
    assert gaussian["delta"] == pytest.approx(1e-9 / 7)


@pytest.mark.slow
def test_dropping_a_variable_shows_what_the_others_gain(dataset):
    dropped = {
        each["variable"]: each for each in documents.budget_document(plan_of(dataset), dataset)["if_dropped"]
    }
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
    ledger.declare(Budget("census", (Fraction(1), Fraction(1, 10**6))))
    ledger.allow("census", "ann", (Fraction(1, 2), Fraction(1, 10**6)))
    asked = canonical_request("margin", "town", "1", "records", ["age", "sex"], "laplace")
    ledger.charge(Charge("census", asked, loss, failure, "ann"))
    document = documents.ledger_document(ledger.state("census"))
    assert document["accounts"][0]["account"] == "ann"
    assert document["accounts"][0]["spent"]["epsilon"] == pytest.approx(0.1)
    (charge,) = document["charges"]
    assert charge["what"] == asked
    assert charge["asked"] == "age x sex of town, version 1"
    assert charge["loss"] == pytest.approx(0.1)
    assert document["left"]["epsilon"] == pytest.approx(0.9)


@pytest.fixture(scope="module")
def planned(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, universe = dp_terms(dataset)
    return dataset, make_plan(dataset, universe, terms, dataset.protection.noise)


@pytest.fixture(scope="module")
def found(planned):
    dataset, plan = planned
    return documents.budget_document(plan, dataset)


def test_each_table_has_its_error(planned, found):
    _, plan = planned
    assert found["margins"] == "joint"
    assert [tuple(each["variables"]) for each in found["tables"]] == list(plan.universe.declared)
    for table in found["tables"]:
        assert set(table) == {
            "variables", "epsilon", "delta", "p_exact", "expected_abs_error", "standard_deviation"
        }  # fmt: skip
        assert 0 < table["p_exact"] < 0.9
        assert 0.75 * table["standard_deviation"] < table["expected_abs_error"] < table["standard_deviation"]
        assert 0 < table["epsilon"] < found["total"]["joint"]["epsilon"]
    # Tables share residuals: by themselves they would cost more than together.
    assert sum(each["epsilon"] for each in found["tables"]) > found["total"]["joint"]["epsilon"]


def test_a_level_that_is_left_out_is_worth_something(found):
    """Levels of a hierarchy are named one by one. Wrong alternative: only whole variables."""
    gains = {each["variable"]: each for each in found["if_dropped"]}
    assert {"region", "area", "sex", "age", "job"} == set(gains)
    assert gains["area"]["expected_abs_error"] < gains["area"]["expected_abs_error_now"]
    assert gains["region"]["d"] > gains["age"]["d"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["basic", "zcdp"])
def test_the_curve_falls_and_passes_through_the_plan(planned, rule):
    """Wrong alternative: a curve of (epsilon, delta) for a budget that is kept in rho."""
    dataset, plan = planned
    terms = replace(plan.terms, composition=rule, answer_cost=Fraction(0))
    found = documents.budget_document(
        make_plan(dataset, plan.universe, terms, dataset.protection.noise), dataset
    )
    curve = found["curve"]
    errors = [each["expected_abs_error"] for each in curve]
    assert errors == sorted(errors, reverse=True)
    mean = sum(each["expected_abs_error"] for each in found["tables"]) / len(found["tables"])
    (here,) = [each for each in curve if each["epsilon"] == 4.0]
    assert here["expected_abs_error"] == pytest.approx(mean, rel=1e-6)


def test_the_advice_compares_all_styles(found):
    styles = found["standard_deviation_by_margins"]
    assert styles["joint"] < min(styles["own"], styles["sums"])
    assert '"joint"' in styles["advice"]


@pytest.mark.slow
def test_a_budget_is_told_before_a_load_by_the_lineage_s_own_defaults(private_town, monkeypatch):
    text = private_town.description.replace("delta = 1e-9\n", "")
    private_town.load(private_town.folder / "other", text).close()
    monkeypatch.setitem(
        defaults.FORMER, 3, lambda document: document["protection"]["budget"].setdefault("delta", 1e-9)
    )
    told = documents.forecast_workspace_budget(private_town.folder / "other", text)
    assert lineage_defaults(private_town.folder / "other", text) == 2
    assert told["family"] == "town"
    assert terms.parse_terms(parse_dataset(text, 1).protection.budget).delta == pytest.approx(1e-9)


def test_a_budget_tells_what_the_load_has_spent_and_a_share_is_opened_to_analysts_only(private_town):
    accounts = open_accounts(private_town.folder)
    for name, role in (("ann", "analyst"), ("bob", "reader")):
        accounts.create(name, role)
    stored = Workspace(private_town.folder).stored("town")
    assert documents.budget_of(stored)["spent"]["epsilon"] == pytest.approx(4, abs=0.01)
    assert "town" in documents.budget_left(stored)
    share = (Fraction(1), Fraction(1, 10**9))
    documents.open_share(stored, "ann", share)
    assert [each["account"] for each in documents.ledger_of(stored)["accounts"]] == ["ann"]
    with pytest.raises(NotAllowed, match="analyst"):
        documents.open_share(stored, "bob", share)
    with pytest.raises(BadRequest, match='no account "anne"'):
        documents.open_share(stored, "anne", share)


def test_a_dataset_of_cell_keys_has_no_budget(town_workspace):
    stored = town_workspace.stored("town")
    assert DatasetService(stored).budget_left() is None
    with pytest.raises(BadRequest, match="no privacy budget"):
        documents.budget_of(stored)
