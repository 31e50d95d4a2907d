"""Measures: what the numbers of a table say. One module, one measure; nothing else lists them.

A module holds `MEASURE`, a `MeasureKind`: its public facts (`model/measure.py`), which request is counted for it, and
how the shown values follow from exact and noisy cells. Only here and in `pipeline` do the two meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.measure import Measure
from discreet.model.plugins import Registry
from discreet.model.request import TableRequest
from discreet.protect.protector import NoisyCells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.release.checked_request import CheckedRequest


@dataclass(frozen=True, slots=True, eq=False)
class MeasureValues:
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


def no_sums(_dataset: Dataset) -> tuple[str, ...]:
    """Counts and weights are enough."""
    return ()


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """How a measure is made.

    Args:
        measure: What is public of it.
        show: From a question, its exact and its noisy cells to what is shown; nothing exact where nothing was counted.
        counted: The request that is counted; it must be allowed with all its variables.
        weights: Whether sums of weights are needed.
        sums: The further stored columns that must be added up in the same pass.
        in_place: Whether `show` does without exact counts: noisy ones take their place in memory.
        cellwise: Whether what is shown of a cell of a dataset follows from that cell alone, so that cells can be listed.
    """

    measure: Measure
    show: Callable[[CheckedRequest, ExactTable | None, NoisyCells], MeasureValues]
    counted: Callable[[TableRequest, Dataset], TableRequest] = as_asked
    weights: bool = False
    sums: Callable[[Dataset], tuple[str, ...]] = no_sums
    in_place: bool = False
    cellwise: Callable[[Dataset], bool] = lambda _dataset: False

    @property
    def name(self) -> str:
        """What requests call it."""
        return self.measure.name


_REGISTRY: Registry[MeasureKind] = Registry(__name__, "MEASURE", "measure", BadRequest)


def measures() -> list[Measure]:
    """Every measure."""
    return [kind.measure for kind in _REGISTRY.members()]


def measure_kind(name: str) -> MeasureKind:
    """The measure of a name.

    Raises:
        BadRequest: With the nearest known name.
    """
    return _REGISTRY.named(name)


def register(kind: MeasureKind) -> None:
    """Offer a measure of another package.

    Raises:
        ValueError: Its name is taken.
    """
    _REGISTRY.register(kind)


def default_measure(dataset: Dataset) -> str:
    """The measure of an address that names none: people counted, where the dataset tells counts."""
    return measures_of(dataset)[0].name


def measures_of(dataset: Dataset) -> list[Measure]:
    """The measures that a dataset has."""
    return [measure for measure in measures() if measure.refuse(dataset) is None]
