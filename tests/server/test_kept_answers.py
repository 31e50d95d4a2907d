"""Answers are kept within a number of bytes; a file that is torn or foreign is not read."""

from __future__ import annotations

import random

import pytest

from discreet.server.kept_answers import AnswerFolder, KeptAnswer, KeptAnswers
from discreet.workspace.options import read_options

ANSWER = KeptAnswer(((b"content-type", b"text/csv"), (b"x", "ä".encode())), b"a,b\n1,2\n")


def test_no_stream_of_answers_takes_more_than_the_bound():
    """Garbage of all sizes; the bound holds after each, and what is used stays."""
    rng, kept = random.Random(3), KeptAnswers(200_000)
    kept.keep("used", ANSWER)
    for number in range(5_000):
        kept.keep(("garbage", number % 700), KeptAnswer((), b"x" * rng.randrange(30_000)))
        assert kept.size <= 200_000
        assert kept.find("used") is ANSWER
    assert kept.size == sum(answer.size for answer in kept._kept.values())
    assert kept.find(("garbage", 1)) is None or kept.find(("garbage", 1)).size <= kept.largest


def test_without_memory_nothing_is_kept():
    kept = KeptAnswers(0)
    kept.keep_document("tag", ANSWER)
    assert kept.find_document("tag") is None


def test_a_folder_gives_back_what_was_kept_also_to_another_process(tmp_path):
    options = read_options(tmp_path, cache_folder=str(tmp_path / "kept"))
    KeptAnswers.of(options).keep_document('"tag"', ANSWER)
    assert KeptAnswers.of(options).find_document('"tag"') == ANSWER
    assert KeptAnswers.of(options).find_document('"other"') is None
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["head", "body", "end", "name"])
def test_a_torn_changed_or_renamed_file_is_not_read(tmp_path, place):
    folder = AnswerFolder(tmp_path, 1_000_000)
    folder.keep('"tag"', ANSWER)
    (file,) = tmp_path.glob("*.answer")
    text = file.read_bytes()
    if place == "name":
        file.rename(folder._path('"another"'))
        assert folder.find('"another"') is None
        return
    torn = {
        "head": text.replace(b"text/csv", b"text/html"),
        "body": text.replace(b"1,2", b"1,3"),
        "end": text[:-1],
    }
    file.write_bytes(torn[place])
    assert folder.find('"tag"') is None


def test_a_folder_stays_within_its_bytes_and_keeps_what_was_read(tmp_path):
    folder = AnswerFolder(tmp_path, 100_000)
    for number in range(200):
        folder.keep(f'"{number}"', KeptAnswer((), bytes(2_000)))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 110_000
    assert folder.find('"199"') is not None
    assert folder.find('"0"') is None
