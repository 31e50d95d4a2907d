"""The budget of a joint universe: the keys that others read, and what they say."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.budget_document import budget_document
from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp
from discreet.protect.plan import make_plan


@pytest.fixture(scope="module")
def planned(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, universe = declared_dp(dataset)
    return dataset, make_plan(dataset, universe, terms, dataset.protection.noise)


@pytest.fixture(scope="module")
def found(planned):
    dataset, plan = planned
    return budget_document(plan, dataset)


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
    found = budget_document(make_plan(dataset, plan.universe, terms, dataset.protection.noise), dataset)
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
