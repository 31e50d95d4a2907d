"""Noisy cells: counts with their noise, which may be seen, and the law of that noise.

What stands between true counts and everybody else: one object a protection, one interface.

    cover      what answers a question, and at which price? Decided by the shape and the ledger; no record is read
    pay        charge what must be charged, before anything is counted
    protect    true counts become noisy ones
    stored     or noisy counts that were made at load: no record is read for them
    law        the law of the noise of every cell
    promise    what is and is not promised, in sentences

`CellKeyProtector` keys noise by who is in the cell; `DpProtector` (`dp_protector.py`) by the cell's
description, under a budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.measure import COUNT
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.noise.table import NoiseTable
from discreet.noise.table_distribution import TableDistribution
from discreet.protect.cell_keys import CellChances, CellKeys, EmptyCells, add_noise
from discreet.protect.promise import promise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Counts with noise.

    Args:
        noisy: Count plus noise; below zero where the noise is.
        law: The law of the noise of every cell.
        unrounded: Of a joint table, the values that the counts are rounded from; None elsewhere.
    """

    noisy: NDArray[np.int64]
    law: NoiseDistribution
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
        """The protector of one question: this one, or one for this question alone.

        Args:
            request: In canonical form; all variables that are counted by.
            shapes: The shapes that will be counted.
            asker: Who asks.

        Raises:
            Refused: By the shape.
            LedgerUnusable: No answers.
        """

    def pay(self) -> Mapping[str, Any] | None:
        """Charge what must be charged; nothing may be counted before. Tells what was charged, if anything was.

        Raises:
            BudgetSpent: Nothing was charged.
        """

    def protect(self, exact: ExactTable, *, spend: bool = False) -> NoisyCells:
        """Noisy counts of every cell; with `spend` in the place of the true ones, which are gone then."""

    def stored(self, shape: TableShape) -> NoisyCells | None:
        """Noisy counts that were made at load and need no record; None where cells must be counted."""

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:
        """A secret number from 0 to 1 for every cell, for rounding by chance; the same people have the same one."""

    def law(self, shape: TableShape) -> NoiseDistribution:
        """The law of the noise of every cell of a shape; it follows from what is public."""

    def promise(
        self, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
    ) -> tuple[str, ...]:
        """What is and is not promised."""


@dataclass(frozen=True)
class CellKeyProtector:
    """The cell key method: the same people always get the same noise."""

    keys: CellKeys
    noise: NoiseTable
    dice: CellChances
    empty: EmptyCells | None = None
    unpaid: bool = False

    @property
    def tables(self) -> tuple[NoiseTable]:
        """The one noise table."""
        return (self.noise,)

    def cover(
        self, request: TableRequest, shapes: Sequence[TableShape], asker: Requester | None
    ) -> Protector:
        """Everybody may ask what the rules allow."""
        return self

    def pay(self) -> None:
        """Nothing is charged."""
        return

    def protect(self, exact: ExactTable, *, spend: bool = False) -> NoisyCells:
        """Noise looked up by who is in the cell."""
        return NoisyCells(
            add_noise(exact, self.keys, self.noise, self.empty, spend=spend), self.law(exact.shape)
        )

    def stored(self, shape: TableShape) -> None:
        """Nothing: every table is counted."""

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:
        """By who is in the cell, with a key of their own."""
        return self.dice(exact.key_sums)

    def law(self, shape: TableShape) -> TableDistribution:
        """One noise table for every cell."""
        return TableDistribution(self.noise, shape.lengths)

    def promise(
        self, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
    ) -> tuple[str, ...]:
        """What one count by itself is promised; said once, since every table says it."""
        key = (
            dataset.unit,
            dataset.unit_column,
            dataset.protection.keys,
            additivity or dataset.protection.additivity,
            subject,
        )
        if key not in self._promises:
            self._promises[key] = promise(self.noise, dataset, additivity, subject)
        return self._promises[key]

    @cached_property
    def _promises(self) -> dict[tuple[object, ...], tuple[str, ...]]:
        return {}
