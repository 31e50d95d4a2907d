"""A section of a rule is read key by key; what cannot be used is refused with advice."""

import pytest

from discreet.errors import BadDescription
from discreet.rules.rule_set import parse_rules


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({}, "kind None"),
        ({"kind": "max-variable", "most": 2}, 'Did you mean "max-variables"'),
        ({"kind": "max-variables"}, "lacks `most`"),
        ({"kind": "max-variables", "most": -1}, "at least 0"),
        ({"kind": "max-variables", "most": True}, "whole number"),
        ({"kind": "max-variables", "most": 2, "levle": "area"}, 'Did you mean "level"'),
        ({"kind": "max-variables", "most": 2, "level": "sex"}, "Known: area, region"),
        ({"kind": "max-cells", "most": 0}, "at least 1"),
        ({"kind": "forbidden-combination", "variables": ["age"]}, "two or more"),
        ({"kind": "forbidden-combination", "variables": ["age", "age"]}, "once"),
        ({"kind": "forbidden-combination", "variables": "age"}, "List one or more"),
        ({"kind": "forbidden-combination", "variables": ["age", "jobb"]}, 'Did you mean "job"'),
        ({"kind": "mandatory-variables", "variable": "jobb", "needs": ["age"]}, 'Did you mean "job"'),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {}}, "Write figures"),
        (
            {"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {"N1": -1}},
            "whole number",
        ),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {"N9": 1}}, "Did you mean"),
        ({"kind": "free-groups", "allowed": "no"}, "true or false"),
        ({"kind": "nested-groups", "fewer_than": 1}, "at least 2"),
        ({"kind": "share-of-zeros", "most": 1.5}, "between 0 and 1"),
        ({"kind": "share-of-ones", "most": 0.5, "up_to": 0}, "at least 1"),
        ({"kind": "mean-cell-size", "least": 0}, "above 0"),
        ({"kind": "mean-cell-size", "least": 1, "rescue": float("inf")}, "above 0"),
        ({"kind": "mean-cell-size", "least": 1, "rescues": ["max-cells"]}, "share-of-zeros"),
        ({"kind": "blocked-areas", "most": "half"}, "between 0 and 1"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused_with_advice(section, says, rules):
    with pytest.raises(BadDescription, match=says) as raised:
        rules(section)
    assert raised.value.advice


def test_a_level_needs_a_geography(dataset):
    from dataclasses import replace

    flat = replace(dataset, hierarchies=())
    with pytest.raises(BadDescription, match="no geography"):
        parse_rules([{"kind": "max-cells", "most": 9, "level": "area"}], flat)
