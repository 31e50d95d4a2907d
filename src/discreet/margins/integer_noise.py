"""Integer noise for coefficients and cells: audited noise tables, the δ reserved for their grid, and sums of noises.

Every method adds noise to integers before any float, and every noise is looked up in a `NoiseTable`. A `NoiseSource` gives
"noise from this table, for this named object": keyed by a dataset, or seeded for studies.
Wide Laplace noise would need a table of millions of values; it is decomposed exactly instead:

    DL(b) = t·DL(b/t) + R,   P(R = d) ∝ a^|d| (1 - a^(2(t-|d|))),  |d| < t,  a = e^(-1/b),

since DL is a difference of two geometric variables, and the quotient and remainder of a geometric variable by t
are independent.

Integers ship where the accounting assumes the Gaussian distribution: a table of 2^64 keys is cut and rounded (total
variation below `CUT` for each noise), and integers are a grid (the δ of a grid oscillates about the Gaussian's, relatively
by at most `GRID`). `gaussian_reserve` reserves δ for both: δ + (1 + e^ε)·TV bounds a distribution at total variation TV.

Source: Ghosh, Roughgarden & Sundararajan (2012); Micciancio & Regev (2007) for the smoothing of lattices; docs/methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InfeasibleDesign
from discreet.noise.families.gaussian import last_key_m as last_gaussian_key
from discreet.noise.families.laplace import laplace
from discreet.noise.ideal_distribution import DIGITS, IdealTable, row_from_weights
from discreet.noise.quantise import quantise
from discreet.noise.table import NoiseTable
from discreet.privacy.composition import gaussian_delta

#: Keys of the noise tables, as everywhere in the `dp` protection.
KEYS = 2**64
#: Laplace tables wider than this are decomposed.
WIDEST_TABLE = 512
#: Gaussian tables are at most this wide.
WIDEST_GAUSSIAN = 20_000
_BITS = 256


#: `size` independent noises from a one-row table, for the cells of a named object: (table, name, size).
NoiseSource = Callable[[NoiseTable, str, int], NDArray[np.int64]]


class SeededNoise:
    """Noise from a NumPy generator, for papers' tables and studies: the seed reveals the noise.

    >>> from discreet.noise import laplace
    >>> table = laplace(epsilon=1.0, modulus=2**64)
    >>> SeededNoise(1)(table, "AB", 3).tolist() == SeededNoise(1)(table, "AB", 3).tolist()
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:  # noqa: ARG002 - the protocol's
        keys = self._random.integers(0, table.modulus - 1, size, dtype=np.uint64, endpoint=True)
        return look_up(table, keys)


