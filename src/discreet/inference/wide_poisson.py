"""The Poisson likelihood under wide noise: of all counts behind a released one only those that matter are summed.

Noise that spans thousands would make the sum over n long, while Poisson(n; mu) is narrow. With q the law of the
cell's noise and n0 the possible count nearest to mu, counts outside (mu - t', mu + t) are left out, where

    P(Poisson(mu) outside) max q  <=  e^-D max q  <=  e^-38 Poisson(n0; mu) q(x - n0)  <=  e^-38 P(x | mu),
    t = D/3 + sqrt(D^2/9 + 2 D mu),   t' = sqrt(2 D mu)   (Bernstein's inequality),

so that no digit of P(x | mu) is lost, whatever the shape of q. Windows are rounded up and cells of about the same
width are summed together.

Source: Rinott et al. (2018), eq. 6.2; Boucheron, Lugosi & Massart (2013), section 2.4, for Poisson tails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import gammaln

from discreet.inference.channel import Evidence, whole_numbers
from discreet.inference.noise_by_cell import refuse_impossible
from discreet.inference.peak import highest_point
from discreet.inference.poisson_likelihood import TINY, CellTerms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.noise_by_cell import NoiseByCell

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

#: A part e^-38 of a likelihood is less than its rounding.
_DEPTH = 38.0
#: The narrowest window, and how many numbers are summed at a time.
_LEAST = 32
_ROOM = 2_000_000
_GRID, _STEPS = 16, 34


class FlatLaws:
    """All laws one after the other in one array, to be looked up by kind and noise.

    Args:
        noise: The laws by cell.
    """

    def __init__(self, noise: NoiseByCell) -> None:
        laws = [kept.law for kept in noise.laws]
        self.lowest = np.array([law.first for law in laws])
        self.highest = np.array([law.last for law in laws])
        self.start = np.cumsum([0, *(len(law.chances) for law in laws)])[:-1]
        self.chances = np.concatenate([law.chances for law in laws])
        with np.errstate(divide="ignore"):
            self.log_chances = np.log(self.chances)
            self.log_most = np.log(np.array([law.chances.max() for law in laws]))

    def place(self, kind: Counts, noise: Counts) -> Counts:
        """Where the chance of such noise stands; the noise lies within the law."""
        found: Counts = self.start[kind] + noise - self.lowest[kind]
        return found


@dataclass(frozen=True, slots=True)
class WideEvidence:
    """What released counts say about the true ones, not written out.

    Args:
        released: The released counts, tables along the first axis.
        kind: The law of each cell.
        laws: The laws.
    """

    released: Counts
    kind: Counts
    laws: FlatLaws

    @classmethod
    def of(cls, released: Counts, noise: NoiseByCell) -> Self:
        """The evidence of a batch of released tables.

        Raises:
            BadRequest: A value that these laws do not release, but for a chance below what is cut from them.
        """
        cells = whole_numbers(released)
        found = cls(cells, np.broadcast_to(noise.kind, cells.shape), FlatLaws(noise))
        refuse_impossible(cells, found.last >= 0)
        return found

    @property
    def first(self) -> Counts:
        """The smallest count that is possible behind each released one."""
        return np.asarray(np.maximum(self.released - self.laws.highest[self.kind], 0))

    @property
    def last(self) -> Counts:
        """The largest; below zero where none is possible."""
        return np.asarray(self.released - self.laws.lowest[self.kind])

    def take(self, index: Counts) -> Self:
        """Some of the tables."""
        return type(self)(self.released[index], self.kind[index], self.laws)

    def sure_zero(self) -> NDArray[np.bool_]:
        """Where nothing but a true count of zero is possible."""
        return np.asarray(self.last == 0)

    def allows_zero(self) -> NDArray[np.bool_]:
        """Where a true count of zero is possible."""
        return np.asarray(self.first == 0)

    def window(self, first: Counts, width: int) -> Evidence:
        """The evidence of cells (in one line) for the counts first, first + 1, ..., written out."""
        noise = self.released[:, None] - first[:, None] - np.arange(width)
        kind = self.kind[:, None]
        inside = (noise >= self.laws.lowest[kind]) & (noise <= self.laws.highest[kind])
        place = self.laws.place(kind, np.where(inside, noise, self.laws.lowest[kind]))
        return Evidence(self.released, first, np.where(inside, self.laws.chances[place], 0.0))


@dataclass(frozen=True, slots=True)
class WidePoisson:
    """Independent Poisson cells, convolved with wide noise; tables along the first axis.

    Args:
        evidence: What the released counts say.
    """

    evidence: WideEvidence

    @classmethod
    def of(cls, released: Counts, noise: NoiseByCell) -> Self:
        """The likelihood of a batch of released tables."""
        return cls(WideEvidence.of(released, noise))

    def take(self, index: Counts) -> Self:
        """Some of the tables."""
        return type(self)(self.evidence.take(index))

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood of each table, and the expected true count of each cell."""
        log_chance, mean = cell_sums(_in_line(self.evidence), mu.ravel())
        return log_chance.reshape(len(mu), -1).sum(axis=1), mean.reshape(mu.shape)

    def unrestricted(self) -> tuple[Floats, Floats]:
        """The largest log-likelihood of each table with a mean of its own for every cell, and those means."""
        seen = self.evidence
        keys = np.stack([seen.released.ravel(), seen.kind.ravel()], axis=1)
        distinct, back = np.unique(keys, axis=0, return_inverse=True)
        cells = WideEvidence(distinct[:, 0], distinct[:, 1], seen.laws)
        low, high = cells.first.astype(np.float64), cells.last.astype(np.float64)
        # Wide noise has one peak, and a mean within a thousandth of its deviation is near enough to it.
        mu, top = highest_point(lambda at: cell_sums(cells, at)[0], low, high, grid=_GRID, steps=_STEPS)
        back = back.reshape(seen.released.shape)
        return top[back].reshape(len(seen.released), -1).sum(axis=1), mu[back]


