"""How a value shows itself: its kind and what it is in one short line, whatever is inside.

A table of a million cells, a list of 250,000 areas and a noise table are read in a notebook by their line, and looked into
by their attributes. Labels are data: a line holds no line break and no control character.

Comes from: nothing. Goes to: `__repr__` of every value that readers meet.
"""

from __future__ import annotations

#: Characters of a line, the kind and its brackets not counted.
LONGEST = 150


def one_line(value: object, *words: object) -> str:
    r"""The line of a value.

    >>> one_line(3, "apples\n", "from", "Kent")
    '<int apples from Kent>'
    """
    text = " ".join(" ".join(map(str, words)).split())
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
    cut = shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."
    return f"<{type(value).__name__} {cut}>"
