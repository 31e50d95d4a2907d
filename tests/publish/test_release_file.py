"""A file has the cells of one question: it gives them to every layout, and to no other question.

Public values keep their kind and their making as JSON; what is of another kind does not leave.
"""

import zipfile
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from discreet.model.messages.text import Count, Label, Message, message, plural_message
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.publish.published_registry import distributions_of, public_protector
from discreet.publish.publisher import same_release
from discreet.publish.release_file import (
    READER_FIELDS,
    STORED_FIELDS,
    pack,
    read_release,
    unpack,
    write_release,
)


def written(side, request):
    service = side.live.open("town")
    question = service.check(request)
    return service, question, service.answer(question)


def test_a_release_comes_back_and_another_number_in_it_is_another_release(ruled):
    service, question, release = written(ruled, TableRequest("town", ("age",), ("job",)))
    content = write_release(release, question.asked)
    distributions = partial(distributions_of, public_protector(service.dataset, service.noise_text()))
    again = read_release(content).for_request(question.asked, service.dataset, service.digest, distributions)
    assert same_release(release, again)
    assert content == write_release(release, question.asked)  # the same release is the same file
    for name in ("values", "noisy"):
        wrong = getattr(release, name).copy()
        wrong[0, 0] += 1
        assert not same_release(replace(release, **{name: wrong}), again)
    assert not same_release(replace(release, notes=("Another note.",)), again)


def test_what_belongs_to_one_reader_is_not_written(ruled):
    _, question, release = written(ruled, TableRequest("town", ("age",)))
    for own in ({"charged": {"epsilon": 1}}, {"heading": "Mine"}):
        with pytest.raises(ValueError, match="no whole release"):
            write_release(replace(release, **own), question.asked)


def test_every_field_of_a_release_was_thought_about():
    """A new field would be lost, or leave unseen: `write_release` refuses until it is named."""
    assert {each.name for each in fields(Release)} == STORED_FIELDS | READER_FIELDS


def test_a_file_of_something_else_is_none():
    with pytest.raises(zipfile.BadZipFile):
        read_release(b"PK nothing")


def test_values_and_sentences_come_back_as_they_were():
    sentence = message("{names:lower} have {cells:,} cells", names=("Sex", message("Age")), cells=Count(3600))
    value = {
        "a": [1, 2.5, float("inf"), True, None, "text", Fraction(1, 3), Decimal("0.10")],
        "b": (
            sentence,
            Label("Sex", {"de": "Geschlecht"}),
            plural_message("{count} cell", "{count} cells", 3),
        ),
    }
    again = unpack(pack(value))
    assert again == value
    assert [type(each) for each in again["a"]] == [type(each) for each in value["a"]]
    first, label, number = again["b"]
    assert (first.template, first.values) == (sentence.template, sentence.values)
    assert isinstance(first.values["names"][1], Message)
    assert label.others == {"de": "Geschlecht"}
    assert (number.plural, number.amount) == ("{count} cells", 3)


def test_what_is_of_another_kind_does_not_leave():
    for value in ({"counts": np.zeros(3)}, {1: "a"}, object(), {"$": "text"}, b"bytes"):
        with pytest.raises(TypeError):
            pack(value)
