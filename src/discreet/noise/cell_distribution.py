"""Distributions of the noise of one cell: a sum of independent draws from a noise row, and a rounded normal.

    P(S = s) = (p * p * ... * p)(s),   K factors

Up to `EXACT_TERMS` terms the sum is computed in integers: the masses are the digits of one large integer, and its K-th power
holds the masses of the sum (Kronecker substitution). Beyond, a Fourier transform on a window is used; `error` bounds the
total variation to the true distribution, and intervals are widened by it. Mean and variance are always exact fractions.

Source: von zur Gathen & Gerhard, Modern Computer Algebra, 8.4 (Kronecker); Chernoff's bound for the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import one_line
from discreet.model.noise_distribution import IntegerDistribution

if TYPE_CHECKING:
    from discreet.noise.table import NoiseRow


#: Integer arithmetic up to here: 24 terms of 64-bit keys are sums of 1,536-bit masses.
EXACT_TERMS = 24
#: And only while the large integer has at most this many bits.
MOST_BITS = 4_000_000
#: The probability outside the window of the transform.
OUTSIDE = 1e-15
_UNIT = 2.0**-53


class _OneForAllCounts:
    """What a distribution says that does not depend on the count."""

    __slots__ = ()

    @property
    def distributions(self) -> tuple[Self]:
        return (self,)

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros(np.shape(counts), dtype=np.int64)

    def half_width(self: IntegerDistribution, level: float) -> int:
        """The smallest h with P(|noise| <= h) >= level, `error` counted against it.

        >>> from discreet.noise.table import NoiseRow
        >>> SumDistribution(NoiseRow((-1, 0, 1), (1, 3, 4)), 1).half_width(0.4)
        0
        """
        if not 0 < level < 1:
            raise BadRequest(f"The level is {level}.", "Give a number between 0 and 1.")
        first, probabilities = self.distribution()
        by_size = np.bincount(np.abs(np.arange(first, first + probabilities.size)), probabilities)
        reached = np.flatnonzero(np.cumsum(by_size) >= level + self.error)
        return int(reached[0]) if reached.size else max(map(abs, self.reach))


@dataclass(frozen=True, slots=True)
class SumDistribution(_OneForAllCounts):
    """The distribution of the sum of `terms` independent draws from a noise row.

    >>> from discreet.noise.table import NoiseRow
    >>> SumDistribution(NoiseRow((-1, 0, 1), (1, 3, 4)), 2).exact_distribution()[0]
    Fraction(3, 8)
    """

    row: NoiseRow
    terms: int

    def __post_init__(self) -> None:
        if self.terms < 1:
            raise BadRequest(f"A sum of {self.terms} noise terms has no law.", "Give at least one.")

    @property
    def mean(self) -> Fraction:
        return self.terms * self.row.mean()

    @property
    def variance(self) -> Fraction:
        return self.terms * self.row.variance()

    @property
    def reach(self) -> tuple[int, int]:
        return self.terms * self.row.values[0], self.terms * self.row.values[-1]

    @property
    def exact(self) -> bool:
        if self.terms == 1:
            return True
        span = self.row.values[-1] - self.row.values[0] + 1
        bits = (self.row.modulus**self.terms).bit_length() + 1
        return self.terms <= EXACT_TERMS and span * self.terms * bits <= MOST_BITS

    @property
    def error(self) -> float:
        """A bound on the total variation between `distribution` and the true distribution."""
        return _sum_distribution(self.row, self.terms, exact=self.exact)[2]

    def exact_distribution(self) -> dict[int, Fraction]:
        """Every value with its probability as a fraction."""
        if not self.exact:
            raise BadRequest(f"The exact law of {self.terms} terms is too large.", "Use `law`.")
        first, masses = _power(self.row, self.terms)
        total = self.row.modulus**self.terms
        return {first + place: Fraction(mass, total) for place, mass in enumerate(masses) if mass}

    def distribution(self) -> tuple[int, NDArray[np.float64]]:
        """The smallest value and the probabilities from there on, as floats; off by at most `error`."""
        first, probabilities, _ = _sum_distribution(self.row, self.terms, exact=self.exact)
        return first, probabilities

    def __repr__(self) -> str:
        return one_line(self, f"of {self.terms} draws from {self.row!r}")


def combine_terms(distributions: Iterable[IntegerDistribution]) -> list[IntegerDistribution]:
    """Independent distributions with the same sum; draws from the same row are counted together.

    >>> from discreet.noise.table import NoiseRow
    >>> row = NoiseRow((-1, 1), (1, 2))
    >>> [distribution.terms for distribution in combine_terms([SumDistribution(row, 2), SumDistribution(row, 3)])]
    [5]
    """
    terms: dict[NoiseRow, int] = {}
    others: list[IntegerDistribution] = []
    for distribution in distributions:
        if isinstance(distribution, SumDistribution):
            terms[distribution.row] = terms.get(distribution.row, 0) + distribution.terms
        else:
            others.append(distribution)
    return [*(SumDistribution(row, number) for row, number in terms.items()), *others]


@lru_cache(maxsize=256)
def _sum_distribution(row: NoiseRow, terms: int, *, exact: bool) -> tuple[int, NDArray[np.float64], float]:
    if exact:
        (first, masses), total = _power(row, terms), row.modulus**terms
        probabilities, error = np.array([mass / total for mass in masses]), _UNIT
    else:
        first, probabilities, error = _by_fourier(row, terms)
    probabilities.flags.writeable = False
    return first, probabilities, error


@lru_cache(maxsize=64)
def _power(row: NoiseRow, terms: int) -> tuple[int, tuple[int, ...]]:
    """The first value and the integer masses of the sum."""
    slot, first = (row.modulus**terms).bit_length() + 1, row.values[0]  # all masses add up to modulus^terms
    if terms == 1:
        distribution = dict(zip(row.values, row.masses(), strict=True))
        return first, tuple(distribution.get(value, 0) for value in range(first, row.values[-1] + 1))
    packed = sum(mass << slot * (value - first) for value, mass in zip(row.values, row.masses(), strict=True))
    power, mask = packed**terms, (1 << slot) - 1
    width = (row.values[-1] - first) * terms + 1
    # From bytes: shifting the integer would copy all of it each time.
    raw = power.to_bytes((power.bit_length() + 7) // 8, "little")
    places = (divmod(start, 8) for start in range(0, slot * width, slot))
    pieces = ((raw[begin : begin + slot // 8 + 2], shift) for begin, shift in places)
    return terms * first, tuple(int.from_bytes(piece, "little") >> shift & mask for piece, shift in pieces)


def _by_fourier(row: NoiseRow, terms: int) -> tuple[int, NDArray[np.float64], float]:
    """The distribution on a window, by Fourier transform.

    Mass outside the window is folded into it and is at most `OUTSIDE`. A transform of N points errs by at most
    4 u log2 N in each value, a K-th power by K times that, and by Parseval the probabilities by at most sqrt(N) / 2 times
    that in total variation.
    """
    values = np.array(row.values, dtype=np.int64)
    probabilities = np.array([mass / row.modulus for mass in row.masses()])
    reach = min(_reach(values, probabilities, terms), terms * int(np.abs(values).max()))
    points = 1 << (2 * max(reach, int(np.abs(values).max())) + 1).bit_length()
    grid = np.zeros(points)
    np.add.at(grid, values % points, probabilities)
    folded = np.maximum(np.fft.irfft(np.fft.rfft(grid) ** terms, points), 0.0)
    distribution = np.concatenate([folded[points - reach :], folded[: reach + 1]])
    rounding = math.sqrt(points) / 2 * terms * 4 * _UNIT * math.log2(points)
    return -reach, distribution, OUTSIDE + rounding


def _reach(values: NDArray[np.int64], probabilities: NDArray[np.float64], terms: int) -> int:
    """The reach of the sum except for `OUTSIDE`: Chernoff's bound, min over t of (K log M(t) - log(OUTSIDE/2)) / t."""
    spread = math.sqrt(float(values**2 @ probabilities) * terms)
    if spread == 0:
        return 0
    rates = np.geomspace(0.01 / spread, 20 / spread, 200)
    bounds = []
    for sign in (1, -1):
        logs = np.logaddexp.reduce(np.log(probabilities) + rates[:, None] * (sign * values), axis=1)
        bounds.append(float(((terms * logs - math.log(OUTSIDE / 2)) / rates).min()))
    return math.ceil(max(bounds))


