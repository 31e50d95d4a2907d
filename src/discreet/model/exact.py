"""The exact table: true counts and key sums. Confidential; it never leaves the process.

It cannot be printed, pickled, copied or serialised, and its repr never shows a count. Only `release` turns it into a
`Release`, by adding noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.model.shape import TableShape


class Confidential:
    """The base class of values with true counts. A subclass may show its shape in `__repr__`, never a count."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, confidential>"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is confidential: it cannot be pickled, copied or sent anywhere"
        )

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is confidential: it has no state to give away")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeasureSums(Confidential):
    """What was added up of a numeric variable, for groups or cells.

    Args:
        contributors: The number of contributors.
        key_sums: The sums of their record keys.
        totals: The sums of their values.
        largest: Their largest values without sign on the last axis, in descending order; 0 where there are fewer.
    """

    contributors: NDArray[np.int64]
    key_sums: NDArray[np.uint64]
    totals: NDArray[np.int64]
    largest: NDArray[np.int64]

    def map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> MeasureSums:
        """The same change of every array."""
        return MeasureSums(
            change(self.contributors), change(self.key_sums), change(self.totals), change(self.largest)
        )


class ExactTable(Confidential):
    """True counts, sums of record keys and sums of weights of every cell of a shape, totals included.

    Args:
        key_sums: uint64, one per cell; exact below 2^64.
        weight_sums: Fixed-point weights, or None without weights.
        further: By name, functions that lay out the sums of other stored columns.
        measures: What was added up of numeric variables, in the order of the query.
    """

    __slots__ = ("_further", "counts", "key_sums", "measures", "shape", "weight_sums")

    def __init__(
        self,
        shape: TableShape,
        counts: NDArray[np.int64],
        key_sums: NDArray[np.uint64],
        weight_sums: NDArray[np.int64] | None = None,
        further: Mapping[str, Callable[[], NDArray[np.int64]]] | None = None,
        measures: tuple[MeasureSums, ...] = (),
    ) -> None:
        for array in (counts, key_sums, weight_sums):
            if array is not None and array.shape != shape.lengths:
                raise ValueError("the arrays of an exact table must have its shape")
        self.shape = shape
        self.counts = counts
        self.key_sums = key_sums
        self.weight_sums = weight_sums
        self.measures = measures
        self._further = dict(further or {})

    def start(self, *, in_place: bool) -> NDArray[np.int64]:
        """The counts to add noise to: the table's own array, which it then loses (`in_place`), or a copy."""
        counts = self.counts
        if not in_place:
            return counts.astype(np.int64, copy=True)
        self.counts = np.empty(0, dtype=np.int64)
        return counts

    def sum_of(self, name: str) -> NDArray[np.int64]:
        """The sums of another stored column that was added up in the same pass."""
        return self._further[name]()

    def __repr__(self) -> str:
        return f"<ExactTable of {' x '.join(map(str, self.shape.lengths))} cells, confidential>"
