"""Whole tables that were made a moment ago: whoever asks a table in slices has it counted once.

A slice is a cut of a whole (`model/release.py`), and programs ask large tables in dozens of slices at a time. The whole is
kept under what decides it,

    key = (digest of the version, canonical request with its layout),

and is looked up only after `Door.check` allowed the question to whoever asks. It is made once, even if all slices
arrive together, and so it is charged once. A refusal that needed the counts is kept as well. What one account alone
was allowed to ask is not kept.

Large tables laid out a moment ago: whoever moves over one has its percentages, order and intervals worked out once.

A reader asks for dozens of blocks of one table. What is kept is public, a release as it is shown, under what decides it,

    key = (digest of the version, canonical request with its layout, view, how categories are named, language),

and is looked up only after `Door.check` allowed the question to whoever asks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock

from discreet.errors import Refused
from discreet.inference.table_view import apply_view
from discreet.model.release import Release
from discreet.model.view import View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.web.cache import SingleFlight
from discreet.web.i18n.dataset_labels import translate_release
from discreet.web.i18n.messages import current_language
from discreet.web.pages.table_grid import Layout
from discreet.web.pages.uncertainty import cell_limits, share_limits

#: How many cells are kept in all, at 17 to 51 bytes each; one larger table is kept alone.
MOST_CELLS = 500_000
#: Slices that wait for a whole that is being made, and for how long: a program asks for dozens one after the other.
MOST_WAITING, SECONDS_TO_WAIT = 8, 20.0

Key = tuple[str, str, str, str]


class ReleaseCache:
    """The last whole tables, as many as fit into a number of cells."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._kept: OrderedDict[Key, Release | Refused] = OrderedDict()
        self._turns = SingleFlight(MOST_WAITING, SECONDS_TO_WAIT)
        self._lock = Lock()

    def release(self, door: DatasetService, question: CheckedRequest) -> Release:
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

    def _make(self, key: Key, door: DatasetService, question: CheckedRequest) -> Release:
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


#: How many cells are kept in all, at some 80 bytes each; one larger table is kept alone.
MOST_GRID_CELLS = 300_000


class GridCache:
    """The last tables that were laid out, as many as fit into a number of cells."""

    def __init__(self, most_cells: int = MOST_GRID_CELLS) -> None:
        self._most_cells = most_cells
        self._wholes = ReleaseCache(most_cells)
        self._kept: OrderedDict[tuple[object, ...], Layout] = OrderedDict()
        self._lock = Lock()

    def layout(self, door: DatasetService, question: CheckedRequest, view: View, naming: str) -> Layout:
        """The answer to a question that was checked for whoever asks, as it is shown.

        Raises:
            Refused: A rule on counts does not release it.
            BadRequest: The table cannot be viewed so.
        """
        key = (
            question.digest,
            question.dataset.id,
            question.request.permalink,
            view,
            naming,
            current_language().code,
        )
        with self._lock:
            if key in self._kept and not question.metered:
                self._kept.move_to_end(key)
                return self._kept[key]
        release = translate_release(apply_view(self._wholes.release(door, question), view))
        made = Layout(release, cell_limits(release), naming, share_limits(release))
        if not question.metered:
            self._keep(key, made)
        return made

    @property
    def cells(self) -> int:
        """How many cells are kept now."""
        return sum(layout.release.cells for layout in self._kept.values())

    def _keep(self, key: tuple[object, ...], made: Layout) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > 1 and (self.cells > self._most_cells or len(self._kept) > 1000):
                self._kept.popitem(last=False)