#: Values beyond this many standard deviations are dropped; their probability is below 1e-14.
KEPT = 8.0
_BEYOND = 1e-14


@dataclass(frozen=True, slots=True)
class RoundedNormalDistribution(_OneForAllCounts):
    """A normal variable rounded to integers: the noise of a cell of a joint universe.

        P(noise = z) = Φ((z + 1/2)/σ) - Φ((z - 1/2)/σ)

    The cell is a linear function of many discrete Gaussian noises on fine grids; the true count is an integer, so
    rounding the value rounds the noise. If the coarsest noise spans s grid steps per standard deviation, the sum over its
    grid differs from this distribution by about 1/(24 s²), the error of the midpoint rule.

    Args:
        steps: Grid steps per standard deviation of the coarsest noise.

    >>> noise = RoundedNormalDistribution(100.0, 80.0)
    >>> noise.half_width(0.95), float(noise.variance) > 100
    (20, True)
    """

    unrounded: float
    steps: float

    @property
    def mean(self) -> Fraction:
        return Fraction(0)

    @property
    def variance(self) -> Fraction:
        """The variance of the rounded value: rounding adds 1/12."""
        return Fraction(self.unrounded) + Fraction(1, 12)

    @property
    def reach(self) -> tuple[int, int]:
        widest = math.ceil(KEPT * math.sqrt(self.unrounded)) + 1
        return -widest, widest

    @property
    def error(self) -> float:
        return _BEYOND + 1 / (24 * self.steps**2)

    def distribution(self) -> tuple[int, NDArray[np.float64]]:
        return self.reach[0], _chances(self.unrounded, self.reach[1])

    def __repr__(self) -> str:
        return one_line(self, f"of standard deviation {math.sqrt(self.unrounded):.4g}, rounded")


@lru_cache(maxsize=256)
def _chances(variance: float, widest: int) -> NDArray[np.float64]:
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, and few tables need it

    ends = (np.arange(-widest, widest + 2) - 0.5) / math.sqrt(variance)
    # From the nearer tail, so that small chances keep their digits.
    chances = np.where(ends[1:] <= 0, ndtr(ends[1:]) - ndtr(ends[:-1]), ndtr(-ends[:-1]) - ndtr(-ends[1:]))
    chances.flags.writeable = False
    return np.asarray(chances)
