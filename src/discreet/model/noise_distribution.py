"""The law of the noise of a release: what a reader may know of how far each cell lies from the truth.

A release has many cells and few laws, so each law is kept once and every cell says which one it has:

    law of a cell = laws[kind[cell]]

The law of a cell is one law, whatever the true count is, or several, of which the count chooses one:

    P(noise | count) = cell.laws[cell.law_index(count)]

Whoever reads a release asks its `NoiseLaw` and need not know how the noise was made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class IntegerDistribution(Protocol):
    """One law of integers, which does not depend on a count."""

    @property
    def mean(self) -> Fraction:
        """The mean, exactly."""

    @property
    def variance(self) -> Fraction:
        """The variance, exactly."""

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest value that can occur."""

    @property
    def error(self) -> float:
        """A bound on the total variation between `law` and the true law."""

    def law(self) -> tuple[int, NDArray[np.float64]]:
        """The smallest value and the probabilities from there on; off by at most `error`."""

    def half_width(self, level: float) -> int:
        """The smallest h with P(|noise| <= h) >= level for certain."""


class CellDistribution(Protocol):
    """The law of the noise of one cell."""

    def __hash__(self) -> int:
        """What is computed from a law is kept under it."""

    @property
    def laws(self) -> Sequence[IntegerDistribution]:
        """The law of the noise; more than one where the true count decides."""

    @property
    def variance(self) -> Fraction:
        """The variance of the noise; where it depends on the count, the largest."""

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of `laws` serves each count; a count below zero has that of zero."""


def depends_on_count(law: CellDistribution) -> bool:
    """Whether the law of a cell's noise is another for another count."""
    return len(law.laws) > 1


class NoiseDistribution(ABC):
    """The law of the noise of every cell of a table."""

    @property
    @abstractmethod
    def laws(self) -> Sequence[CellDistribution]:
        """The laws that occur, each once."""

    @property
    @abstractmethod
    def kind(self) -> NDArray[np.int64]:
        """For each cell the place of its law in `laws`."""

    @property
    @abstractmethod
    def impossible(self) -> NDArray[np.bool_]:
        """Cells that have no noise because nobody can be in them."""

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Cells that have no noise because they are declared public."""
        return np.zeros(self.kind.shape, dtype=np.bool_)

    @abstractmethod
    def source(self, *place: int) -> Hashable | None:
        """Where a cell's noise comes from: cells of one source may share noise. None: it has noise of its own."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What the documents of a table say about its noise."""

    @abstractmethod
    def cut(self, places: tuple[NDArray[np.int64], ...]) -> NoiseDistribution:
        """The law of some of the cells.

        Args:
            places: For each axis the places that are kept.
        """

    def adds_up(self, axis: int, wholes: Mapping[int, Sequence[int]]) -> bool:  # noqa: ARG002 - where noise adds up
        """Whether the noise of every whole along an axis is the sum of the noise of its parts.

        Args:
            axis: Of the table.
            wholes: The places of the parts by the place of their whole.
        """
        return False

    @property
    def rounds(self) -> bool:
        """Whether cells are values of one consistent whole, rounded: their sums then miss by rounding only."""
        return False

    def covariance(self, places: Sequence[tuple[int, ...]]) -> NDArray[np.float64] | None:  # noqa: ARG002 - see below
        """The covariance matrix of the unrounded values of cells that share noise; None where cells do not."""
        return None

    def for_tests(self) -> NoiseDistribution:
        """The law that a test of the whole table takes for independent noise, cell by cell."""
        return self

    def at(self, *place: int) -> CellDistribution:
        """The law of the noise of one cell."""
        return self.laws[int(self.kind[place])]

    def variance(self) -> NDArray[np.float64]:
        """The variance of the noise of every cell; where it depends on the count, the largest."""
        each = np.array([float(law.variance) for law in self.laws])
        spread: NDArray[np.float64] = each[self.kind]
        return spread

    def kinds(self) -> Iterator[tuple[NDArray[np.bool_], CellDistribution]]:
        """Each law with the cells that have it, as a mask."""
        for place, law in enumerate(self.laws):
            yield np.asarray(self.kind == place), law
