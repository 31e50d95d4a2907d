"""dataset.toml is read whole, and a wrong one is refused with what to do.

Differences of descriptions: by names and not by places, order included.
"""

import tomllib

import pytest

from discreet.errors import BadDescription
from discreet.model.description.dataset_toml import description_changes, parse_dataset, parse_toml


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "town"', 'id = "../town"', "not usable"),
        ('name = "sex"', 'name = "count"', 'cannot be called "count"'),
        ('name = "sex"', 'name = "se x"', "not usable"),
        ('name = "sex"', 'name = "sex"\ntopic = 3', 'The topic of the variable "sex" is not text'),
        ('name = "sex"', 'name = "AGE"', "differ in capitals"),
        ('code = "2", label = "Female"', 'code = "1", label = "Female"', "twice"),
        ('code = "2", label = "Female"', 'code = "_T", label = "Female"', "reserved for totals"),
        ('code = "2", label = "Female"', 'code = " 2", label = "Female"', "blanks"),
        ('code = "2", label = "Female"', "code = 2", "without a code in quotes"),
        ('not_stated = "9"', 'not_stated = "8"', "not among its categories"),
        ('parent = "N" }, {', 'parent = "X" }, {', "does not have"),
        (', parent = "N" }, {', " }, {", "'N1' of \"area\" has no parent"),
        ('levels = ["region", "area"]', 'levels = ["region", "aera"]', "is no variable"),
        ('levels = ["region", "area"]', 'levels = ["region"]', "two or more"),
        ('where = { age = ["child"]', 'where = { agee = ["child"]', "names the variable"),
        ('where = { age = ["child"]', 'where = { age = ["chold"]', "names ['chold']"),
        ('unit = "persons"', "unit = 3", "in quotes"),
        ('unit = "persons"', 'unitt = "persons"', 'unknown key "unitt"'),
        ('id_column = "person"', "", "lacks `id_column`"),
        ('keys = "hashed"', 'keys = "hash"', 'Did you mean "hashed"?'),
        ('keys = "hashed"', 'keys = "abs"\nmodulus = 512', "modulus = 256"),
        ('family = "maxent"', 'family = "maxent"\nfile = "noise.json"', "or both"),
        ('unit = "persons"', "key_decimals = 10", "between 0 and 9"),
        ("max_variables = 3", "max_variables = 0", "at least 1"),
        ("max_variables = 3", 'max_variables = "3"', "whole number"),
        ("max_variables = 3", 'modulus = "2^65"', "The key modulus"),
        ('family = "maxent"', "", "no family"),
        ("[[variable]]", "[[variable", "not valid TOML"),
    ],
)
def test_a_wrong_description_is_refused_with_what_to_do(town, old, new, message):
    assert old in town.description
    with pytest.raises(BadDescription) as raised:
        parse_dataset(town.description.replace(old, new, 1))
    assert message in str(raised.value)


def test_a_variable_has_a_topic_and_a_definition(town):
    told = town.description.replace(
        'name = "sex"', 'name = "sex"\ntopic = "People"\ndescription = "As stated."'
    )
    variables = parse_dataset(told).variables
    assert [(v.topic, v.description) for v in variables if v.name == "sex"] == [("People", "As stated.")]
    assert {v.topic for v in variables if v.name != "sex"} == {""}


def places(before, after):
    return {change.place for change in description_changes(before, after)}


ONE = {"variable": [{"name": "a", "categories": [{"code": "1"}, {"code": "2"}]}, {"name": "b"}], "unit": "x"}


def test_an_entry_that_moves_is_an_order_and_no_other_change():
    two = {**ONE, "variable": ONE["variable"][::-1]}
    assert places(ONE, two) == {"variable.order"}
    assert places(ONE, ONE) == set()


def test_entries_come_go_and_change_by_name():
    two = {"variable": [{"name": "c"}, {"name": "a", "categories": [{"code": "1", "label": "x"}]}], "unit": 5}
    categories = {"variable.a.categories.2", "variable.a.categories.1.label"}
    assert places(ONE, two) == {*categories, "variable.b", "variable.c", "unit"}


def test_true_is_not_one():
    assert places({"a": 1}, {"a": True}) == {"a"}


CATEGORIES = """categories = [
  { code = "R1", label = "Süd, \'a\'", parent = "N" },
  { code = "", label = "" },
  { code = "[x]" },
]
"""


@pytest.mark.parametrize(
    "text",
    [
        CATEGORIES,
        CATEGORIES.replace("},\n]", "}\n]"),
        f"a = 1\n[[variable]]\nname = 1.5\n{CATEGORIES}[[variable]]\n{CATEGORIES}",
        f'a = """\n{CATEGORIES}"""\n',
        f"a = '''\n{CATEGORIES}'''\n",
        CATEGORIES.replace("R1", r"\u0041"),
        CATEGORIES.replace("R1", "R\t1"),
    ],
)
def test_long_lists_of_categories_mean_what_toml_says(text):
    """Wrong: a shortcut that reads such a list inside a text, or an escape as it is written."""
    assert parse_toml(text) == tomllib.loads(text)


def test_an_error_names_the_line_of_the_file_after_a_long_list():
    with pytest.raises(BadDescription, match="line 6"):
        parse_toml(f"{CATEGORIES}wrong\n")
