"""`[publish]` declares tables; a mistake in it names what is allowed."""

import pytest

from discreet.errors import BadDescription
from discreet.model.dataset_toml import parse_dataset
from discreet.model.publish_section import Publish, publish_of


def test_tables_of_variables_come_first_each_once():
    found = publish_of({"variables": ["a", "b", "c"], "up_to": 2, "tables": ["b*a", "a * b * c"]})
    assert list(found.margins()) == [
        ("a",),
        ("b",),
        ("c",),
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("a", "b", "c"),
    ]
    assert not found.is_empty
    assert Publish().is_empty
    assert publish_of({"variables": ["a"], "up_to": 9}).up_to == 9


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ([], "not a section"),
        ({"variable": ["a"]}, '"variable"'),
        ({"variables": "a"}, "variables of"),
        ({"variables": ["a", "a"]}, "twice"),
        ({"tables": ["a*a"]}, "twice"),
        ({"tables": ["*"]}, "none"),
        ({"up_to": 0}, "up_to"),
        ({"up_to": True}, "up_to"),
        ({"universe": 1}, "universe"),
        ({"levels": ["a"]}, "publish.levels"),
        ({"levels": {"a": "b"}}, "levels.a"),
    ],
)
def test_a_mistake_is_named(section, words):
    with pytest.raises(BadDescription, match=words):
        publish_of(section)


def test_an_unknown_variable_is_named_with_the_nearest(town):
    for line in ('tables = ["sx*age"]', 'variables = ["sx"]', "levels = { sx = ['region'] }"):
        with pytest.raises(BadDescription, match="sex"):
            parse_dataset(f"{town.description}\n[publish]\n{line}\n")
