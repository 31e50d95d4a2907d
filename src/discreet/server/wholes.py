"""Whole tables that were made a moment ago: whoever asks a table in slices has it counted once.

A slice is a cut of a whole (`model/cut.py`), and programs ask large tables in dozens of slices at a time. The whole is
kept under what decides it,

    key = (digest of the version, canonical request with its layout),

and is looked up only after `Door.check` allowed the question to whoever asks. It is made once, even if all slices
arrive together, and so it is charged once. A refusal that needed the counts is kept as well. What one account alone
was allowed to ask is not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import Refused
from discreet.server.turns import Turns

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.question import Question
    from discreet.model.release import Release

#: How many cells are kept in all, at 17 to 51 bytes each; one larger table is kept alone.
MOST_CELLS = 500_000
#: Slices that wait for a whole that is being made, and for how long: a program asks for dozens one after the other.
MOST_WAITING, SECONDS_TO_WAIT = 8, 20.0

Key = tuple[str, str, str, str]


class Wholes:
    """The last whole tables, as many as fit into a number of cells."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._kept: OrderedDict[Key, Release | Refused] = OrderedDict()
        self._turns = Turns(MOST_WAITING, SECONDS_TO_WAIT)
        self._lock = Lock()

    def release(self, door: Door, question: Question) -> Release:
        """The answer to a question that was checked for whoever asks.

        Raises:
            Refused: A rule on counts does not release it.
        """
        if question.metered:
            return door.answer(question)
        key = (question.digest, question.dataset.wording, question.dataset.id, question.request.permalink)
        with self._turns.alone(key):
            found = self._find(key)
            if isinstance(found, Refused):
                raise _fresh(found)
            return self._make(key, door, question) if found is None else found

    @property
    def cells(self) -> int:
        """How many cells are kept now."""
        return sum(0 if isinstance(kept, Refused) else kept.cells for kept in self._kept.values())

    def _find(self, key: Key) -> Release | Refused | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _make(self, key: Key, door: Door, question: Question) -> Release:
        try:
            made = door.answer(question)
        except Refused as refusal:
            if refusal.cacheable:
                self._keep(key, _fresh(refusal))
            raise
        self._keep(key, replace(made, charged=None))  # the charge is told to whoever paid it
        return made

    def _keep(self, key: Key, outcome: Release | Refused) -> None:
        """Keep an outcome, and forget the oldest ones until all fit; never more than a thousand."""
        with self._lock:
            self._kept[key] = outcome
            while len(self._kept) > 1 and (self.cells > self._most_cells or len(self._kept) > 1000):
                self._kept.popitem(last=False)


def _fresh(refusal: Refused) -> Refused:
    """The same refusal without its traceback, whose frames hold what was counted."""
    return type(refusal)(refusal.message, refusal.advice, code=refusal.code)
