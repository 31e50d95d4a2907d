"""The law of the noise of every cell of a table whose cells are sums of released cells.

A cell that adds up K cells of a margin has K independent terms of that margin's noise. Cells that are public, such as
a known total, have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.noise_law import NoiseLaw
from discreet.model.one_line import one_line
from discreet.noise.sum_law import SumLaw
from discreet.noise.table import NO_NOISE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.model.noise_law import CellLaw
    from discreet.noise.table import NoiseTable

#: In place of a margin: the cell is public and has no noise.
PUBLIC = -1


@dataclass(frozen=True, eq=False)
class DescribedLaw(NoiseLaw):
    """How many terms of which margin's noise each cell has.

    Args:
        terms: How many noisy base cells each one adds up; 0 for cells that are public (known total, nobody).
        margin: For each cell its place in `margins`, or `PUBLIC`.
        margins: The margins that answered, each with its noise table, which has one row.
    """

    terms: NDArray[np.int64]
    margin: NDArray[np.int16]
    margins: tuple[tuple[tuple[str, ...], NoiseTable], ...]

    @property
    def laws(self) -> tuple[CellLaw, ...]:
        """One law for each number of terms of each margin."""
        return self._found[0]

    @property
    def kind(self) -> NDArray[np.int64]:
        """Which of them each cell has."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[tuple[CellLaw, ...], NDArray[np.int64]]:
        width = int(self.terms.max(initial=0)) + 1
        pair = np.where(self.terms > 0, (self.margin.astype(np.int64) + 1) * width + self.terms, 0)
        found, kind = np.unique(pair, return_inverse=True)
        laws = tuple(self._law(*divmod(each, width)) for each in found.tolist())
        return laws, kind.reshape(self.terms.shape)

    def _law(self, margin: int, terms: int) -> CellLaw:
        """The law of a number of terms of a margin, which is numbered from 1; 0 is public."""
        if not margin or not terms:
            return NO_NOISE
        _, table = self.margins[margin - 1]
        return table if terms == 1 else SumLaw(table.rows[0], terms)

    def at(self, *place: int) -> CellLaw:
        """The law of one cell: its margin's noise table, or a sum of draws from it."""
        return self._law(int(self.margin[place]) + 1, int(self.terms[place]))

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Cells that nobody can be in: they add up structural zeros alone."""
        return np.asarray((self.terms == 0) & (self.margin != PUBLIC))

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Cells that no margin answers: they are declared public."""
        return np.asarray(self.margin == PUBLIC)

    def adds_up(self, axis: int, wholes: Mapping[int, Sequence[int]]) -> bool:
        """Whether every whole adds up the very cells that its parts add up: terms of one margin, as many."""
        terms, margin = np.moveaxis(self.terms, axis, 0), np.moveaxis(self.margin, axis, 0)
        return all(
            bool((terms[parts].sum(axis=0) == terms[whole]).all())
            and bool(((margin[parts] == margin[whole]) | (terms[parts] == 0)).all())
            for whole, parts in wholes.items()
        )

    def source(self, *place: int) -> tuple[str, ...] | None:
        """The margin whose cells are added up; None for a public cell."""
        answered = int(self.margin[place])
        return None if answered == PUBLIC else self.margins[answered][0]

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> DescribedLaw:
        """The terms and margins of fewer cells."""
        index = np.ix_(*places)
        return DescribedLaw(self.terms[index], self.margin[index], self.margins)

    def document(self) -> dict[str, Any]:
        """The noise tables of the margins, the laws made from them, and by classes of categories which cell has which.

        Categories of a variable whose cells have the same laws everywhere are one class, so that a large table has
        a short index:

            law of the cell (i, j) = laws[law[classes[0][i], classes[1][j]]],  `law` row by row
        """
        classes, terms, margin = _by_classes(self.terms, self.margin)
        laws: dict[tuple[int, int], int] = {}
        pairs = zip(margin.ravel().tolist(), terms.ravel().tolist(), strict=True)
        index = [laws.setdefault(pair, len(laws)) for pair in pairs]
        return {
            "noise": {
                "tables": [_table_document(margin, table) for margin, table in self.margins],
                "laws": [
                    {"table": None if table == PUBLIC else table, "terms": number} for table, number in laws
                ],
                "classes": classes,
                "law": index,
            }
        }

    def __repr__(self) -> str:
        return one_line(self, f"of {self.terms.size:,} cells from {len(self.margins)} margins")


def _by_classes(
    terms: NDArray[np.int64], margin: NDArray[np.int16]
) -> tuple[list[list[int]], NDArray[np.int64], NDArray[np.int16]]:
    """For each axis the class of every place, and the arrays with one place of each class."""
    classes = []
    for axis in range(terms.ndim):
        seen: dict[tuple[bytes, bytes], int] = {}
        slices = zip(np.moveaxis(terms, axis, 0), np.moveaxis(margin, axis, 0), strict=True)
        each = [seen.setdefault((t.tobytes(), m.tobytes()), len(seen)) for t, m in slices]
        first = np.unique(each, return_index=True)[1]
        terms, margin = terms.take(first, axis), margin.take(first, axis)
        classes.append(each)
    return classes, terms, margin


def _table_document(margin: tuple[str, ...], table: NoiseTable) -> dict[str, Any]:
    return {
        "variables": list(margin),
        "family": table.family,
        "epsilon": table.parameters.get("epsilon"),
        "standard_deviation": sqrt(table.variance),
    }
