"""Combinations that are forbidden or mandatory hold for filters and for finer levels too."""

import pytest
from tests.rules.refusals import first_refusal


@pytest.mark.parametrize(
    "filters", [["age=old", "job=1"], ["age=adult,old", "job=0,1,2"]], ids=["one", "many"]
)
def test_a_filter_does_not_evade_a_combination(filters, rules, ask, dataset):
    forbidden = rules({"kind": "forbidden-combination", "variables": ["age", "job"]})
    assert (
        first_refusal(*ask(rows=["sex"], filters=filters), dataset, forbidden).code == "forbidden-combination"
    )


def test_a_rule_on_a_coarse_level_holds_for_the_finer_ones(rules, ask, dataset):
    forbidden = rules({"kind": "forbidden-combination", "variables": ["region", "job"]})
    assert first_refusal(*ask(rows=["area"], columns=["job"]), dataset, forbidden) is not None
    at_region = rules({"kind": "max-variables", "most": 0, "level": "region"})
    assert first_refusal(*ask(rows=["area"], columns=["job"]), dataset, at_region) is not None
    assert first_refusal(*ask(rows=["job"]), dataset, at_region) is None


def test_what_is_mandatory_must_stand_in_the_table(rules, ask, dataset):
    needs = rules({"kind": "mandatory-variables", "variable": "job", "needs": ["region"]})
    assert first_refusal(*ask(rows=["sex"], filters=["job=1"]), dataset, needs) is not None
    assert first_refusal(*ask(rows=["job"], columns=["region"]), dataset, needs) is None
    assert first_refusal(*ask(rows=["job"], columns=["area"]), dataset, needs) is None
    assert first_refusal(*ask(rows=["sex"]), dataset, needs) is None
