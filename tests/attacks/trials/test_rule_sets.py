"""Every rule set of the demo and of the tests is attacked; one that is not makes its test fail."""

from discreet.model.description.dataset_toml import parse_dataset
from discreet.rules.rule_set import parse_rules
from discreet.workspace.demo import DEMOS
from discreet_studies.attacks.rule_sets import RULE_SETS, on_counts


def test_every_rule_set_of_the_demo_that_withholds_areas_is_attacked():
    attacked = {each.parsed() for each in RULE_SETS}
    found = {}
    for name, demo in DEMOS.items():
        dataset = parse_dataset(demo.description())
        found[name] = on_counts(parse_rules(dataset.rules, dataset))
    assert found["census"] in attacked
    assert {name for name, rules in found.items() if rules} == {"census"}  # the others have no rules


def test_rule_sets_differ_and_each_withholds_areas():
    assert len({each.parsed() for each in RULE_SETS} - {frozenset()}) == len(RULE_SETS)
    assert len({each.name for each in RULE_SETS}) == len(RULE_SETS)


def test_a_rule_set_that_is_not_attacked_is_found_out(town, unattacked):
    """The wrong guard knows the kinds alone: another number is another rule set."""
    dataset = parse_dataset(town.description)
    known = {"kind": "share-of-zeros", "most": 0.5}
    shape = {"kind": "max-variables", "most": 1}
    parse_rules([known, shape], dataset)
    parse_rules([shape], dataset)
    assert unattacked() == set()
    (other,) = parse_rules([{**known, "most": 0.123}], dataset)
    assert unattacked() == {frozenset({other})}
