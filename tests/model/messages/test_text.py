"""Sentences keep template and values; a mistyped word gets the nearest known one; a value's repr is one short line."""

import copy
import dataclasses
import difflib
import json
import pickle
from collections.abc import Mapping
from difflib import get_close_matches

import pytest

import discreet
from discreet.inference import picked, posterior
from discreet.inference.channel import flat
from discreet.model.messages.text import (
    MOST_COMPARED,
    MOST_LISTED,
    Label,
    join_sentences,
    message,
    nearest,
    plural_message,
)
from discreet.model.variable import Category, Variable
from discreet.noise import laplace
from discreet.privacy import audit, curve


def test_a_sentence_is_its_english_text_and_keeps_template_and_values():
    sentence = message('"{name}" has {cells:,} cells.', name="{sex}", cells=3600)
    assert sentence == '"{sex}" has 3,600 cells.'
    assert (sentence.template, sentence.values["cells"]) == ('"{name}" has {cells:,} cells.', 3600)
    assert json.dumps([sentence]) == json.dumps([f"{sentence}"])
    assert message("{braces} stay") == "{braces} stay"


def test_values_are_listed_joined_and_written_small():
    names = ("Sex", "Age", "Place")
    assert message("by {names:lower}", names=names) == "by sex, age and place"
    assert message("{names:or}; {names:comma}; {names:semicolon}", names=names) == (
        "Sex, Age or Place; Sex, Age, Place; Sex; Age; Place"
    )
    each = message("{names:each lower} {names:either}", names=names)
    assert each == "sex and age and place Sex or Age or Place"
    assert message("{none}|{one}", none=(), one=("Sex",)) == "|Sex"
    assert join_sentences([message("A."), "", message("B {n}.", n=1)]) == "A. B 1."


def test_a_number_chooses_the_form_and_zero_is_many():
    told = [plural_message("{count} cell", "{count} cells", n) for n in (0, 1, 3600)]
    assert told == ["0 cells", "1 cell", "3,600 cells"]


def test_copies_keep_what_was_told():
    sentence = message("{n:,} of {label}", n=5, label=Label("Sex", {"de": "Geschlecht"}))
    label = Label("a", {"de": "b"})
    for copied in (copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence)), str(sentence)):
        assert (copied, copied.template) == (sentence, "{n:,} of {label}")
    assert copy.deepcopy(label).others == pickle.loads(pickle.dumps(label)).others == {"de": "b"}
    assert str(label).others == {"de": "b"}


def test_the_nearest_word_is_found_whatever_its_case_and_a_far_one_is_not():
    assert nearest("SEXX", ["age", "Sex"]) == 'Did you mean "Sex"?'
    assert "Did you mean" not in nearest("zzzz", ["age", "sex"])
    assert nearest("x", []) == "There are none."


@pytest.mark.parametrize(
    ("asked", "meant"), [("E00012345x", "E00012345"), ("X00012345", "E00012345"), ("e00054321", "E00054321")]
)
def test_of_many_words_a_bounded_number_is_compared(asked, meant, monkeypatch):
    """Wrong alternative: to compare all of 100,000 codes letter by letter, which anybody could cause."""
    compared = []

    def counting(word, words, **options):
        compared.append(len(words))
        return get_close_matches(word, words, **options)

    monkeypatch.setattr(difflib, "get_close_matches", counting)
    words = [f"E{number:08}" for number in range(100_000)]
    assert nearest(asked, words) == f'Did you mean "{meant}"?'
    assert nearest("Z" * 100_000, words).startswith("Known: E00000000")
    assert nearest("Z" * 100_000, words).count(",") == MOST_LISTED - 1
    assert max(compared) <= MOST_COMPARED
    assert nearest("sexx", ["age", "sex"]) == 'Did you mean "sex"?'


#: The longest line: the kind, the brackets and what is told.
LIMIT = 200


def values(thing, depth=8):
    """A value of ours and all that its fields hold."""
    found, waiting, seen = [], [(thing, depth)], set()
    while waiting:
        each, left = waiting.pop()
        if id(each) in seen or not left:
            continue
        seen.add(id(each))
        inside = (
            each.values() if isinstance(each, Mapping) else each if isinstance(each, tuple | list) else ()
        )
        if dataclasses.is_dataclass(each) and type(each).__module__.startswith("discreet"):
            found.append(each)
            inside = [getattr(each, field.name) for field in dataclasses.fields(each)]
        waiting += [(value, left - 1) for value in inside]
    return found


@pytest.fixture(scope="module")
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


def test_every_value_of_a_table_and_a_catalogue_is_one_short_line(catalogue):
    table = catalogue.table("town", rows=["age"], columns=["sex"], filters={"job": ["0", "1"]})
    noise = laplace(epsilon=1.0, m=7)
    roots = [catalogue["town"], table.release, table.test_independence(), table.interval("adult", "1")]
    roots += [noise, audit(noise, epsilon=1.0), curve(noise, [0.5])[0], posterior(5, noise, flat())]
    roots += [picked(table.release, ("adult", "1"), ("old", "1"))]
    found = [each for root in roots for each in values(root)] + [catalogue, table, *roots]
    names = {type(each).__name__ for each in found}
    assert {"Release", "Dataset", "Variable", "Dimension", "NoiseTable"} <= names
    for each in found:
        assert len(repr(each)) <= LIMIT, type(each)
        assert "\n" not in repr(each), type(each)


def test_a_line_stays_short_whatever_the_labels_are():
    """Wrong: the line of a dataclass, which holds every category."""
    areas = tuple(Category(str(n), f"Area {n}") for n in range(5000))
    hostile = Variable("area", "x" * 1000 + "\n\x1b[31m", areas)
    assert len(repr(hostile)) <= LIMIT
    assert repr(hostile).isprintable()
    assert len(str(dataclasses.asdict(hostile))) > 100_000
