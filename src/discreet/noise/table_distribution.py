"""Noise distributions of whole tables, one class for each way in which cells get their noise.

Cell keys use one noise table for every cell. Under `dp` a cell that adds up K cells of a margin has K independent terms of
that margin's noise. Cells that are sums of shown areas, and tables released together, state no distribution of single cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import message, one_line
from discreet.model.noise_distribution import CellDistribution, NoiseDistribution
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE, NoiseTable


@dataclass(frozen=True, eq=False)
class TableDistribution(NoiseDistribution):
    """The same noise table for every cell, drawn independently; the true count chooses the row.

    >>> from discreet.noise import laplace
    >>> TableDistribution(laplace(epsilon=1.0, m=2), (2,)).variance().round(2).tolist()
    [0.91, 0.91]
    """

    table: NoiseTable
    shape: tuple[int, ...]

    @property
    def distributions(self) -> tuple[NoiseTable]:
        return (self.table,)

    @property
    def kind(self) -> NDArray[np.int64]:
        return np.broadcast_to(np.int64(0), self.shape)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        return np.broadcast_to(np.False_, self.shape)

    def source(self, *place: int) -> None:  # noqa: ARG002 - it holds of every cell
        return

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> TableDistribution:
        return TableDistribution(self.table, tuple(kept.size for kept in places))

    def document(self) -> dict[str, Any]:
        return {"largest_change": self.table.largest}

    def __repr__(self) -> str:
        return one_line(self, f"of {self.kind.size:,} cells: {self.table!r}")


#: In place of a margin: the cell is public and has no noise.
PUBLIC = -1


@dataclass(frozen=True, eq=False)
class DescribedDistribution(NoiseDistribution):
    """How many terms of which margin's noise each cell has.

    Args:
        terms: The number of noisy base cells in each cell; 0 for public cells (known total, structural zeros).
        margin: For each cell its index in `margins`, or `PUBLIC`.
    """

    terms: NDArray[np.int64]
    margin: NDArray[np.int16]
    margins: tuple[tuple[tuple[str, ...], NoiseTable], ...]

    @property
    def distributions(self) -> tuple[CellDistribution, ...]:
        return self._found[0]

    @property
    def kind(self) -> NDArray[np.int64]:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[tuple[CellDistribution, ...], NDArray[np.int64]]:
        width = int(self.terms.max(initial=0)) + 1
        pair = np.where(self.terms > 0, (self.margin.astype(np.int64) + 1) * width + self.terms, 0)
        found, kind = np.unique(pair, return_inverse=True)
        distributions = tuple(self._distribution(*divmod(each, width)) for each in found.tolist())
        return distributions, kind.reshape(self.terms.shape)

    def _distribution(self, margin: int, terms: int) -> CellDistribution:
        """Margins count from 1; 0 is public."""
        if not margin or not terms:
            return NO_NOISE
        _, table = self.margins[margin - 1]
        return table if terms == 1 else SumDistribution(table.rows[0], terms)

    def at(self, *place: int) -> CellDistribution:
        """The distribution of one cell: its margin's noise table, or a sum of draws from it."""
        return self._distribution(int(self.margin[place]) + 1, int(self.terms[place]))

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Cells that add up structural zeros only."""
        return np.asarray((self.terms == 0) & (self.margin != PUBLIC))

    @property
    def exact(self) -> NDArray[np.bool_]:
        return np.asarray(self.margin == PUBLIC)

    def adds_up(self, axis: int, wholes: Mapping[int, Sequence[int]]) -> bool:
        """Whether every whole adds up exactly the base cells of its parts: same margin, same number of terms."""
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

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> DescribedDistribution:
        index = np.ix_(*places)
        return DescribedDistribution(self.terms[index], self.margin[index], self.margins)

    def document(self) -> dict[str, Any]:
        """The noise tables of the margins, the distributions made from them, and an index of cells by classes of categories.

        Categories of a variable whose cells have the same distributions everywhere form one class, which keeps the index
        of a large table short:

            distribution of cell (i, j) = laws[law[classes[0][i], classes[1][j]]],  `law` row by row
        """
        classes, (terms, margin) = by_classes(self.terms, self.margin)
        distributions: dict[tuple[int, int], int] = {}
        pairs = zip(margin.ravel().tolist(), terms.ravel().tolist(), strict=True)
        index = [distributions.setdefault(pair, len(distributions)) for pair in pairs]
        return {
            "noise": {
                "tables": [
                    {
                        "variables": list(margin),
                        "family": table.family,
                        "epsilon": table.parameters.get("epsilon"),
                        "standard_deviation": sqrt(table.variance),
                    }
                    for margin, table in self.margins
                ],
                "laws": [
                    {"table": None if table == PUBLIC else table, "terms": number}
                    for table, number in distributions
                ],
                "classes": classes,
                "law": index,
            }
        }

    def __repr__(self) -> str:
        return one_line(self, f"of {self.terms.size:,} cells from {len(self.margins)} margins")


def by_classes(*arrays: NDArray[Any]) -> tuple[list[list[int]], list[NDArray[Any]]]:
    """For each axis the class of every index, and arrays of one shape reduced to one index per class."""
    classes, reduced = [], list(arrays)
    for axis in range(arrays[0].ndim):
        seen: dict[tuple[bytes, ...], int] = {}
        slices = zip(*(np.moveaxis(array, axis, 0) for array in reduced), strict=True)
        each = [seen.setdefault(tuple(one.tobytes() for one in row), len(seen)) for row in slices]
        reduced = [array.take(np.unique(each, return_index=True)[1], axis) for array in reduced]
        classes.append(each)
    return classes, reduced


@dataclass(frozen=True, eq=False)
class DistributionWithSums(NoiseDistribution):
    """The distribution of counted cells; the cells marked `added` are sums of others and state none."""

    counted: NoiseDistribution
    added: NDArray[np.bool_]

    @property
    def distributions(self) -> Sequence[CellDistribution]:
        return self.counted.distributions

    @property
    def kind(self) -> NDArray[np.int64]:
        return self.counted.kind

    @property
    def impossible(self) -> NDArray[np.bool_]:
        return self.counted.impossible

    def at(self, *place: int) -> CellDistribution:
        """The noise distribution of one counted cell.

        Raises:
            BadRequest: The cell is a sum.
        """
        if self.added[place]:
            raise BadRequest(
                message("This number is the sum of the areas shown and has no noise in addition."),
                message("Ask about the areas themselves, or about their sum."),
            )
        return self.counted.at(*place)

    def kinds(self) -> Iterator[tuple[NDArray[np.bool_], CellDistribution]]:
        """Each distribution with its counted cells; sums are in none."""
        for mask, distribution in self.counted.kinds():
            yield mask & ~self.added, distribution

    def source(self, *place: int) -> Hashable | None:
        return "added" if self.added[place] else self.counted.source(*place)

    @property
    def rounds(self) -> bool:
        return self.counted.rounds

    def covariance(self, places: Sequence[tuple[int, ...]]) -> NDArray[np.float64] | None:
        for place in places:
            self.at(*place)
        return self.counted.covariance(places)

    def for_tests(self) -> DistributionWithSums:
        return DistributionWithSums(self.counted.for_tests(), self.added)

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> DistributionWithSums:
        return DistributionWithSums(self.counted.cut(places), self.added[np.ix_(*places)])

    def document(self) -> dict[str, Any]:
        return {**self.counted.document(), "sums_of_areas_shown": np.flatnonzero(self.added).tolist()}


@dataclass(frozen=True, eq=False)
class UnstatedDistribution(NoiseDistribution):
    """No distribution is stated for any cell, and all cells may share noise (margins released together)."""

    shape: tuple[int, ...]

    @property
    def distributions(self) -> tuple[()]:
        return ()

    @property
    def kind(self) -> NoReturn:
        raise BadRequest(
            message("The law of the noise of these cells is not stated."),
            message("Ask for the table by itself, not with others."),
        )

    @property
    def impossible(self) -> NDArray[np.bool_]:
        return np.broadcast_to(np.False_, self.shape)

    def source(self, *place: int) -> str:  # noqa: ARG002 - it holds of every cell
        return "together"

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> UnstatedDistribution:
        return UnstatedDistribution(tuple(kept.size for kept in places))

    def document(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return one_line(self, f"of {np.prod(self.shape):,} cells")
