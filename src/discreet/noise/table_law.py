"""One noise table is the law of every cell, and the true count chooses its row: the cell key method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.noise_law import NoiseLaw
from discreet.model.one_line import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.table import NoiseTable


@dataclass(frozen=True, eq=False)
class TableLaw(NoiseLaw):
    """The same noise table for every cell; each cell has noise of its own.

    Args:
        table: The noise table.
        shape: The lengths of the table's axes.

    >>> from discreet.noise import laplace
    >>> TableLaw(laplace(epsilon=1.0, m=2), (2,)).variance().round(2).tolist()
    [0.91, 0.91]
    """

    table: NoiseTable
    shape: tuple[int, ...]

    @property
    def laws(self) -> tuple[NoiseTable]:
        """The noise table."""
        return (self.table,)

    @property
    def kind(self) -> NDArray[np.int64]:
        """Every cell has the same law."""
        return np.broadcast_to(np.int64(0), self.shape)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """The noise rules out no cell."""
        return np.broadcast_to(np.False_, self.shape)

    def source(self, *place: int) -> None:  # noqa: ARG002 - it holds of every cell
        """No two cells share noise."""
        return

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> TableLaw:
        """The same noise table for fewer cells."""
        return TableLaw(self.table, tuple(kept.size for kept in places))

    def document(self) -> dict[str, Any]:
        """How far the noise reaches."""
        return {"largest_change": self.table.largest}

    def __repr__(self) -> str:
        return one_line(self, f"of {self.kind.size:,} cells: {self.table!r}")
