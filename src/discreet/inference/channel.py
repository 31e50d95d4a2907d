"""The noise from the reader's side: which true counts could lie behind a released one, and how likely.

A noise table says P(noise | count); a reader sees x and asks about n:

    P(x | n) = P(noise = x - n | row of n),   n = x - largest noise, ..., x - smallest noise.

Rows differ from count to count, so the law of x given n is looked up for every n by itself; a released 0 of
a table that keeps zeros may be a true 0 or a small count that went down.

Source: Rinott et al. (2018), section 6, eq. 6.2, for any row instead of the Laplace law.

Noise whose law is decided by a cell's place: under `dp` a cell may add up one released cell or a thousand.

Each cell has one of a few laws, whatever its count. A law is kept without the ends that hardly ever occur:

    P(noise outside the kept values) <= CUT = 1e-12,   half of it at each end.

What is cut, and what a long sum is not known exactly by (`PlainLaw.error`), is counted in `KeptLaw.error`: no chance
that is computed with these laws is off by more than that per cell. A released count beyond them is refused.

What a test looks at: the released counts of a table without totals, and the noise table that is their law.

A `Release` gives its unadjusted noisy cells; rounded, clipped or fitted values are for display and never
enter. Totals and coarser levels are left out: they say the same thing twice, with noise of their own or
(under `dp`) as sums of the cells below. Cells that cannot occur (status z) are no part of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadRequest
from discreet.inference.discrete_distribution import CUT, Distribution
from discreet.model.messages.text import message, one_line
from discreet.model.noise_distribution import (
    CellDistribution,
    IntegerDistribution,
    NoiseDistribution,
    depends_on_count,
)
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release
from discreet.noise.table import NO_NOISE, NoiseTable

#: The widest noise that is looked at, of tables with a row for each count and of those with one row for all.
WIDEST, WIDEST_ROW = 5_000, 200_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """What released counts say about the true ones.

    Args:
        released: The released counts, in any shape.
        first: For each the smallest count that is considered; it may lie below zero, with chance 0.
        chance: P(released | first + k) along a last axis.
        kind: Which law each cell has, where that depends on the cell.
    """

    released: NDArray[np.int64]
    first: NDArray[np.int64]
    chance: NDArray[np.float64]
    kind: NDArray[np.int64] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """The considered counts, in the shape of `chance`."""
        return self.first[..., None] + np.arange(self.chance.shape[-1])

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables, along the first axis."""
        kind = None if self.kind is None else self.kind[index]
        return type(self)(self.released[index], self.first[index], self.chance[index], kind)

    def sure_zero(self) -> NDArray[np.bool_]:
        """Where nothing but a true count of zero is possible."""
        return np.asarray(~((self.chance > 0) & (self.counts != 0)).any(axis=-1))

    def allows_zero(self) -> NDArray[np.bool_]:
        """Where a true count of zero is possible."""
        return np.asarray(((self.chance > 0) & (self.counts == 0)).any(axis=-1))


