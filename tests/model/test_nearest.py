"""A mistyped word gets the nearest known one, at a bounded price."""

import difflib
from difflib import get_close_matches

import pytest

from discreet.model.nearest import MOST_COMPARED, MOST_LISTED, nearest


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