def look_up(table: NoiseTable, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The noise of each key in a table of one row, which does not depend on the count."""
    if len(table.rows) != 1:
        raise InfeasibleDesign("Noise on coefficients needs a table of one row: one law for every count.")
    return table.noise(np.zeros(keys.shape, dtype=np.int64), keys)


@dataclass(frozen=True, slots=True)
class IntegerNoise:
    """An integer distribution with its moments; its tables are made when it is first drawn from.

    Args:
        family: "laplace" or "gaussian".
        scale: 1/rate for Laplace, σ for Gaussian noise, in counts; 0 without noise.
        variance: Of the ideal distribution, in counts.
        mean_absolute: E|noise| of the ideal distribution, in counts.
        grid: The noise is added to `grid` times the count: a fine grid of integers for small noise.
    """

    family: str
    scale: float
    variance: float
    mean_absolute: float
    grid: int = 1

    @property
    def parts(self) -> tuple[tuple[int, NoiseTable], ...]:
        """(step, table) pairs; the noise is Σ step · table's noise, each with separate keys."""
        if not self.scale:
            return ()
        return (
            laplace_tables(self.scale)
            if self.family == "laplace"
            else gaussian_tables(self.scale * self.grid)
        )

    def add_to(self, counts: NDArray[np.int64], source: NoiseSource, name: str) -> NDArray[np.float64]:
        """Counts with their noise: integers first, then divided by the grid."""
        drawn = self.draw(source, name, counts.size).reshape(counts.shape)
        return np.asarray((self.grid * counts + drawn) / self.grid)

    def draw(self, source: NoiseSource, name: str, size: int) -> NDArray[np.int64]:
        """Independent noises for the cells of a named object."""
        named = ((step, table, name if step == 1 else f"{name}/{step}") for step, table in self.parts)
        drawn = (step * source(table, each, size) for step, table, each in named)
        return np.asarray(sum(drawn, start=np.zeros(size, dtype=np.int64)))

    @property
    def cut(self) -> float:
        """An upper bound on the total variation distance of the tables from the ideal: one key per value."""
        return sum(2 * table.largest + 3 for _, table in self.parts) / KEYS


#: The noise of a public margin.
PUBLIC = IntegerNoise("laplace", 0.0, 0.0, 0.0)


def laplace_noise(scale: float) -> IntegerNoise:
    """Discrete Laplace noise p(z) ∝ e^(-|z|/scale).

    >>> round(laplace_noise(2.0).variance, 4)
    7.8354
    """
    return IntegerNoise("laplace", scale, 0.5 / math.sinh(0.5 / scale) ** 2, 1 / math.sinh(1 / scale))


@lru_cache(maxsize=1024)
def laplace_tables(scale: float) -> tuple[tuple[int, NoiseTable], ...]:
    """One table, or for wide noise the tables of quotient and remainder."""
    rate = 1 / scale
    widest = math.floor((math.log(KEYS) + math.log(math.tanh(rate / 2))) / rate)
    if widest <= WIDEST_TABLE:
        return ((1, laplace(epsilon=rate, modulus=KEYS)),)
    step = math.isqrt(widest)
    # The difference of two geometric remainders modulo `step`: a^|d| Σ_{r < step-|d|} a^(2r).
    ratio = int(DIGITS.multiply((-Decimal(rate)).exp(DIGITS), Decimal(2**_BITS)))
    powers = list(accumulate(range(2 * step), lambda power, _: power * ratio >> _BITS, initial=1 << _BITS))
    sums = [0, *accumulate(powers[0 : 2 * step : 2])]
    half = [powers[d] * sums[step - d] >> _BITS for d in range(step)]
    row = row_from_weights(range(1 - step, step), [*reversed(half[1:]), *half])
    return (
        (step, laplace(epsilon=step * rate, modulus=KEYS)),
        (1, quantise(IdealTable((row,), 1, "geometric remainder", {"rate": rate, "step": step}), KEYS)),
    )


def gaussian_noise(sigma: float, grid: int = 1) -> IntegerNoise:
    """Discrete Gaussian noise p(z) ∝ e^(-z²/2σ²) on multiples of 1/grid, cut where the keys end.

    >>> round(gaussian_noise(3.0).variance, 6)
    9.0
    """
    spread = sigma * grid
    if last_gaussian_key(spread**2, KEYS) > WIDEST_GAUSSIAN:
        raise InfeasibleDesign(
            f"Gaussian noise of standard deviation {sigma:.4g} needs a table wider than ±{WIDEST_GAUSSIAN}.",
            "Take a larger epsilon or delta, or fewer margins.",
        )
    z = np.arange(1.0, math.ceil(12 * spread) + 2)
    weights = np.exp(-(z**2) / (2 * spread**2))
    total = 1 + 2 * float(weights.sum())
    second, first = 2 * float(weights @ z**2) / total, 2 * float(weights @ z) / total
    return IntegerNoise("gaussian", sigma, second / grid**2, first / grid, grid)


@lru_cache(maxsize=1024)
def gaussian_tables(spread: float) -> tuple[tuple[int, NoiseTable], ...]:
    """The table of discrete Gaussian noise of standard deviation `spread`, in steps of the grid."""
    variance = spread * spread
    cut = last_gaussian_key(variance, KEYS)
    # e^(-z²/2V) for z = 0..cut as integers: each ratio to the next is e^(-1/V) times the one before.
    rate = DIGITS.divide(Decimal(1), 2 * Decimal(variance))
    ratio = int(DIGITS.multiply((-rate).exp(DIGITS), Decimal(2**_BITS)))
    fall = int(DIGITS.multiply((-2 * rate).exp(DIGITS), Decimal(2**_BITS)))
    ratios = accumulate(range(1, cut), lambda each, _: each * fall >> _BITS, initial=ratio)
    half = list(accumulate(ratios, lambda power, each: power * each >> _BITS, initial=1 << _BITS))
    row = row_from_weights(range(-cut, cut + 1), [*reversed(half[1:]), *half])
    return ((1, quantise(IdealTable((row,), 1, "gaussian", {"V": variance, "m": cut}), KEYS)),)


#: Total variation distance of one table from its ideal, at most: `IntegerNoise.cut` for the widest table.
CUT = (2 * WIDEST_GAUSSIAN + 3) / KEYS
#: The relative change of δ by the integer grid, at most; `grid_steps` makes it hold at every (ε, δ).
GRID = 1e-3
#: A noise spans at least this many steps: all but one line of the dual grid is then negligible (below 1e-30).
FEWEST_STEPS = 8
#: The most that centred integers add to ε, for everything released together.
LATTICE_LOSS = 1e-12
_POINTS = 20_001


def gaussian_reserve(epsilon: float, delta: float, noises: int) -> float:
    """The δ that is left for the Gaussian distribution when `noises` tables of integers ship.

    >>> gaussian_reserve(1.0, 1e-6, 2000) > 0.998e-6
    True
    """
    left = (delta - (1 + math.exp(epsilon)) * noises * CUT) * (1 - GRID)
    if left <= 0:
        raise InfeasibleDesign(
            f"delta = {delta:g} is less than the cut of the noise tables costs for {noises:,} cells.",
            "Take a larger delta, or pure Laplace noise (delta 0).",
        )
    return left


def grid_steps(epsilon: float, mu: float) -> float:
    """How many integer steps a standard deviation must span, so that the grid changes δ by at most `GRID` of itself.

    δ is the sum over a grid of H(u) = max(0, φ(u) - e^ε φ(u + μ)), which has one kink, at t = ε/μ - μ/2. By Poisson
    summation the sum differs from the integral by the Fourier transform of H at the dual grid, whose vectors are at
    least s long. It is at most V / (2π y)² at y, with V the total variation of H', and dual vectors off the line
    of the shift are damped by e^(-2π² distance²). Those near the line are at least s √(3/4) apart, hence

        |sum - integral| ≤ 2 Σ_j V / (2π j)² / (3 s²/4) = V / (9 s²).

    >>> round(grid_steps(1.0, 0.24), 1), round(grid_steps(0.01, 0.26), 1)
    (72.0, 18.3)
    """
    kink = epsilon / mu - mu / 2
    beyond = np.linspace(0.0, math.sqrt(kink**2 + 120) - kink, _POINTS)
    at = kink + beyond
    # H' in units of φ(t).
    slope = np.exp(-beyond * (kink + beyond / 2)) * ((at + mu) * np.exp(-mu * beyond) - at)
    variation = 1.01 * float(slope[0] + np.abs(np.diff(slope)).sum())
    density = math.exp(-(kink**2) / 2) / math.sqrt(2 * math.pi)
    return max(FEWEST_STEPS, math.sqrt(variation * density / (9 * GRID * gaussian_delta(mu, epsilon))))


def centring_loss(sigma: float, blocks: Iterable[tuple[int, int]]) -> float:
    """The addition to ε by integer noise of standard deviation `sigma` of which only the centred table is released.

    Centring a block of k categories removes multiples of its all-ones line, a lattice of spacing √k. Under noise of
    standard deviation s its cosets have equal weight up to a factor (1 ± e), where for N such lines

        e ≤ (1 + 2 Σ_{i≥1} e^(-2π² s² i²/k))^N - 1.

    Args:
        sigma: In steps of the grid.
        blocks: (k, N) for each axis; each adds log((1+e)/(1-e)).

    >>> centring_loss(15.0, [(21, 12), (12, 21)]) < 1e-80, centring_loss(15.0, [(1000, 1)]) > 0.04
    (True, True)
    """
    loss = 0.0
    for size, lines in blocks:
        fall = math.exp(-2 * (math.pi * sigma) ** 2 / size)
        uneven = math.expm1(min(lines * math.log1p(2 * fall / (1 - fall)), 1.0)) if fall < 1 else 1.0
        if uneven >= 1:
            return math.inf
        loss += 2 * math.atanh(uneven)
    return loss


def fine_grid(sigma: float, epsilon: float, mu: float) -> int:
    """The number of integer steps per count that makes noise of `sigma` counts a fine grid.

    >>> fine_grid(4.2, 1.0, 0.24), fine_grid(100.0, 1.0, 0.24)
    (18, 1)
    """
    return max(1, math.ceil(grid_steps(epsilon, mu) / sigma))


#: From this scale on the grid of integers is negligible.
SMOOTH = 4.0
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(120)
_GRID = 2**14
_RANGE = 80.0
_PERIODS = 24


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """Σ of `times` independent discrete Laplace noises of scale `scales`, each multiplied by `weights`.

    With noise of scale s and rate r = 1/s the characteristic function is (cosh r - 1)/(cosh r - cos t), so

        φ(t) = Π (cosh r_i - 1)/(cosh r_i - cos(weight_i t)),
        E|X| = (2/π) ∫ (1 - φ(t)) / t² dt,      P(X ≤ x) = 1/2 + (1/π) ∫ φ(t) sin(xt)/t dt     (t from 0 to ∞).

    For scales from 4 on the continuous distribution of the same variance, 1/(1 + b²t²) with b = 1/(2 sinh(r/2)), is used:
    it is off by a factor of at most cosh(r/2), 0.8 % at scale 4 and 0.03 % at 20.

    Source: Gil-Pelaez (1951); von Bahr (1965) for the absolute moment.

    >>> one = LaplaceSum.of([(1.0, 1, 30.0)])
    >>> round(one.mean_absolute(), 2), round(one.half_width(0.9) / math.log(10), 2)
    (30.0, 30.0)
    >>> round(LaplaceSum.of([(1.0, 1, 1.0)]).mean_absolute(), 3)  # 1/sinh(1)
    0.851
    """

    weights: NDArray[np.float64]
    times: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, terms: Sequence[tuple[float, float, float]]) -> LaplaceSum:
        """From (weight, times, scale) triples; those of no effect are left out."""
        kept = [(abs(weight), times, scale) for weight, times, scale in terms if weight and times and scale]
        return cls(*(np.array([term[i] for term in kept], dtype=np.float64) for i in range(3)))

    @property
    def _smooth_weights(self) -> NDArray[np.float64]:
        """Weight · b, where b has the variance of the discrete noise."""
        return np.asarray(self.weights / (2 * np.sinh(0.5 / self.scales)))

    @property
    def variance(self) -> float:
        """2 Σ times · (weight · b)²."""
        return 2 * float(self.times @ self._smooth_weights**2)

    def _smooth(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-np.log1p(np.multiply.outer(t**2, self._smooth_weights**2)) @ self.times))

    def mean_absolute(self) -> float:
        """E|X|."""
        if not self.weights.size:
            return 0.0
        felt = self.weights >= 0.01 * self.weights.max()
        return self._smooth_mean() if self.scales[felt].min() >= SMOOTH else self._discrete_mean()

    def _smooth_mean(self) -> float:
        """With t = v/(1-v)/sd the integrand is smooth on 0..1."""
        sd = math.sqrt(self.variance)
        v = (_NODES + 1) / 2
        values = (1 - self._smooth(v / (1 - v) / sd)) / v**2
        return sd * float(_NODE_WEIGHTS @ values) / math.pi

    def _discrete_mean(self) -> float:
        """Simpson's rule over some periods of the largest weight; beyond, the mean of φ."""
        sd = math.sqrt(self.variance)
        end = _PERIODS * 2 * math.pi / float(self.weights.max())
        points = 2 * math.ceil(max(200 * _PERIODS, 20 * end * sd) / 2) + 1
        t = np.linspace(0.0, end, points)[1:]
        # (cosh r - cos x)/(cosh r - 1) = 1 + (1 - cos x)/(cosh r - 1), written without cancellation
        ripple = np.sin(np.multiply.outer(t, self.weights) / 2) ** 2 / np.sinh(0.5 / self.scales) ** 2
        characteristic = np.asarray(np.exp(-np.log1p(ripple) @ self.times))
        values = np.r_[sd**2 / 2, (1 - characteristic) / t**2]
        rule = np.full(points, 2.0)
        rule[1::2] = 4.0
        rule[[0, -1]] = 1.0
        inner = float(rule @ values) * (end / (points - 1)) / 3
        return 2 / math.pi * (inner + (1 - float(characteristic.mean())) / end)

    def half_width(self, level: float) -> float:
        """The q with P(|X| ≤ q) = level, for the continuous distribution of the same variance."""
        from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and no table needs it

        if not self.weights.size:
            return 0.0
        sd = math.sqrt(self.variance)
        step = 2 * math.pi / (_RANGE * sd)
        t = step * np.arange(1.0, _GRID)
        kernel = self._smooth(t) / t

        def inside(q: float) -> float:
            return float(2 * step / math.pi * (kernel @ np.sin(q * t) + q / 2))

        return float(brentq(lambda q: inside(q) - level, 0.0, 30 * sd, xtol=1e-9 * sd))
