"""The likelihood of released tables, with the noise in it: Poisson, Poisson with wide noise, and multinomial.

    P(x | mu) = sum over n of  Poisson(n; mu) P(x | n),      E(n | x, mu) = sum of n times the same terms / their sum

The maximum over all mu depends on x only and is found once for each distinct x; it is not always at mu = x.
Source: Rinott et al. (2018), section 6 and eq. 6.2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln

from discreet.errors import BadRequest
from discreet.inference.channel import Counts, Evidence, Floats, NoiseByCell, refuse_impossible, whole_numbers

GRID = 48
STEPS = 44
_GOLDEN = (np.sqrt(5) - 1) / 2


def highest_point(
    function: Callable[[Floats], Floats], low: Floats, high: Floats, *, grid: int = GRID, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """The maximum of many one-dimensional functions at once: its position and value.

    A grid finds the highest of several peaks, which noise tables with gaps can have; a golden section search refines it.
    Source: Kiefer (1953).

    >>> at, value = highest_point(lambda x: -((x - 2) ** 2), np.array([0.0]), np.array([9.0]))
    >>> bool(abs(at[0] - 2) < 1e-7)
    True
    """
    shares = np.linspace(0.0, 1.0, grid)
    heights = np.stack([function(low + share * (high - low)) for share in shares])
    best = heights.argmax(axis=0)
    left = low + shares[np.maximum(best - 1, 0)] * (high - low)
    right = low + shares[np.minimum(best + 1, grid - 1)] * (high - low)
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(steps):
        up = at_inner < at_outer
        left, right = np.where(up, inner, left), np.where(up, right, outer)
        fresh = np.where(up, left + _GOLDEN * (right - left), right - _GOLDEN * (right - left))
        at_fresh = function(fresh)
        inner, outer = np.where(up, outer, fresh), np.where(up, fresh, inner)
        at_inner, at_outer = np.where(up, at_outer, at_fresh), np.where(up, at_fresh, at_inner)
    at, value = np.where(at_inner >= at_outer, inner, outer), np.maximum(at_inner, at_outer)
    on_grid = heights[best, np.arange(len(low))]
    # A maximum at a bound is a point of the grid; the section only approaches it.
    better = on_grid >= value
    return np.where(better, low + shares[best] * (high - low), at), np.maximum(on_grid, value)


#: A mean of zero, as far as logarithms are concerned.
TINY = 1e-300


#: Counts below this have their log n! in a table.
_TABULATED, _MANY = 2**20, 4096


@cache
def _log_factorials() -> Floats:
    return np.asarray(gammaln(np.arange(1.0, _TABULATED + 1)))


def log_factorial(counts: Counts) -> Floats:
    """The log of n!, from a table where there are many small n.

    >>> log_factorial(np.array([0, 1, 3])).round(6).tolist()
    [0.0, 0.0, 1.791759]
    """
    if counts.size < _MANY or counts.max() >= _TABULATED:
        return np.asarray(gammaln(counts + 1.0))
    found: Floats = _log_factorials()[counts]
    return found


@dataclass(frozen=True, slots=True)
class CellTerms:
    """Precomputed terms of cells' likelihoods, relative to a count near the released one to keep all digits.

    Args:
        reference: A count of at least 1 near the released one.
        shift: The first considered count minus the reference.
        log_term: log P(x | n) + log(reference! / n!) + (n - reference) log reference.
    """

    reference: Floats
    shift: Floats
    log_term: Floats

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        counts = evidence.counts
        reference = np.clip(evidence.released, 1, np.maximum(counts[..., -1], 1)).astype(np.float64)
        n = np.maximum(counts, 0)
        with np.errstate(divide="ignore"):
            log_term = np.log(evidence.chance)
        log_term += gammaln(reference + 1)[..., None] - log_factorial(n)
        log_term += (n - reference[..., None]) * np.log(reference)[..., None]
        return cls(reference, evidence.first - reference, log_term)

    def take(self, index: Counts) -> Self:
        return type(self)(self.reference[index], self.shift[index], self.log_term[index])

    def weights(self, mu: Floats) -> tuple[Floats, Floats]:
        """P(n | x, mu) for each considered count n, and log P(x | mu)."""
        mu = np.maximum(mu, TINY)
        ratio = np.log(mu / self.reference)
        terms: Floats = np.arange(float(self.log_term.shape[-1])) * ratio[..., None]
        terms += self.log_term
        top = terms.max(axis=-1)
        np.exp(terms - top[..., None], out=terms)
        mass = terms.sum(axis=-1)
        log_mass = np.log(mass) + top
        # Poisson(reference; mu) relative to Poisson(reference; reference), then that constant.
        relative = (self.reference + self.shift) * ratio - (mu - self.reference)
        own = self.reference * np.log(self.reference) - self.reference - gammaln(self.reference + 1)
        terms /= mass[..., None]
        return terms, log_mass + relative + own

    def mean(self, weights: Floats) -> Floats:
        places: Floats = weights @ np.arange(weights.shape[-1], dtype=np.float64)
        return np.asarray(np.maximum(self.reference + self.shift + places, 0.0))


@dataclass(frozen=True, slots=True)
class PoissonLikelihood:
    """Independent Poisson cells, convolved with the noise; tables along the first axis."""

    evidence: Evidence
    terms: CellTerms

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        return cls(evidence, CellTerms.of(evidence))

    def take(self, index: Counts) -> Self:
        return type(self)(self.evidence.take(index), self.terms.take(index))

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        weights, log_chance = self.terms.weights(mu)
        return log_chance.reshape(len(mu), -1).sum(axis=1), self.terms.mean(weights)

    def free_maximum(self) -> tuple[Floats, Floats]:
        flat = self.evidence.released.ravel()
        # Impossible cells have another window, so the released count alone is not a key.
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
        return top[back].reshape(len(back), -1).sum(axis=1), mu[back]


#: A part e^-38 of a likelihood is below its rounding error.
_DEPTH = 38.0
#: The narrowest window, and the numbers summed at a time.
_NARROWEST_WINDOW = 32
_WIDE_ROOM = 2_000_000
_GRID, _STEPS = 16, 34


class FlatDistributions:
    """All distributions in one array, indexed by kind and noise."""

    def __init__(self, noise: NoiseByCell) -> None:
        distributions = [kept.distribution for kept in noise.distributions]
        self.lowest = np.array([distribution.first for distribution in distributions])
        self.highest = np.array([distribution.last for distribution in distributions])
        self.start = np.cumsum([0, *(len(distribution.chances) for distribution in distributions)])[:-1]
        self.chances = np.concatenate([distribution.chances for distribution in distributions])
        with np.errstate(divide="ignore"):
            self.log_chances = np.log(self.chances)
            self.log_most = np.log(np.array([distribution.chances.max() for distribution in distributions]))

    def place(self, kind: Counts, noise: Counts) -> Counts:
        """The index of a noise value inside the distribution of a kind."""
        found: Counts = self.start[kind] + noise - self.lowest[kind]
        return found


@dataclass(frozen=True, slots=True)
class WideEvidence:
    """The evidence of released counts under wide noise, evaluated on demand."""

    released: Counts
    kind: Counts
    distributions: FlatDistributions

    @classmethod
    def of(cls, released: Counts, noise: NoiseByCell) -> Self:
        """The evidence of a batch of released tables.

        Raises:
            BadRequest: A value whose probability is below the truncated part of its distribution.
        """
        cells = whole_numbers(released)
        found = cls(cells, np.broadcast_to(noise.kind, cells.shape), FlatDistributions(noise))
        refuse_impossible(cells, found.last >= 0)
        return found

    @property
    def first(self) -> Counts:
        """The smallest possible count for each released one."""
        return np.asarray(np.maximum(self.released - self.distributions.highest[self.kind], 0))

    @property
    def last(self) -> Counts:
        """The largest; below zero where none is possible."""
        return np.asarray(self.released - self.distributions.lowest[self.kind])

    def take(self, index: Counts) -> Self:
        return type(self)(self.released[index], self.kind[index], self.distributions)

    def sure_zero(self) -> NDArray[np.bool_]:
        return np.asarray(self.last == 0)

    def allows_zero(self) -> NDArray[np.bool_]:
        return np.asarray(self.first == 0)

    def window(self, first: Counts, width: int) -> Evidence:
        """The evidence of flattened cells for the counts first, first + 1, ..."""
        noise = self.released[:, None] - first[:, None] - np.arange(width)
        kind = self.kind[:, None]
        inside = (noise >= self.distributions.lowest[kind]) & (noise <= self.distributions.highest[kind])
        place = self.distributions.place(kind, np.where(inside, noise, self.distributions.lowest[kind]))
        return Evidence(self.released, first, np.where(inside, self.distributions.chances[place], 0.0))


@dataclass(frozen=True, slots=True)
class WidePoisson:
    """Independent Poisson cells, convolved with wide noise; tables along the first axis.

    Noise can span thousands of counts while Poisson(n; mu) is narrow. With q the distribution of the cell's noise and n0 the
    possible count nearest to mu, only counts in (mu - t', mu + t) are summed:

        P(Poisson(mu) outside) max q  <=  e^-D max q  <=  e^-38 Poisson(n0; mu) q(x - n0)  <=  e^-38 P(x | mu),
        t = D/3 + sqrt(D^2/9 + 2 D mu),   t' = sqrt(2 D mu)   (Bernstein's inequality),

    so no digit of P(x | mu) is lost, for any q. Source: Boucheron, Lugosi & Massart (2013), section 2.4.
    """

    evidence: WideEvidence

    @classmethod
    def of(cls, released: Counts, noise: NoiseByCell) -> Self:
        return cls(WideEvidence.of(released, noise))

    def take(self, index: Counts) -> Self:
        return type(self)(self.evidence.take(index))

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        seen = self.evidence
        cells = WideEvidence(seen.released.ravel(), seen.kind.ravel(), seen.distributions)
        log_chance, mean = cell_sums(cells, mu.ravel())
        return log_chance.reshape(len(mu), -1).sum(axis=1), mean.reshape(mu.shape)

    def free_maximum(self) -> tuple[Floats, Floats]:
        seen = self.evidence
        keys = np.stack([seen.released.ravel(), seen.kind.ravel()], axis=1)
        distinct, back = np.unique(keys, axis=0, return_inverse=True)
        cells = WideEvidence(distinct[:, 0], distinct[:, 1], seen.distributions)
        low, high = cells.first.astype(np.float64), cells.last.astype(np.float64)
        # Wide noise has one peak, and a mean within a thousandth of its deviation is near enough to it.
        mu, top = highest_point(lambda at: cell_sums(cells, at)[0], low, high, grid=_GRID, steps=_STEPS)
        back = back.reshape(seen.released.shape)
        return top[back].reshape(len(seen.released), -1).sum(axis=1), mu[back]


def cell_sums(cells: WideEvidence, mu: Floats) -> tuple[Floats, Floats]:
    """Log P(x | mu) and E(n | x, mu) of flattened cells."""
    first, width = _windows(cells, np.maximum(mu, TINY))
    log_chance, mean = np.empty(len(mu)), np.empty(len(mu))
    for size in np.unique(width):
        same = np.flatnonzero(width == size)
        step = max(1, _WIDE_ROOM // int(size))
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
    at_nearest = cells.distributions.log_chances[
        cells.distributions.place(cells.kind, cells.released - nearest)
    ]
    log_poisson = nearest * np.log(mu) - mu - gammaln(nearest + 1.0)
    depth = _DEPTH + cells.distributions.log_most[cells.kind] - at_nearest - log_poisson
    depth = np.where(np.isfinite(depth), np.maximum(depth, _DEPTH), np.inf)
    with np.errstate(invalid="ignore"):
        up = mu + depth / 3 + np.sqrt(depth**2 / 9 + 2 * depth * mu)
        down = mu - np.sqrt(2 * depth * mu)
    # A window holds the nearest possible count, and one more at each end against rounding.
    low = np.maximum(np.minimum(np.floor(down) - 1, nearest), least).astype(np.int64)
    high = np.minimum(np.maximum(np.ceil(up) + 1, nearest), most).astype(np.int64)
    wanted = np.maximum(high - low + 1, _NARROWEST_WINDOW)
    # Widths are rounded up to powers of sqrt(2), so that few distinct ones remain.
    width = np.ceil(2.0 ** (np.ceil(2 * np.log2(wanted)) / 2)).astype(np.int64)
    return np.maximum(np.minimum(low, most - width + 1), least), width


#: Maximum number of steps of the search for the scale, which converges like Newton's method.
_SCALE_STEPS = 60
#: Maximum size of one transform.
_TRANSFORM_ROOM = 2**22


@dataclass(frozen=True, slots=True)
class MultinomialLikelihood:
    """Multinomial tables with a public total, convolved with the noise; tables along the first axis.

    With Poisson(mu) counts and their sum N known, P(x | N, p) = P(x, sum of n = N | mu) / Poisson(N; sum of mu) for any
    scale of mu; p = mu / sum of mu. The probability that the counts add up to N, and the expected count of each cell given
    that, come from products of the cells' generating functions at the roots of unity, at a scale where N is likely.
    Source: Rinott et al. (2018), section 6 ("Poisson and multinomial"); Barlow & Heidtmann (1984) for the transform.

    Args:
        terms: Its terms, with the cells of a table flattened.
    """

    evidence: Evidence
    terms: CellTerms
    total: Counts

    @classmethod
    def of(cls, evidence: Evidence, total: int | Counts) -> Self:
        """The likelihood of a batch of released tables.

        Raises:
            BadRequest: No true table that is possible for the released one has this total.
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

    def take(self, index: Counts) -> Self:
        return type(self)(self.evidence.take(index), self.terms.take(index), self.total[index])

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        cells = mu.reshape(len(mu), -1)
        size = next_fast_len(cells.shape[1] * (self.terms.log_term.shape[-1] - 1) + 1, real=True)
        step = max(1, _TRANSFORM_ROOM // (cells.shape[1] * size))
        pieces = [np.arange(at, min(at + step, len(mu))) for at in range(0, len(mu), step)]
        parts = [_expect(self.terms.take(piece), self.total[piece], cells[piece], size) for piece in pieces]
        log_likelihood = np.concatenate([part[0] for part in parts])
        return log_likelihood, np.concatenate([part[1] for part in parts]).reshape(mu.shape)


def _expect(terms: CellTerms, total: Counts, mu: Floats, size: int) -> tuple[Floats, Floats]:
    mu = _rescale(terms, total, mu)
    weights, log_chance = terms.weights(mu)
    offset = total - np.round((terms.reference + terms.shift).sum(axis=1)).astype(np.int64)
    chance, means = _given_sum(weights, offset, size)
    whole = mu.sum(axis=1)
    poisson = total * np.log(whole) - whole - gammaln(total + 1.0)
    log_sum = np.log(np.maximum(chance, TINY))
    return log_chance.sum(axis=1) + log_sum - poisson, np.maximum(terms.reference + terms.shift + means, 0.0)


def _rescale(terms: CellTerms, total: Counts, mu: Floats) -> Floats:
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


def _given_sum(weights: Floats, offset: Counts, size: int) -> tuple[Floats, Floats]:
    """The probability that the places of all cells add up to `offset`, and each cell's mean place given that.

    The generating function of the other cells is the product of all before and all after a cell, so there is no division
    by a number that may be nearly zero.
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
