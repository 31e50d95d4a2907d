"""The Poisson likelihood of released counts: true counts are Poisson, the release adds its noise.

    P(x | mu) = sum over n of  e^-mu mu^n / n!  P(x | n)
    E(n | x, mu) = sum of n times the same terms / their sum

Both come from one pass over the few n that could lie behind x. Terms are taken relative to a count nearby, so
that counts in the millions lose no digits. The unrestricted maximum depends on x alone and is found for each
distinct x once, by a grid and a golden section: it is not always mu = x.

Source: Rinott et al. (2018), eq. 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import gammaln

from discreet.inference.peak import highest_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.channel import Evidence

#: A mean of zero, as far as logarithms are concerned.
TINY = 1e-300


#: Counts below this have their log n! in a table.
_TABULATED, _MANY = 2**20, 4096


@cache
def _log_factorials() -> NDArray[np.float64]:
    return np.asarray(gammaln(np.arange(1.0, _TABULATED + 1)))


def log_factorial(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log of n!, from a table where there are many and none is large.

    >>> log_factorial(np.array([0, 1, 3])).round(6).tolist()
    [0.0, 0.0, 1.791759]
    """
    if counts.size < _MANY or counts.max() >= _TABULATED:
        return np.asarray(gammaln(counts + 1.0))
    found: NDArray[np.float64] = _log_factorials()[counts]
    return found


@dataclass(frozen=True, slots=True)
class CellTerms:
    """The likelihood of cells, prepared: log terms relative to a reference count near the released one.

    Args:
        reference: A count of at least 1 near the released one.
        shift: The first considered count minus the reference.
        log_term: log P(x | n) + log(reference! / n!) + (n - reference) log reference.
    """

    reference: NDArray[np.float64]
    shift: NDArray[np.float64]
    log_term: NDArray[np.float64]

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """Prepare the evidence of cells."""
        counts = evidence.counts
        reference = np.clip(evidence.released, 1, np.maximum(counts[..., -1], 1)).astype(np.float64)
        n = np.maximum(counts, 0)
        with np.errstate(divide="ignore"):
            log_term = np.log(evidence.chance)
        log_term += gammaln(reference + 1)[..., None] - log_factorial(n)
        log_term += (n - reference[..., None]) * np.log(reference)[..., None]
        return cls(reference, evidence.first - reference, log_term)

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables (or cells), along the first axis."""
        return type(self)(self.reference[index], self.shift[index], self.log_term[index])

    def weights(self, mu: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The chance of each considered count given x and mu, and log P(x | mu)."""
        mu = np.maximum(mu, TINY)
        ratio = np.log(mu / self.reference)
        terms: NDArray[np.float64] = np.arange(float(self.log_term.shape[-1])) * ratio[..., None]
        terms += self.log_term
        top = terms.max(axis=-1)
        np.exp(terms - top[..., None], out=terms)
        mass = terms.sum(axis=-1)
        log_mass = np.log(mass) + top
        # Poisson(reference; mu) relative to Poisson(reference; reference), then that constant.
        relative = (self.reference + self.shift) * ratio - (mu - self.reference)
        terms /= mass[..., None]
        return terms, log_mass + relative + _at_own_mean(self.reference)

    def mean(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean count under such weights."""
        places: NDArray[np.float64] = weights @ np.arange(weights.shape[-1], dtype=np.float64)
        return np.asarray(np.maximum(self.reference + self.shift + places, 0.0))


def _at_own_mean(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log of Poisson(n; n)."""
    return np.asarray(count * np.log(count) - count - gammaln(count + 1))


@dataclass(frozen=True, slots=True)
class PoissonLikelihood:
    """Independent Poisson cells, convolved with the noise; tables along the first axis.

    Args:
        evidence: What the released counts say.
        terms: The same, prepared.
    """

    evidence: Evidence
    terms: CellTerms

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """The likelihood of a batch of released tables."""
        return cls(evidence, CellTerms.of(evidence))

    @property
    def tables(self) -> int:
        """How many tables the batch has."""
        return len(self.evidence.released)

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables."""
        return type(self)(self.evidence.take(index), self.terms.take(index))

    def expect(self, mu: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The log-likelihood of each table, and the expected true count of each cell."""
        weights, log_chance = self.terms.weights(mu)
        return log_chance.reshape(len(mu), -1).sum(axis=1), self.terms.mean(weights)

    def unrestricted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The largest log-likelihood of each table with a mean of its own for every cell, and those means."""
        flat = self.evidence.released.ravel()
        # A cell that cannot occur has a window of its own: the released count alone does not tell it apart.
        kind = np.zeros_like(flat) if self.evidence.kind is None else self.evidence.kind.ravel()
        keys = np.stack([flat, self.evidence.first.ravel(), kind], axis=1)
        _, where, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        width = self.evidence.chance.shape[-1]
        cells = CellTerms(
            self.terms.reference.ravel()[where],
            self.terms.shift.ravel()[where],
            self.terms.log_term.reshape(-1, width)[where],
        )
        counts = self.evidence.first.ravel()[where]
        chance = self.evidence.chance.reshape(-1, width)[where] > 0
        low = np.maximum(counts + chance.argmax(axis=1), 0)
        high = np.maximum(counts + width - 1 - chance[:, ::-1].argmax(axis=1), 0)
        mu, top = highest_point(lambda at: cells.weights(at)[1], low.astype(float), high.astype(float))
        back = back.reshape(self.evidence.released.shape)
        return top[back].reshape(self.tables, -1).sum(axis=1), mu[back]
