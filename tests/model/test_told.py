"""Sentences that know how they were made: as text they are what they always were."""

import copy
import json
import pickle

from discreet.model.told import Label, joined, told, told_number


def test_a_sentence_is_its_english_text_and_keeps_template_and_values():
    sentence = told('"{name}" has {cells:,} cells.', name="{sex}", cells=3600)
    assert sentence == '"{sex}" has 3,600 cells.'
    assert (sentence.template, sentence.values["cells"]) == ('"{name}" has {cells:,} cells.', 3600)
    assert json.dumps([sentence]) == json.dumps([f"{sentence}"])
    assert told("{braces} stay") == "{braces} stay"


def test_values_are_listed_joined_and_written_small():
    names = ("Sex", "Age", "Place")
    assert told("by {names:lower}", names=names) == "by sex, age and place"
    assert told("{names:or}; {names:comma}; {names:semicolon}", names=names) == (
        "Sex, Age or Place; Sex, Age, Place; Sex; Age; Place"
    )
    assert (
        told("{names:each lower} {names:either}", names=names) == "sex and age and place Sex or Age or Place"
    )
    assert told("{none}|{one}", none=(), one=("Sex",)) == "|Sex"
    assert joined([told("A."), "", told("B {n}.", n=1)]) == "A. B 1."


def test_a_number_chooses_the_form_and_zero_is_many():
    assert [told_number("{count} cell", "{count} cells", n) for n in (0, 1, 3600)] == [
        "0 cells",
        "1 cell",
        "3,600 cells",
    ]


def test_copies_keep_what_was_told():
    sentence, label = (
        told("{n:,} of {label}", n=5, label=Label("Sex", {"de": "Geschlecht"})),
        Label("a", {"de": "b"}),
    )
    for copied in (copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence)), str(sentence)):
        assert (copied, copied.template) == (sentence, "{n:,} of {label}")
    assert copy.deepcopy(label).others == pickle.loads(pickle.dumps(label)).others == {"de": "b"}
    assert str(label).others == {"de": "b"}
