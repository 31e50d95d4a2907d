"""A file has the cells of one question: it gives them to every layout, and to no other question."""

import zipfile
from dataclasses import fields, replace
from functools import partial

import pytest

from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.publish.keyless import keyless_protector, laws_of
from discreet.publish.publishing import same_release
from discreet.publish.release_file import KNOWN, ONE_READER, read_release, write_release


def written(side, request):
    door = side.live.door("town")
    question = door.check(request)
    return door, question, door.answer(question)


def test_a_release_comes_back_and_another_number_in_it_is_another_release(ruled):
    door, question, release = written(ruled, TableRequest("town", ("age",), ("job",)))
    content = write_release(release, question.asked)
    laws = partial(laws_of, keyless_protector(door.dataset, door.noise_text()))
    again = read_release(content).laid_out(question.asked, door.dataset, door.digest, laws)
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
    assert {each.name for each in fields(Release)} == KNOWN | ONE_READER


def test_a_file_of_something_else_is_none():
    with pytest.raises(zipfile.BadZipFile):
        read_release(b"PK nothing")
