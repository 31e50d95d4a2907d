"""Noise whose law is decided by a cell's place: under `dp` a cell may add up one released cell or a thousand.

Each cell has one of a few laws, whatever its count. A law is kept without the ends that hardly ever occur:

    P(noise outside the kept values) <= CUT = 1e-12,   half of it at each end.

What is cut, and what a long sum is not known exactly by (`PlainLaw.error`), is counted in `KeptLaw.error`: no chance
that is computed with these laws is off by more than that per cell. A released count beyond them is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.channel import Evidence, whole_numbers
from discreet.inference.law import CUT, Law
from discreet.model.noise_law import depends_on_count
from discreet.model.one_line import one_line
from discreet.noise.table import NO_NOISE, NoiseTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.model.noise_law import CellLaw, NoiseLaw, PlainLaw

#: Noise tables that span more than this are taken as laws by cell, of which a test looks at a window only.
NARROW = 600
#: And so are tables of more keys than this, as `dp` has them: their tails are long.
LARGE_MODULUS = 2**32


@dataclass(frozen=True, slots=True, eq=False)
class KeptLaw:
    """The law of a cell's noise as far as it is kept.

    Args:
        law: Chances of the kept values; they add up to 1 but for what is cut.
        variance: The variance of the noise, nothing cut.
        mean: Its mean.
        error: A bound on the total variation between this and the true law.
    """

    law: Law
    mean: float
    variance: float
    error: float

    @classmethod
    def of(cls, noise: PlainLaw) -> Self:
        """The kept part of a law.

        >>> from discreet.noise import laplace
        >>> from discreet.noise.sum_law import SumLaw
        >>> wide = SumLaw(laplace(epsilon=0.5, modulus=2**64).rows[0], 1)
        >>> (wide.row.values[-1], KeptLaw.of(wide).law.last)
        (85, 55)
        """
        law = Law(*noise.law()).kept(CUT)
        return cls(law, float(noise.mean), float(noise.variance), CUT + noise.error)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseByCell:
    """The laws of the noise of a table's cells.

    Args:
        laws: The distinct laws.
        kind: For each cell the place of its law.
    """

    laws: tuple[KeptLaw, ...]
    kind: NDArray[np.int64]

    @classmethod
    def of(cls, noise: Sequence[CellLaw], kind: NDArray[np.int64]) -> Self:
        """From laws that do not depend on the count, and for each cell which one it has."""
        if kind.size and not (kind.min() >= 0 and kind.max() < len(noise)):
            raise BadRequest("A cell has a law that is not there.", f"Number the {len(noise)} laws from 0.")
        return cls(tuple(map(_kept_law, noise)), kind.astype(np.int64))

    def without(self, cells: NDArray[np.bool_]) -> Self:
        """The same, where some cells have no noise."""
        if not cells.any():
            return self
        return type(self)((*self.laws, _kept_law(NO_NOISE)), np.where(cells, len(self.laws), self.kind))

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


def of_cells(law: NoiseLaw, inner: tuple[NDArray[np.intp], ...]) -> NoiseTable | NoiseByCell:
    """The noise of some cells of a release: the one noise table of all, or the laws of each."""
    found, kind = np.unique(law.kind[inner], return_inverse=True)
    laws = [law.laws[each] for each in found.tolist()]
    shape = law.kind[inner].shape
    return by_cell(laws[0], shape) if len(laws) == 1 else NoiseByCell.of(laws, kind.reshape(shape))


def by_cell(noise: CellLaw | NoiseByCell, shape: tuple[int, ...]) -> NoiseTable | NoiseByCell:
    """Noise as a test looks at it: a narrow table, or one whose rows differ, as it is; any other as laws by cell."""
    if isinstance(noise, NoiseByCell) or (isinstance(noise, NoiseTable) and _stays_table(noise)):
        return noise
    return NoiseByCell.of([noise], np.zeros(shape, dtype=np.int64))


def _stays_table(noise: NoiseTable) -> bool:
    row = noise.rows[0]
    small = row.values[-1] - row.values[0] <= NARROW and noise.modulus <= LARGE_MODULUS
    return len(noise.rows) > 1 or small


@lru_cache(maxsize=256)
def _kept_law(noise: CellLaw) -> KeptLaw:
    if depends_on_count(noise):
        raise BadRequest(
            "The cells have several noises that depend on the count.", "Test cells of one noise table."
        )
    return KeptLaw.of(noise.laws[0])
