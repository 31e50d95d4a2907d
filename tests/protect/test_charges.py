"""What a charge amounts to and what it is called: every part that decides noise or price is in the name."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BudgetSpent
from discreet.ledger.entries import Budget, Charge
from discreet.ledger.ledger import Ledger
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import LOSS_UNIT, parse_terms, round_up_to_units
from discreet.model.universe import dp_terms, parse_universe
from discreet.noise import gaussian, laplace
from discreet.privacy.accounting import add_distance, zcdp_delta
from discreet.privacy.claim import float_up, group_delta
from discreet.protect import charges
from discreet.protect.best_composition import basic_figure, claim_of
from discreet.protect.plan import interactive_table, make_plan
from discreet.release.budget_document import budget_document

from .conftest import plan_of

KEY = bytes(range(32))

LAPLACE = {"family": "laplace"}


def terms_of(**changes):
    return parse_terms({"name": "census", "epsilon": 1.0, "cap_epsilon": 1.0, "delta": 1e-9, **changes})


@pytest.fixture(scope="module")
def plan(dataset):
    universe = parse_universe({"variables": ["sex", "age"], "up_to": 2}, dataset)
    return make_plan(dataset, universe, terms_of(), LAPLACE)


def test_a_person_of_several_records_costs_so_many_times_as_much():
    noise = laplace(epsilon=0.5, m=9, modulus=2**64)
    one, three = (charges.answer_cost(terms_of(records_per_unit=r), noise, 0.5) for r in (1, 3))
    assert (one[0], three[0]) == (Fraction(1, 2), Fraction(3, 2))
    assert one[1] > 0
    assert three[1] == Fraction(group_delta(float(one[1]), 0.5, 3))


def test_rho_grows_with_the_square_of_the_records_and_distance_with_their_number():
    noise = gaussian(V=50.0, modulus=2**64)
    one, three = (charges.answer_cost(terms_of(records_per_unit=r, rule="zcdp"), noise, 0.5) for r in (1, 3))
    assert float(one[0]) == pytest.approx(1 / 100)
    assert float(three[0] / one[0]) == pytest.approx(9)
    assert three[1] == 3 * one[1]


@pytest.mark.parametrize("changed", ["version", "fingerprint", "noise", "margin", "records", "neighbours"])
def test_a_publication_of_anything_else_has_another_name(plan, dataset, changed):
    first = plan.tables[0]
    others = {
        "noise": replace(plan, tables=(replace(first, noise=laplace(epsilon=3.0)), *plan.tables[1:])),
        "margin": replace(plan, tables=(replace(first, margin=("job",)), *plan.tables[1:])),
        "records": replace(plan, terms=terms_of(records_per_unit=2)),
        "neighbours": replace(plan, terms=terms_of(neighbours="replace-one")),
    }
    version, fingerprint = ("2" if changed == "version" else "1"), ("g" if changed == "fingerprint" else "f")
    name = charges.version_charge_name(others.get(changed, plan), dataset, version, fingerprint)
    assert name != charges.version_charge_name(plan, dataset, "1", "f")


@pytest.mark.parametrize("changed", ["version", "fingerprint", "noise", "margin", "records"])
def test_an_answer_of_anything_else_has_another_name(plan, dataset, changed):
    def named(margin=("area", "sex"), share=Fraction(1, 4), version="1", fingerprint="f", terms=plan.terms):
        noise = interactive_table(plan.terms, margin, share, LAPLACE)
        asked = replace(plan, terms=terms)
        return charges.answer_charge(asked, dataset, version, fingerprint, noise, "ann").request

    others = {
        "version": {"version": "2"},
        "fingerprint": {"fingerprint": "g"},
        "noise": {"share": Fraction(1, 5)},
        "margin": {"margin": ("area", "age")},
        "records": {"terms": terms_of(records_per_unit=2)},
    }
    assert named() == named()
    assert named(**others[changed]) != named()


def test_publishing_charges_the_family_once_and_a_change_charges_again(dataset, tmp_path):
    plan = plan_of(dataset, cap_epsilon=2.0, cap_delta=1e-6)
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    ledger.declare(Budget("census", charges.budget_cap(plan.terms)))

    def publish(version, fingerprint):
        charge = charges.version_charge(plan, dataset, version, fingerprint)
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


def test_the_zcdp_rule_books_rho_and_distance_within_the_cap(dataset):
    plan = plan_of(dataset, {"family": "gaussian"}, rule="zcdp", cap_epsilon=3.0, cap_delta=1e-6)
    cap = charges.budget_cap(plan.terms)
    assert zcdp_delta(float(cap[0]), 3.0) <= 5e-7
    assert add_distance(zcdp_delta(float(cap[0]), 3.0), 3.0, 1, cap[1]) <= 1e-6 * (1 + 1e-9)
    cost = charges.version_charge(plan, dataset, "1", "f")
    rho = sum(float(table.share) for table in plan.tables)
    assert float(cost.loss) == pytest.approx(rho, rel=1e-9)
    assert cost.loss < cap[0]
    assert 0 < cost.failure < cap[1]
    unknown = plan_of(dataset, {"family": "normal", "delta": 1e-6})
    with pytest.raises(BadDescription, match="no ideal law"):
        charges.answer_cost(plan.terms, unknown.tables[0].noise, 0.1)


def test_one_margin_is_charged_whole_whoever_asks_and_however(dataset, tmp_path):
    plan = plan_of(dataset, cap_epsilon=2.0, cap_delta=1e-6)
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    ledger.declare(Budget("census", charges.budget_cap(plan.terms)))
    for account in ("ann", "bob"):
        ledger.allow("census", account, (Fraction(1, 4), Fraction(1, 10**6)))
    table = interactive_table(plan.terms, ("age", "area", "sex"), Fraction(1, 4), {"family": "laplace"})
    first = ledger.charge(charges.answer_charge(plan, dataset, "1", "f", table, "ann"))
    again = ledger.charge(charges.answer_charge(plan, dataset, "1", "f", table, "bob"))
    assert (first.repeat, again.repeat) == (False, True)
    assert first.loss == Fraction(1, 4)
    finer = interactive_table(plan.terms, ("age", "area", "sex"), Fraction(1, 5), {"family": "laplace"})
    with pytest.raises(BudgetSpent):
        ledger.charge(charges.answer_charge(plan, dataset, "1", "f", finer, "ann"))
    wider = plan.universe.with_margin(("age", "area", "sex"))
    assert wider.margins[-1] == ("age", "area", "sex")
    assert wider.with_margin(("age", "area", "sex")) is wider
    with pytest.raises(BadDescription, match="rule"):
        interactive_table(plan.terms, ("age",), Fraction(1, 4), {"family": "gaussian"})


#: The budgets that the custodian of a small dataset is likely to write: 0.1, 0.2, ..., 9.0 over one to seven tables.
PLAIN = [(tenths, tables) for tables in range(1, 8) for tenths in range(1, 91)]
TABLES = [["sex"], ["age"], ["job"], ["area"], ["sex", "age"], ["sex", "job"], ["age", "job"]]


def plain_plans(dataset):
    """The 630 plain budgets, each spent by one version."""
    for tenths, tables in PLAIN:
        epsilon = Decimal(tenths) / 10
        named = {"name": "b", "epsilon": epsilon, "cap_epsilon": epsilon, "max_exact": Decimal("0.9999")}
        universe = parse_universe({"tables": TABLES[:tables]}, dataset)
        yield make_plan(dataset, universe, parse_terms(named), LAPLACE)


def by_basic(plan):
    """The claim by basic composition: what is claimed where nothing better is found, and the dearest."""
    return replace(plan, claim=claim_of(plan, "basic", basic_figure(plan)))


@pytest.mark.slow
def test_every_plain_budget_pays_for_the_version_that_it_was_written_for(dataset):
    """As a float a figure can be more than the decimal that was written: 1.1 "costs 1.1 and 1.1 is left"."""
    refused = 0
    for plan in plain_plans(dataset):
        loss, failure = charges.version_cost(by_basic(plan))
        cap = charges.budget_cap(plan.terms)
        assert loss == plan.terms.epsilon == cap[0]
        assert failure <= cap[1]
        as_float = float_up(sum(Fraction(table.epsilon) for table in plan.tables))
        refused += round_up_to_units(as_float, 0)[0] > cap[0]
    assert len(PLAIN) == 630
    assert refused > 50


@pytest.mark.parametrize("epsilon", ["1.1", "2.2", "0.7"])
def test_the_ledger_takes_the_whole_cap_and_no_unit_more(dataset, tmp_path, epsilon):
    universe = parse_universe({"tables": TABLES[:7]}, dataset)
    terms = parse_terms({"name": "b", "epsilon": Decimal(epsilon), "cap_epsilon": Decimal(epsilon)})
    plan = by_basic(make_plan(dataset, universe, terms, LAPLACE))
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    budget = Budget("b", charges.budget_cap(terms))
    receipt = ledger.charge_version(charges.version_charge(plan, dataset, "1", "f"), "town", "1", "f", budget)
    assert (receipt.loss, receipt.left[0]) == (Fraction(epsilon), 0)
    with pytest.raises(BudgetSpent):
        ledger.charge(Charge("b", "x", LOSS_UNIT, Fraction(0)))


@pytest.mark.parametrize("tables", [1, 4, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "1.1", "8.0"])
def test_a_budget_in_rho_pays_for_a_version_with_its_defaults(town, tables, epsilon):
    """Laplace noise under such a budget costs many times its cap: the default family is scaled by rho."""
    protection = 'method = "dp"\n[protection.universe]\nmargins = "own"\ntables = ' + json.dumps(
        TABLES[:tables]
    )
    budget = f'[protection.budget]\nname = "b"\nepsilon = {epsilon}\ncap_epsilon = {epsilon}\nrule = "zcdp"\n'
    text = (
        town.description[: town.description.index("[protection]")] + f"[protection]\n{protection}\n{budget}"
    )
    dataset = parse_dataset(text)
    terms, universe = dp_terms(dataset)
    plan = make_plan(dataset, universe, terms, dataset.protection.noise)
    loss, failure = charges.version_cost(plan)
    cap = charges.budget_cap(terms)
    assert plan.tables[0].noise.family == "gaussian"
    assert cap[0] * (1 - Fraction(1, 10**6)) < loss <= cap[0]
    assert failure <= cap[1]
    laplace_cost = charges.version_cost(make_plan(dataset, universe, terms, LAPLACE))[0]
    assert laplace_cost > cap[0]
