"""The distribution of the noise of a release: what is public about the error of each cell.

A release has many cells and few distributions, so each is stored once and every cell has the index of its own:

    distribution of a cell = distributions[kind[cell]]

It is one distribution, or several of which the true count selects one:

    P(noise | count) = cell.distributions[cell.distribution_index(count)]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class IntegerDistribution(Protocol):
    """A distribution of integers that does not depend on a count."""

    @property
    def mean(self) -> Fraction:
        """The mean, exactly."""

    @property
    def variance(self) -> Fraction:
        """The variance, exactly."""

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest possible value."""

    @property
    def error(self) -> float:
        """A bound on the total variation between `distribution` and the true distribution."""

    def distribution(self) -> tuple[int, NDArray[np.float64]]:
        """The smallest value and the probabilities from there on; off by at most `error`."""

    def half_width(self, level: float) -> int:
        """The smallest h with P(|noise| <= h) >= level, guaranteed."""


class CellDistribution(Protocol):
    """The distribution of the noise of one cell."""

    def __hash__(self) -> int:
        """Results are cached by distribution."""

    @property
    def distributions(self) -> Sequence[IntegerDistribution]:
        """The distribution; several where the true count selects one."""

    @property
    def variance(self) -> Fraction:
        """The variance of the noise; the largest where it depends on the count."""

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index in `distributions` for each count; negative counts have that of zero."""


def depends_on_count(distribution: CellDistribution) -> bool:
    """Whether the distribution of a cell's noise depends on the count."""
    return len(distribution.distributions) > 1


class NoiseDistribution(ABC):
    """The distribution of the noise of every cell of a table."""

    @property
    @abstractmethod
    def distributions(self) -> Sequence[CellDistribution]:
        """The distributions that occur, each once."""

    @property
    @abstractmethod
    def kind(self) -> NDArray[np.int64]:
        """For each cell its index in `distributions`."""

    @property
    @abstractmethod
    def impossible(self) -> NDArray[np.bool_]:
        """Cells without noise because they are structural zeros."""

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Cells without noise because they are declared public."""
        return np.zeros(self.kind.shape, dtype=np.bool_)

    @abstractmethod
    def source(self, *place: int) -> Hashable | None:
        """The source of a cell's noise: cells of one source may share noise. None for independent noise."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The noise as JSON for the documents of a table."""

    @abstractmethod
    def cut(self, places: tuple[NDArray[np.int64], ...]) -> NoiseDistribution:
        """The distribution of the cells at these places of each axis."""

    def adds_up(self, axis: int, wholes: Mapping[int, Sequence[int]]) -> bool:  # noqa: ARG002 - where noise adds up
        """Whether along an axis the noise of every whole is the sum of the noise of its parts.

        `wholes` has the places of the parts by the place of their whole.
        """
        return False

    @property
    def rounds(self) -> bool:
        """Whether cells are rounded values of one consistent table, so that sums differ by rounding only."""
        return False

    def covariance(self, places: Sequence[tuple[int, ...]]) -> NDArray[np.float64] | None:  # noqa: ARG002 - see below
        """The covariance matrix of the unrounded values of cells that share noise; None for independent cells."""
        return None

    def for_tests(self) -> NoiseDistribution:
        """The distribution that a test of the whole table assumes for independent noise, cell by cell."""
        return self

    def at(self, *place: int) -> CellDistribution:
        return self.distributions[int(self.kind[place])]

    def variance(self) -> NDArray[np.float64]:
        """The variance of the noise of every cell; the largest where it depends on the count."""
        each = np.array([float(distribution.variance) for distribution in self.distributions])
        spread: NDArray[np.float64] = each[self.kind]
        return spread

    def kinds(self) -> Iterator[tuple[NDArray[np.bool_], CellDistribution]]:
        """Each distribution with the mask of its cells."""
        for place, distribution in enumerate(self.distributions):
            yield np.asarray(self.kind == place), distribution
