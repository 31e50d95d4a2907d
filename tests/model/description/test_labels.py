"""Labels in several languages: `[labels.de]`, and `label_de` beside a category."""

import pytest

from discreet.errors import BadDescription
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.messages.text import Label
from discreet.model.request import TableRequest, canonical

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
def test_a_filter_takes_a_label_of_any_language_and_becomes_codes(text):
    request = TableRequest("town", ("age",), filters=(("sex", (text,)),))
    assert canonical(request, parse_dataset(PLAIN + GERMAN)).filters == (("sex", ("2",)),)


def test_the_own_label_of_one_category_wins_over_a_translation_of_another():
    swapped = PLAIN.replace("Männlich", "Female")
    request = TableRequest("town", ("age",), filters=(("sex", ("Female",)),))
    assert canonical(request, parse_dataset(swapped)).filters == (("sex", ("2",)),)


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
