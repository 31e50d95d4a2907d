"""dataset.toml is read whole, and a wrong one is refused with what to do."""

import re
import tomllib

import pytest

from discreet.errors import BadDescription
from discreet.model import limits, revision
from discreet.model.description.dataset_toml import description_changes, parse_dataset, parse_toml
from discreet.model.messages.text import Label
from discreet.model.request import TableRequest, canonical
from discreet.model.revision import add_former_defaults, newest_defaults


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
        ('unit = "persons"', "key_decimals = 10", "between 0 and 9"),
        ("max_variables = 3", 'max_variables = "3"', "whole number"),
        (
            'categories = [{ code = "1", label = "Male" }, { code = "2", label = "Female" }]',
            "categories = []",
            "no categories",
        ),
        ("[[variable]]", "[[variable", "not valid TOML"),
        ('variable = "age"', 'variable = "aeg"', "is of the variable"),
        ('members = ["adult", "old"]', 'members = ["adult", "odl"]', "does not have"),
        ('members = ["adult", "old"]', "members = []", "empty"),
        ('members = ["adult", "old"]', 'members = ["old", "old"]', "shares a member"),
        ('name = "grown"', 'name = "sex"', "something else"),
        ('code = "grown"', 'code = "_T"', "code of its own"),
        (
            '[{ code = "grown", label = "Grown up", members = ["adult", "old"] }]',
            '["grown"]',
            "without code and members",
        ),
        ("[protection]\n", '[protection]\nfit_to = ["sexx"]\n', 'names the variable "sexx"'),
        ("[protection]\n", '[protection]\nfit_to = "sex"\n', "Give a list"),
    ],
)
def test_a_wrong_description_is_refused_with_what_to_do(town, old, new, message):
    assert old in town.description
    with pytest.raises(BadDescription, match=re.escape(message)):
        parse_dataset(town.description.replace(old, new, 1))


def places(before, after):
    return {change.place for change in description_changes(before, after)}


ONE = {"variable": [{"name": "a", "categories": [{"code": "1"}, {"code": "2"}]}, {"name": "b"}], "unit": "x"}


def test_entries_come_go_change_and_move_by_name_and_true_is_not_one():
    assert places(ONE, {**ONE, "variable": ONE["variable"][::-1]}) == {"variable.order"}
    assert places(ONE, ONE) == set()
    assert places({"a": 1}, {"a": True}) == {"a"}
    two = {"variable": [{"name": "c"}, {"name": "a", "categories": [{"code": "1", "label": "x"}]}], "unit": 5}
    categories = {"variable.a.categories.2", "variable.a.categories.1.label"}
    assert places(ONE, two) == {*categories, "variable.b", "variable.c", "unit"}


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


def test_a_new_version_gets_the_newest_that_is_known(monkeypatch):
    monkeypatch.setattr(revision, "KNOWN", frozenset({2, 4}))
    assert revision.newest_arithmetic() == 4
    assert [revision.knows_arithmetic(n) for n in (1, 2, 3, 4)] == [False, True, False, True]


def test_only_what_changed_after_the_revision_is_filled_in_and_what_is_stated_wins(monkeypatch):
    """The default of `a` was 1 before revision 2, and that of `b` was 2 before revision 3."""
    changes = {n: lambda document, n=n: document.setdefault("ab"[n - 2], n - 1) for n in (2, 3)}
    monkeypatch.setattr(revision, "FORMER", changes)
    assert newest_defaults() == 3
    assert [add_former_defaults({}, n) for n in (1, 2, 3)] == [{"a": 1, "b": 2}, {"b": 2}, {}]
    document = {"a": 7}
    assert add_former_defaults(document, 1) == {"a": 7, "b": 2}
    assert document == {"a": 7}


def test_before_revision_2_tables_had_noise_of_their_own():
    """A lineage of revision 1 keeps `own` and shares that add up, whatever is the default now; what it states wins."""
    text = {"protection": {"method": "dp", "universe": {"variables": ["sex"]}, "budget": {"name": "b"}}}
    filled = add_former_defaults(text, 1)["protection"]
    assert filled["universe"]["margins"] == "own"
    assert filled["budget"]["calibrate"] is False
    assert add_former_defaults(text, 2) == text
    text["protection"]["universe"]["margins"] = "sums"
    assert add_former_defaults(text, 1)["protection"]["universe"]["margins"] == "sums"
    assert add_former_defaults({"protection": {"keys": "hashed"}}, 1) == {"protection": {"keys": "hashed"}}


