"""The measure `count`: people counted. What is shown is what the noise left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.answer.measures import MeasureKind, Shown
from discreet.model.measure import COUNT

if TYPE_CHECKING:
    from discreet.answer.question import Question
    from discreet.model.exact import ExactTable
    from discreet.protect.noisy_cells import NoisyCells


def _show(_question: Question, _exact: ExactTable | None, cells: NoisyCells) -> Shown:
    return Shown(cells.noisy)


MEASURE = MeasureKind(COUNT, _show, spends=True, cellwise=lambda _dataset: True)
