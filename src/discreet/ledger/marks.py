"""High-water marks: how far a ledger had come when something was answered from it.

    mark = (position, tag): the last entry of the chain that was written before an answer left

A ledger may be ahead of a mark, and must extend it: an older copy lacks the entry, and one that was restored and charged
again has another entry in its place. The marks stand elsewhere than the ledger (`workspace/ledger_marks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry of a chain: its position, counted from 1, and its tag."""

    position: int
    tag: str


#: Before the first entry.
START = Mark(0, "")


class Marks(Protocol):
    """Where marks are kept: those of all versions, and of the one that is answered."""

    def known(self) -> Mapping[str, Mark]:
        """The marks of all versions, each with the name of whose it is."""

    def own(self) -> Mark | None:
        """The mark of the version that is answered."""

    def write(self, mark: Mark) -> None:
        """Raise the own mark, on disk when this returns; it never goes down."""


class NoMarks:
    """Of a ledger that nothing is answered from."""

    def known(self) -> Mapping[str, Mark]:
        """None."""
        return {}

    def own(self) -> Mark | None:
        """None."""
        return None

    def write(self, mark: Mark) -> None:
        """Nothing is kept."""
