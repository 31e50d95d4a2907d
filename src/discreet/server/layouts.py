"""Large tables laid out a moment ago: whoever moves over one has its percentages, order and intervals worked out once.

A reader asks for dozens of blocks of one table. What is kept is public, a release as it is shown, under what decides it,

    key = (digest of the version, canonical request with its layout, view, how categories are named, language),

and is looked up only after `Door.check` allowed the question to whoever asks.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from discreet.inference.viewed import viewed
from discreet.server.certainty import cell_limits, share_limits
from discreet.server.grid import Layout
from discreet.server.spoken import spoken_release
from discreet.server.wholes import Wholes
from discreet.server.words import language

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.question import Question
    from discreet.model.view import View

#: How many cells are kept in all, at some 80 bytes each; one larger table is kept alone.
MOST_CELLS = 300_000


class Layouts:
    """The last tables that were laid out, as many as fit into a number of cells."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._wholes = Wholes(most_cells)
        self._kept: OrderedDict[tuple[object, ...], Layout] = OrderedDict()
        self._lock = Lock()

    def layout(self, door: Door, question: Question, view: View, naming: str) -> Layout:
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
            language().code,
        )
        with self._lock:
            if key in self._kept and not question.metered:
                self._kept.move_to_end(key)
                return self._kept[key]
        release = spoken_release(viewed(self._wholes.release(door, question), view))
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
