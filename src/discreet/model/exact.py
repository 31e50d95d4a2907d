"""What holds true counts refuses to leave: it cannot be printed, pickled, copied or sent.

The exact table: true counts and key sums. Secret; it never leaves.

`ExactTable` cannot be printed, pickled, copied or serialised (`confidential.py`): its repr shows the shape and
never a count. Only `answer` turns it into a `Release`, by way of noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.model.shape import TableShape


class Confidential:
    """The parent of values that hold true counts. A child may tell its shape in `__repr__`, and never a count."""

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


class ExactTable(Confidential):
    """True counts, sums of record keys and sums of weights of every cell of a shape, totals included.

    Args:
        shape: Which cells.
        counts: int64, one per cell.
        key_sums: uint64, one per cell; exact below 2^64.
        weight_sums: Fixed-point weights, or None for a dataset without.
        further: By name, what lays out the sums of another stored column.
    """

    __slots__ = ("_further", "counts", "key_sums", "shape", "weight_sums")

    def __init__(
        self,
        shape: TableShape,
        counts: NDArray[np.int64],
        key_sums: NDArray[np.uint64],
        weight_sums: NDArray[np.int64] | None = None,
        further: Mapping[str, Callable[[], NDArray[np.int64]]] | None = None,
    ) -> None:
        for array in (counts, key_sums, weight_sums):
            if array is not None and array.shape != shape.lengths:
                raise ValueError("the arrays of an exact table must have its shape")
        self.shape = shape
        self.counts = counts
        self.key_sums = key_sums
        self.weight_sums = weight_sums
        self._further = dict(further or {})

    def start(self, *, spend: bool) -> NDArray[np.int64]:
        """An array of the true counts that noise is put on.

        Args:
            spend: Whether it is the table's own array, which the table has no longer; else a copy.
        """
        counts = self.counts
        if not spend:
            return counts.astype(np.int64, copy=True)
        self.counts = np.empty(0, dtype=np.int64)
        return counts

    def sum_of(self, name: str) -> NDArray[np.int64]:
        """The sums of a further stored column that was added up in the same pass."""
        return self._further[name]()

    def __repr__(self) -> str:
        return f"<ExactTable of {' x '.join(map(str, self.shape.lengths))} cells, confidential>"
