"""A listing: the cells of a table whose number is not 0, as a stream. Every cell that is not listed has the number 0.

A listing says the same as the whole table, whose cells may be too many to be laid out. It is read once, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from discreet.model.one_line import one_line
from discreet.model.release import table_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.measure import Measure
    from discreet.model.request import TableRequest
    from discreet.model.shape import Dimension


@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Some cells.

    Args:
        places: For each dimension the place of its category in every cell.
        values: Their numbers.
        status: Index into `release.STATUSES`.
        signed: The numbers before those below zero are shown as zero; None where none can be.
        errors: As those of a `Release`.
        noise_shares: As those of a `Release`.
    """

    places: tuple[NDArray[np.int32], ...]
    values: NDArray[Any]
    status: NDArray[np.uint8]
    signed: NDArray[Any] | None = None
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The cells of a table whose number is not 0, and all that must be told of it.

    Args:
        dataset: The public description.
        digest: Which version it is of.
        request: The canonical request.
        dimensions: The variables in the order of the cells.
        notes: What every reader must be told; the first is mandatory.
        promise: What the protection promises, in plain sentences.
        measure: What the numbers say.
        nothing: No cell, with all columns that cells have.
        cells: The cells; they can be taken once.
    """

    dataset: Dataset
    digest: str
    request: TableRequest
    dimensions: tuple[Dimension, ...]
    notes: tuple[str, ...]
    promise: tuple[str, ...]
    measure: Measure
    nothing: ListedCells
    cells: Iterator[ListedCells]
    selection: None = None

    @property
    def title(self) -> str:
        """What is counted, by what."""
        return table_title(self.dataset, self.dimensions, self.request, self.measure)

    @property
    def query(self) -> str:
        """The parameters of an address that list these cells again."""
        return urlencode([*self.request.to_query(), ("nonzero", "yes")], safe=",=")

    def __repr__(self) -> str:
        return one_line(self, f"{self.title}: cells that are not 0, version {self.digest[:8]}")