class Channel:
    """A noise table as floating-point laws, ready for released counts.

    Args:
        noise: The noise table, or any other law of a cell. A law that serves every count is cut where less than
            `CUT` lies beyond.
    """

    def __init__(self, noise: CellDistribution) -> None:
        self._noise = noise
        if depends_on_count(noise):
            lowest, highest = zip(*(law.reach for law in noise.laws), strict=True)
            _refuse_wide(min(lowest), max(highest), WIDEST)
            laws = [Distribution(*law.law()) for law in noise.laws]
        else:
            laws = [Distribution(*noise.laws[0].law()).kept(CUT)]
            _refuse_wide(laws[0].first, laws[0].last, WIDEST_ROW)
        self.lowest, self.highest = min(law.first for law in laws), max(law.last for law in laws)
        #: One line a law: the chance of each noise value from `lowest` to `highest`.
        self.laws = np.zeros((len(laws), self.highest - self.lowest + 1))
        for line, law in zip(self.laws, laws, strict=True):
            line[law.first - self.lowest : law.last - self.lowest + 1] = law.chances

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which line of `laws` serves each count; counts below zero have that of zero."""
        return self._noise.distribution_index(counts)

    def evidence(self, released: ArrayLike) -> Evidence:
        """What the released counts say about the true ones.

        Raises:
            BadRequest: A value that this noise table cannot release.

        >>> from discreet.noise import maxent
        >>> found = channel_of(maxent(D=5, V=3, js=2)).evidence([0])
        >>> found.counts[found.chance > 0].tolist()
        [0, 1, 2, 3, 4, 5]
        """
        cells = whole_numbers(released)
        values, place = np.unique(cells, return_inverse=True)
        first = values - self.highest
        counts = first[:, None] + np.arange(self.laws.shape[1])
        chance = np.where(
            counts >= 0, self.laws[self.distribution_index(counts), np.arange(counts.shape[1])[::-1]], 0
        )
        impossible = ~chance.any(axis=1)
        if impossible.any():
            raise BadRequest(
                f"The count {values[impossible][0]} cannot be released with this noise table.",
                "Give the table and the noise table that belong together, and the counts as released: "
                "not rounded, not clipped, without totals.",
            )
        place = place.reshape(cells.shape)
        return Evidence(cells, first[place], chance[place])


def _refuse_wide(lowest: int, highest: int, widest: int) -> None:
    if highest - lowest > widest:
        raise BadRequest(
            f"The noise table reaches from {lowest} to {highest}.",
            f"Inference takes noise that spans at most {widest:,}: use a truncated table.",
        )


@lru_cache(maxsize=32)
def channel_of(noise: CellDistribution) -> Channel:
    """The channel of a noise table or of the law of a sum, made once."""
    return Channel(noise)


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Released counts as integers.

    Raises:
        BadRequest: Something that is no whole number.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and not (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all()
    ):
        raise BadRequest("Released counts are whole numbers.", "Give them as they were released.")
    if array.size == 0:
        raise BadRequest("There is no released count.", "Give at least one.")
    return array.astype(np.int64)


def with_sure_zeros(evidence: Evidence, impossible: NDArray[np.bool_]) -> Evidence:
    """The same evidence, where cells that cannot occur are known to be empty."""
    if not impossible.any():
        return evidence
    first, chance = evidence.first.copy(), evidence.chance.copy()
    first[impossible] = 0
    chance[impossible] = 0
    chance[impossible, 0] = 1
    return Evidence(evidence.released, first, chance, evidence.kind)


#: Noise tables that span more than this are taken as laws by cell, of which a test looks at a window only.
NARROW = 600
#: And so are tables of more keys than this, as `dp` has them: their tails are long.
LARGE_MODULUS = 2**32


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedDistribution:
    """The law of a cell's noise as far as it is kept.

    Args:
        law: Chances of the kept values; they add up to 1 but for what is cut.
        variance: The variance of the noise, nothing cut.
        mean: Its mean.
        error: A bound on the total variation between this and the true law.
    """

    law: Distribution
    mean: float
    variance: float
    error: float

    @classmethod
    def of(cls, noise: IntegerDistribution) -> Self:
        """The kept part of a law.

        >>> from discreet.noise import laplace
        >>> from discreet.noise.cell_distribution import SumDistribution
        >>> wide = SumDistribution(laplace(epsilon=0.5, modulus=2**64).rows[0], 1)
        >>> (wide.row.values[-1], KeptLaw.of(wide).law.last)
        (85, 55)
        """
        law = Distribution(*noise.law()).kept(CUT)
        return cls(law, float(noise.mean), float(noise.variance), CUT + noise.error)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseByCell:
    """The laws of the noise of a table's cells.

    Args:
        laws: The distinct laws.
        kind: For each cell the place of its law.
    """

    laws: tuple[TruncatedDistribution, ...]
    kind: NDArray[np.int64]

    @classmethod
    def of(cls, noise: Sequence[CellDistribution], kind: NDArray[np.int64]) -> Self:
        """From laws that do not depend on the count, and for each cell which one it has."""
        if kind.size and not (kind.min() >= 0 and kind.max() < len(noise)):
            raise BadRequest("A cell has a law that is not there.", f"Number the {len(noise)} laws from 0.")
        return cls(tuple(map(_truncate, noise)), kind.astype(np.int64))

    def without(self, cells: NDArray[np.bool_]) -> Self:
        """The same, where some cells have no noise."""
        if not cells.any():
            return self
        return type(self)((*self.laws, _truncate(NO_NOISE)), np.where(cells, len(self.laws), self.kind))

    @property
    def spread(self) -> float:
        """The largest standard deviation of the noise of a cell."""
        return sqrt(max(self.laws[kind].variance for kind in np.unique(self.kind)))

    @property
    def width(self) -> int:
        """How many values the widest law has."""
        return max(len(self.laws[kind].law.chances) for kind in np.unique(self.kind))

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean and the variance of each cell's noise."""
        means, variances = (
            np.array(column) for column in zip(*((k.mean, k.variance) for k in self.laws), strict=True)
        )
        return means[self.kind], variances[self.kind]

    def drawn(self, tables: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Noise of fresh random keys for so many tables."""
        noise = np.zeros((tables, *self.kind.shape), dtype=np.int64)
        for place, kept in enumerate(self.laws):
            here = self.kind == place
            below = np.cumsum(kept.law.chances)
            chosen = rng.random((tables, int(here.sum()))) * below[-1]
            noise[:, here] = kept.law.first + np.searchsorted(below, chosen, "right")
        return noise

    def evidence(self, released: NDArray[np.int64]) -> Evidence:
        """What released tables say about the true ones, every possible count written out."""
        cells = whole_numbers(released)
        kind = np.broadcast_to(self.kind, cells.shape)
        first = np.maximum(cells - np.array([kept.law.last for kept in self.laws])[kind], 0)
        chance = np.zeros((*cells.shape, self.width))
        for place, kept in enumerate(self.laws):
            here = kind == place
            noise = cells[here][:, None] - first[here][:, None] - np.arange(self.width) - kept.law.first
            inside = (noise >= 0) & (noise < len(kept.law.chances))
            chance[here] = np.where(inside, kept.law.chances[np.where(inside, noise, 0)], 0.0)
        refuse_impossible(cells, np.asarray(chance.any(axis=-1)))
        return Evidence(cells, first, chance, kind)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.kind.size:,} cells with {len(self.laws)} laws")


def refuse_impossible(cells: NDArray[np.int64], possible: NDArray[np.bool_]) -> None:
    """Refuse released counts that no true count could have become."""
    if not possible.all():
        raise BadRequest(
            f"The count {cells[~possible][0]} is released with a probability below {CUT:g}.",
            "Give the counts as released, and the laws that belong to their cells.",
        )


def noise_of_cells(law: NoiseDistribution, inner: tuple[NDArray[np.intp], ...]) -> NoiseTable | NoiseByCell:
    """The noise of some cells of a release: the one noise table of all, or the laws of each."""
    found, kind = np.unique(law.kind[inner], return_inverse=True)
    laws = [law.laws[each] for each in found.tolist()]
    shape = law.kind[inner].shape
    return by_cell(laws[0], shape) if len(laws) == 1 else NoiseByCell.of(laws, kind.reshape(shape))


def by_cell(noise: CellDistribution | NoiseByCell, shape: tuple[int, ...]) -> NoiseTable | NoiseByCell:
    """Noise as a test looks at it: a narrow table, or one whose rows differ, as it is; any other as laws by cell."""
    if isinstance(noise, NoiseByCell) or (isinstance(noise, NoiseTable) and _stays_table(noise)):
        return noise
    return NoiseByCell.of([noise], np.zeros(shape, dtype=np.int64))


def _stays_table(noise: NoiseTable) -> bool:
    row = noise.rows[0]
    small = row.values[-1] - row.values[0] <= NARROW and noise.modulus <= LARGE_MODULUS
    return len(noise.rows) > 1 or small


@lru_cache(maxsize=256)
def _truncate(noise: CellDistribution) -> TruncatedDistribution:
    if depends_on_count(noise):
        raise BadRequest(
            "The cells have several noises that depend on the count.", "Test cells of one noise table."
        )
    return TruncatedDistribution.of(noise.laws[0])


#: The most cells of one table that a test takes.
MOST_CELLS = 50_000


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """Released counts of the inner cells, their noise, and which of them can occur at all."""

    counts: NDArray[np.int64]
    noise: NoiseTable | NoiseByCell
    possible: NDArray[np.bool_]

    @property
    def batch(self) -> NDArray[np.int64]:
        """The counts as a batch of one table; cells that cannot occur hold 0."""
        return np.where(self.possible, self.counts, 0)[None]


def observe(table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None = None) -> ObservedTable:
    """The released counts of a table and their law.

    Args:
        table: A release, or an array of released counts without totals.
        noise: The noise table of an array, or the laws of its cells; a release knows its own.

    >>> from discreet.noise import laplace
    >>> observe([[3, 4], [5, -1]], laplace(epsilon=1.0, m=5)).counts.shape
    (2, 2)
    """
    if isinstance(table, Release):
        return _observe_release(table)
    if noise is None:
        raise BadRequest(
            message("A plain array has no noise table."), message("Give `noise`, the law of its noise.")
        )
    counts = whole_numbers(table)
    if isinstance(noise, NoiseByCell) and noise.kind.shape != counts.shape:
        raise BadRequest(
            message("The laws do not fit the table."), message("Give the law of each of its cells.")
        )
    return _check_table(
        ObservedTable(counts, by_cell(noise, counts.shape), np.ones(counts.shape, dtype=np.bool_))
    )


def _observe_release(release: Release) -> ObservedTable:
    if release.request.measure != "count":
        raise BadRequest(
            message("The noise of weighted counts has no table to be tested by."),
            message("Ask for the measure count."),
        )
    # Coarser levels, like totals, would say the same thing twice.
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    status = release.status[inner]
    if (status == WITHHELD).any():
        raise BadRequest(
            message("Some cells of the table are withheld."),
            message("Choose categories of which every cell is released."),
        )
    possible = status != NOT_APPLICABLE
    possible &= ~release.law.impossible[inner]
    return _check_table(
        ObservedTable(release.noisy[inner], noise_of_cells(release.law.for_tests(), inner), possible)
    )


def _check_table(found: ObservedTable) -> ObservedTable:
    if found.counts.size > MOST_CELLS:
        raise BadRequest(
            message("The table has {size:,} cells.", size=found.counts.size),
            message("A test takes at most {most_cells:,}: group some.", most_cells=MOST_CELLS),
        )
    if not found.possible.any():
        raise BadRequest(message("No cell of this table can occur."), message("Choose other categories."))
    return found
