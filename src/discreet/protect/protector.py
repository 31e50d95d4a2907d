"""Protectors: the interface between true counts and releases, one object per protection.

    cover      which noise answers a request, at which price: decided by the shape and the ledger, without reading a record
    pay        charge the budget, before anything is counted
    protect    turn true counts into noisy ones
    stored     return noisy counts that were made at load, without reading a record
    distribution        the distribution of the noise of every cell
    promise    the guarantee and its limits, in sentences

`CellKeyProtector` keys noise by the participants of a cell; `DpProtector` (`dp_protector.py`) by the description of the
cell, under a privacy budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable, MeasureSums
from discreet.model.magnitude import NumericMeasure
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.request import COUNT, TableRequest
from discreet.model.shape import TableShape
from discreet.noise.table import NoiseTable
from discreet.noise.table_distribution import TableDistribution
from discreet.protect.cell_keys import CellChances, CellKeys, EmptyCells, add_noise
from discreet.protect.promise import promise

if TYPE_CHECKING:
    from discreet.protect.magnitudes import NoisySums

#: From the name of a measure to its key, and the decimals of declared record keys.
MeasureKeys = Callable[[str], tuple[bytes, int]]


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Counts with noise, which may be published.

    Args:
        noisy: Count plus noise; may be negative.
        unrounded: For a joint universe, the values that the counts are rounded from; otherwise None.
    """

    noisy: NDArray[np.int64]
    distribution: NoiseDistribution
    unrounded: NDArray[np.float64] | None = None


class Protector(Protocol):
    """Protects the tables of one version of a dataset."""

    @property
    def tables(self) -> tuple[NoiseTable, ...]:
        """The noise tables in which noise is looked up."""

    @property
    def unpaid(self) -> bool:
        """Whether something must be charged before a record is read."""

    def cover(
        self, request: TableRequest, shapes: Sequence[TableShape], asker: Requester | None
    ) -> Protector:
        """The protector of one request in canonical form: this one, or one for this request alone.

        Raises:
            OutsideUniverse, TooManyCells: By the shape.
            LedgerUnusable: Nothing can be answered.
        """

    def pay(self) -> tuple[Protector, Mapping[str, Any] | None]:
        """Charge the budget before anything is counted; the protector that answers, and the charge made now.

        Raises:
            BudgetSpent: Nothing was charged.
        """

    def protect(self, exact: ExactTable, *, in_place: bool = False) -> NoisyCells:
        """Noisy counts of every cell; `in_place` overwrites the true ones."""

    def stored(self, shape: TableShape) -> NoisyCells | None:
        """Noisy counts that were made at load; None if cells must be counted."""

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:
        """A secret number from 0 to 1 for every cell, for random rounding; the same people have the same number."""

    def sums(self, exact: MeasureSums, shape: TableShape, measure: NumericMeasure) -> NoisySums:
        """Noisy sums and means of a numeric variable."""

    def distribution(self, shape: TableShape) -> NoiseDistribution:
        """The distribution of the noise of every cell of a shape; it follows from public facts."""

    def promise(
        self, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
    ) -> tuple[str, ...]:
        """The guarantee and its limits."""


@dataclass(frozen=True)
class CellKeyProtector:
    """The cell key method: the same people always get the same noise."""

    keys: CellKeys
    noise: NoiseTable
    dice: CellChances
    empty: EmptyCells | None = None
    unpaid: bool = False
    measure_key: MeasureKeys | None = None

    @property
    def tables(self) -> tuple[NoiseTable]:
        return (self.noise,)

    def cover(
        self, request: TableRequest, shapes: Sequence[TableShape], asker: Requester | None
    ) -> Protector:
        """This protector: the rules have decided, and nothing is charged."""
        return self

    def pay(self) -> tuple[Protector, None]:
        return self, None

    def protect(self, exact: ExactTable, *, in_place: bool = False) -> NoisyCells:
        return NoisyCells(
            add_noise(exact, self.keys, self.noise, self.empty, in_place=in_place),
            self.distribution(exact.shape),
        )

    def stored(self, shape: TableShape) -> None: ...

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:
        """By the participants of the cell, under a separate key."""
        return self.dice(exact.key_sums)

    def sums(self, exact: MeasureSums, shape: TableShape, measure: NumericMeasure) -> NoisySums:
        """Contributors have the noise of a count of the same people."""
        if self.measure_key is None:
            raise ValueError("this version has no keys of measures")
        from discreet.protect.magnitudes import protect_sums  # noqa: PLC0415 - counts start without it

        people = add_noise(ExactTable(shape, exact.contributors, exact.key_sums), self.keys, self.noise)
        return protect_sums(exact, people, measure, *self.measure_key(measure.name))

    def distribution(self, shape: TableShape) -> TableDistribution:
        return TableDistribution(self.noise, shape.lengths)

    def promise(
        self, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
    ) -> tuple[str, ...]:
        """The guarantee of a single count; cached, since every table shows it."""
        protection = dataset.protection
        additivity = additivity or protection.additivity
        key = (dataset.unit, dataset.unit_column, protection.keys, additivity, subject)
        if key not in self._promises:
            self._promises[key] = promise(self.noise, dataset, additivity, subject)
        return self._promises[key]

    @cached_property
    def _promises(self) -> dict[tuple[object, ...], tuple[str, ...]]:
        return {}
