"""The protection that a draft writes down is the one that a description without any gets."""

import tomllib

from discreet.model.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_NOISE, Protection
from discreet.records.default_protection import PROTECTION, RULES
from discreet.workspace.demo.places import data_text


def test_the_text_states_the_defaults():
    variable = '[[variable]]\nname = "v"\ncategories = ["a", "b"]\n'
    dataset = parse_dataset(f'id = "d"\nlabel = "D"\nid_column = "id"\n{variable}{PROTECTION}')
    assert dataset.protection == Protection()
    assert dict(dataset.protection.noise) == dict(DEFAULT_NOISE)


def test_a_draft_has_the_rules_of_the_demo_that_name_none_of_its_variables():
    demo = tomllib.loads(data_text("census_rules.toml"))["rule"]
    nested = [{"kind": "nested-groups", "fewer_than": 2, "filters": True}]
    general = [rule for rule in demo if not {"level", "variables"} & rule.keys()]
    assert tomllib.loads(RULES)["rule"] == nested + general
