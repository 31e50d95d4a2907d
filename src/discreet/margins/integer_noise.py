"""Integer noise for coefficients and cells: audited noise tables, and where their keys come from.

Every method here adds noise to integers before any float, and every noise is looked up in a `NoiseTable`.
A source answers "noise from this table, for this named thing": keyed on a dataset, or seeded for studies.
Wide Laplace noise would need a table of millions of values; it is taken apart exactly instead:

    DL(b) = t·DL(b/t) + R,   P(R = d) ∝ a^|d| (1 - a^(2(t-|d|))),  |d| < t,  a = e^(-1/b),

since DL is a difference of two geometric variables, and a geometric variable's quotient and remainder by t
are independent.

Source: Ghosh, Roughgarden & Sundararajan (2012) for the law; the quotient and remainder are elementary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.errors import InfeasibleDesign
from discreet.noise.families.gaussian import last_key_m as last_gaussian_key
from discreet.noise.families.laplace import laplace
from discreet.noise.ideal import DIGITS, IdealTable, row_from_weights
from discreet.noise.quantise import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.table import NoiseTable

#: Keys of the noise tables, as everywhere in the `dp` protection.
KEYS = 2**64
#: Laplace tables wider than this are taken apart.
WIDEST_TABLE = 512
#: Gaussian tables are at most this wide.
WIDEST_GAUSSIAN = 20_000
_BITS = 256


class NoiseSource(Protocol):
    """Noise for named things: the same source, table and name must give the same noise where it is keyed."""

    def __call__(self, table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:
        """`size` independent noises from a one-row table, for the cells of the thing named `name`."""


class SeededNoise:
    """Noise from a NumPy generator, for papers' tables and studies: who knows the seed knows the noise.

    >>> from discreet.noise import laplace
    >>> table = laplace(epsilon=1.0, modulus=2**64)
    >>> SeededNoise(1)(table, "AB", 3).tolist() == SeededNoise(1)(table, "AB", 3).tolist()
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:  # noqa: ARG002 - the protocol's
        """Draw keys, whatever the name, and look them up."""
        keys = self._random.integers(0, table.modulus - 1, size, dtype=np.uint64, endpoint=True)
        return look_up(table, keys)


def look_up(table: NoiseTable, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The noise of each key in a table of one row: the same for every count, and so data-independent."""
    if len(table.rows) != 1:
        raise InfeasibleDesign("Noise on coefficients needs a table of one row: one law for every count.")
    values, thresholds = _arrays(table)
    return values[np.searchsorted(thresholds, keys, "right")]


@lru_cache(maxsize=256)
def _arrays(table: NoiseTable) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    row = table.rows[0]
    return np.array(row.values, dtype=np.int64), np.array(row.thresholds[:-1], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class IntegerNoise:
    """An integer law, known by its moments; its tables are made when it is first drawn from.

    Args:
        family: "laplace" or "gaussian".
        scale: 1/rate for Laplace, σ for Gaussian noise, in counts.
        variance: Of the ideal law, in counts.
        mean_absolute: E|noise| of the ideal law, in counts.
        grid: The noise is added to `grid` times the count: a fine grid of integers for small noise.
    """

    family: str
    scale: float
    variance: float
    mean_absolute: float
    grid: int = 1

    @property
    def parts(self) -> tuple[tuple[int, NoiseTable], ...]:
        """(step, table) pairs; the noise is Σ step · table's noise, each with keys of its own."""
        return (
            laplace_tables(self.scale)
            if self.family == "laplace"
            else gaussian_tables(self.scale * self.grid)
        )

    def added_to(self, counts: NDArray[np.int64], source: NoiseSource, name: str) -> NDArray[np.float64]:
        """Counts with their noise: integers first, then divided by the grid."""
        drawn = self.draw(source, name, counts.size).reshape(counts.shape)
        return np.asarray((self.grid * counts + drawn) / self.grid)

    def draw(self, source: NoiseSource, name: str, size: int) -> NDArray[np.int64]:
        """Independent noises for the cells of a named thing."""
        drawn = (
            step * source(table, name if step == 1 else f"{name}/{step}", size) for step, table in self.parts
        )
        return np.asarray(sum(drawn, start=np.zeros(size, dtype=np.int64)))

    @property
    def cut(self) -> float:
        """How far the tables are from the ideal law in total variation, at most: a key for each value."""
        return sum(2 * table.largest + 3 for _, table in self.parts) / KEYS


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
    return ((step, laplace(epsilon=step * rate, modulus=KEYS)), (1, _remainder(rate, step)))


def _remainder(rate: float, step: int) -> NoiseTable:
    """The law of the difference of two geometric remainders modulo `step`: a^|d| Σ_{r < step-|d|} a^(2r)."""
    ratio = int(DIGITS.multiply((-Decimal(rate)).exp(DIGITS), Decimal(2**_BITS)))
    powers = list(accumulate(range(2 * step), lambda power, _: power * ratio >> _BITS, initial=1 << _BITS))
    sums = [0, *accumulate(powers[0 : 2 * step : 2])]
    half = [powers[d] * sums[step - d] >> _BITS for d in range(step)]
    row = row_from_weights(range(1 - step, step), [*reversed(half[1:]), *half])
    return quantise(IdealTable((row,), 1, "geometric remainder", {"rate": rate, "step": step}), KEYS)


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
    half = _gaussian_weights(variance, cut)
    row = row_from_weights(range(-cut, cut + 1), [*reversed(half[1:]), *half])
    return ((1, quantise(IdealTable((row,), 1, "gaussian", {"V": variance, "m": cut}), KEYS)),)


def _gaussian_weights(variance: float, cut: int) -> list[int]:
    """e^(-z²/2V) for z = 0..cut as integers: each ratio to the next is e^(-1/V) times the one before."""
    rate = DIGITS.divide(Decimal(1), 2 * Decimal(variance))
    ratio = int(DIGITS.multiply((-rate).exp(DIGITS), Decimal(2**_BITS)))
    fall = int(DIGITS.multiply((-2 * rate).exp(DIGITS), Decimal(2**_BITS)))
    weights, current = [], 1 << _BITS
    for _ in range(cut + 1):
        weights.append(current)
        current, ratio = current * ratio >> _BITS, ratio * fall >> _BITS
    return weights
