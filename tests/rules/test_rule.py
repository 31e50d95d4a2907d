"""A rule is a value whose keys all have a reader."""

from dataclasses import FrozenInstanceError, fields

import pytest

from discreet.rules.registry import kinds


def test_rules_are_values(rules):
    (rule,) = rules({"kind": "max-variables", "most": 2})
    assert (rule,) == rules({"kind": "max-variables", "most": 2})
    with pytest.raises(FrozenInstanceError):
        rule.most = 3


def test_every_key_of_every_rule_has_a_reader():
    for kind in kinds().values():
        assert all("reader" in each.metadata for each in fields(kind)), kind
