"""Promises in words: the numbers are those of the exact audit, rounded up and never down."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.model.dataset import Dataset
from discreet.model.dataset_toml import parse_dataset
from discreet.model.terms import parse_terms
from discreet.model.universe import parse_universe
from discreet.model.variable import Category, Variable
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.audit import delta
from discreet.protect.plan import make_plan
from discreet.protect.promise import dp_promise, promise

NOISE = NoiseTable(7, (NoiseRow((0,), (7,)), NoiseRow((-1, 0, 1), (2, 5, 7))), family="hand")
PEOPLE = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id")


def test_a_stated_delta_is_never_below_the_audited_one():
    (stated,) = [sentence for sentence in promise(NOISE, PEOPLE) if "differentially private" in sentence]
    worst, above = (float(part.split(")")[0]) for part in stated.split("(1, ")[1:])
    exact = delta(NOISE, epsilon=1.0)
    assert Fraction(worst) >= exact > above
    assert worst == pytest.approx(float(exact), rel=0.01)
    assert float(f"{float(exact):.3g}") < exact  # 5/7: the nearest three figures would promise too much


def test_tables_of_equal_integers_keep_their_own_parameters():
    """Equality of noise tables is that of their integers: a sentence must not be remembered by it."""
    first, second = (
        NoiseTable(NOISE.modulus, NOISE.rows, family="hand", parameters={"V": V}) for V in (2, 3)
    )
    assert first == second
    assert "(V = 2)" in promise(first, PEOPLE)[0]
    assert "(V = 3)" in promise(second, PEOPLE)[0]


def test_the_same_number_in_every_table_is_promised_only_where_totals_keep_their_own_noise():
    same = "The same people show the same number in every table."
    assert same in promise(NOISE, PEOPLE, "independent")[-1]
    assert same not in promise(NOISE, PEOPLE, "fitted")[-1]


def test_what_is_kept_secret_of_a_design_is_not_told():
    rows = (NoiseRow((0,), (8,)), NoiseRow((-1, 0, 1), (2, 6, 8)))
    noise = NoiseTable(8, rows, family="hand", parameters={"D": 1, "notes": ("inner",), "js": None})
    (first, *_) = promise(noise, PEOPLE)
    assert "(D = 1)" in first
    assert "at most 1, with a standard deviation of at most 0.71" in first


def test_under_dp_the_lifetime_cap_and_the_noise_of_every_margin_are_told(town):
    dataset = parse_dataset(town.description)
    terms = parse_terms({"name": "census", "epsilon": 1.0, "cap_epsilon": 3.0, "delta": 1e-9})
    plan = make_plan(
        dataset,
        parse_universe({"variables": ["sex", "age"], "up_to": 1}, dataset),
        terms,
        {"family": "laplace"},
    )
    told = " ".join(dp_promise(plan))
    assert 'by this workspace under the budget "census"' in told
    assert "stay within epsilon 3 and delta 3e-09" in told
    assert f"Every cell of {plan.d} released tables, empty ones included" in told
    other = replace(plan, terms=replace(terms, neighbours="replace-one", invariants=("n",)))
    told = " ".join(dp_promise(other))
    assert "delta 3e-09, for neighbours that agree on every number that one of these datasets" in told