def _in_line(evidence: WideEvidence) -> WideEvidence:
    return WideEvidence(evidence.released.ravel(), evidence.kind.ravel(), evidence.laws)


def cell_sums(cells: WideEvidence, mu: Floats) -> tuple[Floats, Floats]:
    """The log of P(x | mu), and E(n | x, mu) of cells in one line."""
    first, width = _windows(cells, np.maximum(mu, TINY))
    log_chance, mean = np.empty(len(mu)), np.empty(len(mu))
    for size in np.unique(width):
        same = np.flatnonzero(width == size)
        step = max(1, _ROOM // int(size))
        for at in range(0, len(same), step):
            here = same[at : at + step]
            terms = CellTerms.of(cells.take(here).window(first[here], int(size)))
            weights, log_chance[here] = terms.weights(mu[here])
            mean[here] = terms.mean(weights)
    return log_chance, mean


def _windows(cells: WideEvidence, mu: Floats) -> tuple[Counts, Counts]:
    """The first count of each cell's window, and its width."""
    least, most = cells.first, cells.last
    nearest = np.clip(np.round(mu), least, most).astype(np.int64)
    at_nearest = cells.laws.log_chances[cells.laws.place(cells.kind, cells.released - nearest)]
    log_poisson = nearest * np.log(mu) - mu - gammaln(nearest + 1.0)
    depth = _DEPTH + cells.laws.log_most[cells.kind] - at_nearest - log_poisson
    depth = np.where(np.isfinite(depth), np.maximum(depth, _DEPTH), np.inf)
    with np.errstate(invalid="ignore"):
        up = mu + depth / 3 + np.sqrt(depth**2 / 9 + 2 * depth * mu)
        down = mu - np.sqrt(2 * depth * mu)
    # A window always holds the nearest possible count, and one more at each end against rounding.
    low = np.maximum(np.minimum(np.floor(down) - 1, nearest), least).astype(np.int64)
    high = np.minimum(np.maximum(np.ceil(up) + 1, nearest), most).astype(np.int64)
    wanted = np.maximum(high - low + 1, _LEAST)
    # Widths are rounded up to steps of a factor sqrt(2), so that few different ones are left.
    width = np.ceil(2.0 ** (np.ceil(2 * np.log2(wanted)) / 2)).astype(np.int64)
    return np.maximum(np.minimum(low, most - width + 1), least), width
