"""The known word nearest to a mistyped one: the advice of many errors."""

from __future__ import annotations

import difflib
from bisect import bisect
from typing import TYPE_CHECKING

from discreet.model.told import first_of, told

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How many known words a mistyped one is compared with letter by letter, and how much of it: anybody may mistype.
MOST_COMPARED, LONGEST_COMPARED = 200, 200
#: How many known words are listed where none is near: all formats, families or commands.
MOST_LISTED = 24


def nearest(word: object, words: Iterable[str]) -> str:
    """A sentence that names the known word nearest to a mistyped one, whatever stands in its place.

    >>> nearest("sexx", ["age", "sex"])
    'Did you mean "sex"?'
    """
    known = list(words)
    folded = {known_word.casefold(): known_word for known_word in known}
    asked = str(word)[:LONGEST_COMPARED].casefold()
    close = difflib.get_close_matches(asked, _candidates(asked, folded), n=1, cutoff=0.5)
    if close:
        return told('Did you mean "{word}"?', word=folded[close[0]])
    if not known:
        return told("There are none.")
    return told("Known: {words}.", words=first_of(known, MOST_LISTED))


def _candidates(word: str, known: Iterable[str]) -> list[str]:
    """The known words that a mistyped one is compared with: of many, those that begin or end most alike."""
    words = list(known)
    if len(words) <= MOST_COMPARED:
        return words
    backwards = _neighbours(word[::-1], [each[::-1] for each in words])
    return [*_neighbours(word, words), *(each[::-1] for each in backwards)]


def _neighbours(word: str, words: list[str]) -> list[str]:
    """Half of what is compared: the words around a word in their order, which begin most alike."""
    ordered, reach = sorted(words), MOST_COMPARED // 4
    at = bisect(ordered, word)
    return ordered[max(0, at - reach) : at + reach]
