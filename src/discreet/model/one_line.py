"""How a value shows itself: its kind and what it is in one short line, whatever is inside.

A table of a million cells, a list of 250,000 areas and a noise table are read in a notebook by their line, and looked into
by their attributes. Labels are data: a line holds no line break and no control character.
"""

from __future__ import annotations

import re

#: Controls but line ends and tabs, lone surrogates, and what turns the direction of text around.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
#: Characters of a line, the kind and its brackets not counted.
LONGEST = 150


def printable(text: str) -> str:
    r"""Text that a terminal shows and does not obey: controls and turns of direction become U+FFFD.

    >>> printable("a\x1b[31mb\n")
    'a\ufffd[31mb\n'
    """
    return _CONTROL.sub("\ufffd", text)


def one_line(value: object, *words: object) -> str:
    r"""The line of a value.

    >>> one_line(3, "apples\n", "from", "Kent")
    '<int apples from Kent>'
    """
    shown = printable(" ".join(" ".join(map(str, words)).split()))
    cut = shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."
    return f"<{type(value).__name__} {cut}>"
