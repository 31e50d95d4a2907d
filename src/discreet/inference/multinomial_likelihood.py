"""The multinomial likelihood of released counts: the true total is public, the release adds its noise.

With the true counts Poisson(mu) and their sum N known,

    P(x | N, p) = P(x, sum of n = N | mu) / Poisson(N; sum of mu),   p = mu / sum of mu,

whatever the scale of mu. The chance that the counts behind x add up to N, and the expected count of each cell
given that they do, come from products of the cells' generating functions at the roots of unity. The scale is
first chosen so that N is where those sums are likely: nothing is computed in a tail.

Source: Rinott et al. (2018), section 6 ("Poisson and multinomial"); Barlow & Heidtmann (1984) for the transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln

from discreet.errors import BadRequest
from discreet.inference.poisson_likelihood import TINY, CellTerms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.channel import Evidence

    Floats = NDArray[np.float64]

#: Steps of the search for the scale; it converges like Newton's method.
_SCALE_STEPS = 60
#: How many numbers one transform may hold.
_ROOM = 2**22


@dataclass(frozen=True, slots=True)
class MultinomialLikelihood:
    """Multinomial tables with a public total, convolved with the noise; tables along the first axis.

    Args:
        evidence: What the released counts say.
        terms: The same, prepared, with the cells of a table in one line.
        total: The true total of each table.
    """

    evidence: Evidence
    terms: CellTerms
    total: NDArray[np.int64]

    @classmethod
    def of(cls, evidence: Evidence, total: int | NDArray[np.int64]) -> Self:
        """The likelihood of a batch of released tables.

        Raises:
            BadRequest: No true table behind the released one has this total.
        """
        tables, width = len(evidence.released), evidence.chance.shape[-1]
        possible = evidence.chance > 0
        totals = np.broadcast_to(np.asarray(total, dtype=np.int64), (tables,))
        low = (evidence.first + possible.argmax(axis=-1)).reshape(tables, -1).sum(axis=1)
        last = evidence.first + width - 1 - possible[..., ::-1].argmax(axis=-1)
        high = last.reshape(tables, -1).sum(axis=1)
        for wrong in np.flatnonzero((totals < low) | (totals > high))[:1]:
            raise BadRequest(
                f"The total {totals[wrong]} is impossible: the released counts allow {low[wrong]} to {high[wrong]}.",
                "Give the true, public total of the table's inner cells, or use the Poisson model.",
            )
        terms = CellTerms.of(evidence)
        flat = CellTerms(
            terms.reference.reshape(tables, -1),
            terms.shift.reshape(tables, -1),
            terms.log_term.reshape(tables, -1, width),
        )
        return cls(evidence, flat, totals)

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables."""
        return type(self)(self.evidence.take(index), self.terms.take(index), self.total[index])

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood of each table, and the expected true count of each cell given the total."""
        cells = mu.reshape(len(mu), -1)
        size = next_fast_len(cells.shape[1] * (self.terms.log_term.shape[-1] - 1) + 1, real=True)
        step = max(1, _ROOM // (cells.shape[1] * size))
        pieces = [np.arange(at, min(at + step, len(mu))) for at in range(0, len(mu), step)]
        parts = [_expect(self.terms.take(piece), self.total[piece], cells[piece], size) for piece in pieces]
        log_likelihood = np.concatenate([part[0] for part in parts])
        return log_likelihood, np.concatenate([part[1] for part in parts]).reshape(mu.shape)


def _expect(terms: CellTerms, total: NDArray[np.int64], mu: Floats, size: int) -> tuple[Floats, Floats]:
    mu = _scaled(terms, total, mu)
    weights, log_chance = terms.weights(mu)
    offset = total - np.round((terms.reference + terms.shift).sum(axis=1)).astype(np.int64)
    chance, means = _given_sum(weights, offset, size)
    whole = mu.sum(axis=1)
    poisson = total * np.log(whole) - whole - gammaln(total + 1.0)
    log_sum = np.log(np.maximum(chance, TINY))
    return log_chance.sum(axis=1) + log_sum - poisson, np.maximum(terms.reference + terms.shift + means, 0.0)


def _scaled(terms: CellTerms, total: NDArray[np.int64], mu: Floats) -> Floats:
    """The same proportions at the scale where the expected counts add up to the total."""
    low, high = np.full(len(mu), -60.0), np.full(len(mu), 60.0)
    scale = np.zeros(len(mu))
    mu = np.maximum(mu, TINY)
    places = np.arange(terms.log_term.shape[-1], dtype=np.float64)
    for _ in range(_SCALE_STEPS):
        weights, _ = terms.weights(mu * np.exp(scale)[:, None])
        mean = weights @ places
        spread = np.maximum(weights @ places**2 - mean**2, 0).sum(axis=1)
        excess = (terms.reference + terms.shift + mean).sum(axis=1) - total
        if (np.abs(excess) <= 0.01 * (1 + np.sqrt(spread))).all():
            break
        low, high = np.where(excess < 0, scale, low), np.where(excess > 0, scale, high)
        newton = scale - excess / np.maximum(spread, TINY)
        inside = (newton > low) & (newton < high)
        scale = np.where(inside, newton, (low + high) / 2)
    return np.asarray(mu * np.exp(scale)[:, None])


def _given_sum(weights: Floats, offset: NDArray[np.int64], size: int) -> tuple[Floats, Floats]:
    """The chance that the places of all cells add up to `offset`, and each cell's mean place given that.

    The others' generating function is the product of all before and all after a cell, so that nothing is
    divided by a number that may be nearly zero.
    """
    tables, cells, width = weights.shape
    functions = rfft(weights, size, axis=-1)
    moments = rfft(weights * np.arange(width), size, axis=-1)
    before = np.ones_like(functions)
    after = np.ones_like(functions)
    np.cumprod(functions[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumprod(functions[:, :0:-1], axis=1)[:, ::-1]
    rows = np.arange(tables)
    chance = irfft(before[:, -1] * functions[:, -1], size, axis=-1)[rows, offset]
    joint = irfft(before * after * moments, size, axis=-1)[rows[:, None], np.arange(cells), offset[:, None]]
    return chance, joint / np.maximum(chance, TINY)[:, None]
