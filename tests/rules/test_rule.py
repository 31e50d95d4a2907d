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


SECTIONS = [
    ({"kind": "max-variables", "most": 2, "level": "area"}, {"most": 1}),
    ({"kind": "max-cells", "most": 900}, {"most": 1000}),
    ({"kind": "forbidden-combination", "variables": ("sex", "job")}, {"level": "area"}),
    ({"kind": "mandatory-variables", "variable": "job", "needs": ("sex",)}, {"needs": ("age",)}),
    ({"kind": "minimum-area-size", "variable": "area", "least": 50, "figures": (("N1", 9),)}, {"least": 60}),
    ({"kind": "free-groups", "per_account": 3}, {"allowed": False, "per_account": 2}),
    ({"kind": "nested-groups", "fewer_than": 2}, {"filters": True}),
    ({"kind": "share-of-zeros", "most": 0.5}, {"from_variables": 2}),
    ({"kind": "share-of-ones", "most": 0.5}, {"up_to": 3}),
    ({"kind": "marginal-dominance", "most": 0.5}, {"most": 0.6}),
    ({"kind": "attribute-disclosure"}, {"most": 0.2}),
    ({"kind": "mean-cell-size", "least": 2}, {"rescue": 9}),
    ({"kind": "blocked-areas", "most": 0.5}, {"level": "area"}),
]


def told_of(kind, **keys):
    """The sentence of a rule that nobody declares: no table is answered under it."""
    return kinds()[kind](**keys).sentence


@pytest.mark.parametrize(("section", "other"), SECTIONS, ids=lambda each: each.get("kind", ""))
def test_every_kind_is_told_in_a_sentence_that_follows_its_parameters(section, other):
    told, changed = (told_of(**each) for each in (section, section | other))
    assert told.endswith(".")
    assert "\n" not in told
    assert told != changed  # a fixed sentence for a kind would not tell what was declared


def test_every_kind_is_in_the_list():
    assert {section["kind"] for section, _ in SECTIONS} == set(kinds())
