"""What a charge amounts to and what it is called: every part that decides noise or price is in the name."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.noise import gaussian, laplace
from discreet.privacy.claim import group_delta
from discreet.protect.charges import answer_charge, answer_cost, version_charge_name
from discreet.protect.plan import interactive_table, make_plan

LAPLACE = {"family": "laplace"}


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def terms_of(**changes):
    return parse_terms({"name": "census", "epsilon": 1.0, "delta": 1e-9, **changes})


@pytest.fixture(scope="module")
def plan(dataset):
    universe = parse_universe({"variables": ["sex", "age"], "up_to": 2}, dataset)
    return make_plan(dataset, universe, terms_of(), LAPLACE)


def test_a_person_of_several_records_costs_so_many_times_as_much():
    noise = laplace(epsilon=0.5, m=9, modulus=2**64)
    one, three = (answer_cost(terms_of(records_per_unit=r), noise, 0.5) for r in (1, 3))
    assert (one[0], three[0]) == (Fraction(1, 2), Fraction(3, 2))
    assert one[1] > 0
    assert three[1] == Fraction(group_delta(float(one[1]), 0.5, 3))


def test_rho_grows_with_the_square_of_the_records_and_distance_with_their_number():
    noise = gaussian(V=50.0, modulus=2**64)
    one, three = (answer_cost(terms_of(records_per_unit=r, rule="zcdp"), noise, 0.5) for r in (1, 3))
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
    name = version_charge_name(others.get(changed, plan), dataset, version, fingerprint)
    assert name != version_charge_name(plan, dataset, "1", "f")


@pytest.mark.parametrize("changed", ["version", "fingerprint", "noise", "margin", "records"])
def test_an_answer_of_anything_else_has_another_name(plan, dataset, changed):
    def named(margin=("area", "sex"), share=Fraction(1, 4), version="1", fingerprint="f", terms=plan.terms):
        noise = interactive_table(plan.terms, margin, share, LAPLACE)
        asked = replace(plan, terms=terms)
        return answer_charge(asked, dataset, version, fingerprint, noise, "ann").request

    others = {
        "version": {"version": "2"},
        "fingerprint": {"fingerprint": "g"},
        "noise": {"share": Fraction(1, 5)},
        "margin": {"margin": ("area", "age")},
        "records": {"terms": terms_of(records_per_unit=2)},
    }
    assert named() == named()
    assert named(**others[changed]) != named()