PLAIN = """
id = "town"
label = "Town"
unit = "persons"
id_column = "id"
[[variable]]
name = "sex"
label = "Sex"
categories = [{ code = "1", label = "Male", label_de = "Männlich" }, { code = "2", label = "Female" }, "3"]
[[variable]]
name = "age"
categories = ["young", "old"]
[[code_list]]
name = "all"
variable = "age"
categories = [{ code = "A", label = "All", members = ["young", "old"] }]
"""
GERMAN = """
[labels.de]
label = "Stadt"
unit = "Personen"
[labels.de.variable.sex]
label = "Geschlecht"
categories = { 2 = "Weiblich", 3 = "Divers" }
[labels.de.variable.age]
label = "Alter"
[labels.de.code_list.all]
label = "Alle"
categories = { A = "Alle" }
[labels.fr]
label = "Ville"
"""


def _others(label):
    return dict(label.others) if isinstance(label, Label) else {}


def test_labels_know_their_translations_and_stay_themselves():
    town = parse_dataset(PLAIN + GERMAN)
    assert (town.label, _others(town.label)) == ("Town", {"de": "Stadt", "fr": "Ville"})
    assert _others(town.unit) == {"de": "Personen"}
    sex, age = town.variables
    assert [(c.label, _others(c.label)) for c in sex.categories] == [
        ("Male", {"de": "Männlich"}),
        ("Female", {"de": "Weiblich"}),
        ("3", {"de": "Divers"}),
    ]
    assert (age.label, _others(age.label)) == ("age", {"de": "Alter"})
    assert _others(town.code_lists[0].label) == _others(town.code_lists[0].groups[0][1]) == {"de": "Alle"}
    assert [c.code for v in town.variables for c in v.categories] == [
        c.code for v in parse_dataset(PLAIN).variables for c in v.categories
    ]


@pytest.mark.parametrize("text", ["Female", "weiblich", "2"])
@pytest.mark.parametrize("male", ["Männlich", "Female"])
def test_a_filter_takes_a_label_of_any_language_and_a_category_s_own_wins(text, male):
    request = TableRequest("town", ("age",), filters=(("sex", (text,)),))
    dataset = parse_dataset(PLAIN.replace("Männlich", male) + GERMAN)
    assert canonical(request, dataset).filters == (("sex", ("2",)),)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('[labels.de.variable.sexx]\nlabel = "x"', "not there"),
        ('[labels.de.variable.sex]\ncategories = { 9 = "x" }', "'9'"),
        ('[labels.de.variable.sex]\nlable = "x"', "lable"),
        ('[labels.de]\npopulation = "x"', "population"),
        ("[labels.de]\nlabel = 7", "7"),
        ('[labels.Deutsch]\nlabel = "x"', "Deutsch"),
        ('[labels]\nde = "x"', "labels.de"),
        ('[labels.de]\ntopics = { Work = "Arbeit" }', "Work"),
    ],
)
def test_a_translation_of_what_is_not_there_is_refused(wrong, message):
    with pytest.raises(BadDescription, match=message):
        parse_dataset(f"{PLAIN}\n{wrong}")


def test_a_label_of_megabytes_is_refused_with_its_line(monkeypatch):
    monkeypatch.setattr(limits, "LONGEST_LABEL", 80)
    start = 'id = "d"\nlabel = "D"\nid_column = "id"\n[[variable]]\nname = "v"\n'
    codes = ", ".join(f'"{n}"' for n in range(50))
    assert len(parse_dataset(f"{start}categories = [{codes}]\n").variable("v")) == 50
    with pytest.raises(
        BadDescription, match=r"Line 6 of dataset\.toml has a text of more than 80 characters"
    ):
        parse_dataset(f'{start}categories = ["a", {{ code = "b", label = "{"z" * 81}" }}]\n')


@pytest.mark.parametrize(
    "line",
    [f"weight_decimals = {'9' * 5000}", f"[survey]\nsample_size = 1\npopulation_size = 1e{'9' * 5000}"],
)
def test_a_number_of_thousands_of_digits_is_refused(line):
    """It was reported as an error of the program."""
    with pytest.raises(BadDescription, match="a number with thousands of digits"):
        parse_dataset(f'id = "d"\nlabel = "D"\nid_column = "id"\n{line}\n')
