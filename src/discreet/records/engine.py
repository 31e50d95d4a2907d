"""What an engine must do: one aggregate over the stored records.

An engine groups the records by the integer codes of some columns, after filters on codes, and returns
for each group that occurs its count, the sum of its record keys and, if asked, of its fixed-point
weights. Nothing else is asked of it: zeros, groups, margins and noise are the same NumPy for every engine.

Comes from: `workspace` (which opens it). Goes to: `tabulate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.model.confidential import Confidential

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """One aggregate: group by these variables, keep only these codes, sum weights or not."""

    group_by: tuple[str, ...]
    filters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    weights: bool = False

    @property
    def variables(self) -> frozenset[str]:
        """All variables that the aggregate looks at."""
        return frozenset(self.group_by) | {name for name, _ in self.filters}


class SparseCells(Confidential):
    """The groups that occur. Confidential, like the exact table that is made of it.

    Args:
        codes: One array of integer codes per grouped variable.
        counts: Records in each group.
        key_sums: Sum of record keys in each group.
        weight_sums: Sum of fixed-point weights, or None.
    """

    __slots__ = ("codes", "counts", "key_sums", "weight_sums")

    def __init__(
        self,
        codes: tuple[NDArray[np.integer], ...],
        counts: NDArray[np.int64],
        key_sums: NDArray[np.uint64],
        weight_sums: NDArray[np.int64] | None = None,
    ) -> None:
        self.codes = codes
        self.counts = counts
        self.key_sums = key_sums
        self.weight_sums = weight_sums

    def __repr__(self) -> str:
        return f"<SparseCells by {len(self.codes)} variables, confidential>"


class Engine(Protocol):
    """Where the records are and where they are counted."""

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; exact integers, in any order of groups."""

    def close(self) -> None:
        """Let go of the records."""
