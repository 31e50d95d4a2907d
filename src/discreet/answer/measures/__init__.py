"""Measures: what the numbers of a table say. One module, one measure; nothing else lists them.

A module holds `MEASURE`, a `MeasureKind`: its public facts (`model/measure.py`), which request is counted for it, and
how the shown values follow from exact and noisy cells. Only here and in `pipeline` do the two meet.

Comes from: a request's `measure`. Goes to: `question` (what is counted), `pipeline` (what is shown).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.answer.question import Question
    from discreet.model.dataset import Dataset
    from discreet.model.exact import ExactTable
    from discreet.model.measure import Measure
    from discreet.model.request import TableRequest
    from discreet.protect.noisy_cells import NoisyCells


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What a table shows of its cells, before totals are made to add up.

    Args:
        values: The numbers.
        errors: Relative standard errors in tenths of a percent; None without.
        noise_shares: The noise's share of each error's variance in tenths of a percent; None without.
        unreliable: Cells to be used with caution; None if there are none.
        promise: What is promised beyond the protection's own sentences.
    """

    values: NDArray[Any]
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None
    unreliable: NDArray[np.bool_] | None = None
    promise: tuple[str, ...] = ()


def as_asked(request: TableRequest, _dataset: Dataset) -> TableRequest:
    """The table that is asked for is the table that is counted."""
    return request


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """How a measure is made.

    Args:
        measure: What is public of it.
        show: From a question, its exact and its noisy cells to what is shown.
        counted: The request that is counted; it must be allowed with all its variables.
        weights: Whether sums of weights are needed.
    """

    measure: Measure
    show: Callable[[Question, ExactTable, NoisyCells], Shown]
    counted: Callable[[TableRequest, Dataset], TableRequest] = as_asked
    weights: bool = False


@cache
def _kinds() -> dict[str, MeasureKind]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return {module.MEASURE.measure.name: module.MEASURE for module in modules}


def measures() -> list[Measure]:
    """Every measure, by name."""
    return [kind.measure for _, kind in sorted(_kinds().items())]


def measure_kind(name: str) -> MeasureKind:
    """The measure of a name.

    Raises:
        BadRequest: With the nearest known name.
    """
    if name not in _kinds():
        raise BadRequest(f'There is no measure "{name}".', nearest(name, _kinds()))
    return _kinds()[name]


def register(kind: MeasureKind) -> None:
    """Add a measure; a taken name is refused."""
    if kind.measure.name in _kinds():
        raise ValueError(f'the measure "{kind.measure.name}" is registered already')
    _kinds()[kind.measure.name] = kind


def measures_of(dataset: Dataset) -> list[Measure]:
    """The measures that a dataset has."""
    return [measure for measure in measures() if measure.refuse(dataset) is None]
