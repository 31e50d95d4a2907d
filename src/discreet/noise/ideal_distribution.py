"""A design before its probabilities become integers, and the untruncated distribution that it approximates.

A family computes probabilities; `quantise` turns them into the integer thresholds that ship. Families that know their
log-weights, p(v) ∝ exp(θ_v), keep weights as integers of some 300 bits, because a modulus of 2^64 needs more than the 53
bits of a double. A claim about the untruncated distribution (zCDP, the Gaussian trade-off) holds for the shipped table
after its delta is raised by

    distance = sum over all integers z of max(0, ideal(z) - shipped(z)).

Source: Sadeghi & Chien (2022), eqs 2-8 and 38-39.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from discreet.errors import InfeasibleDesign
from discreet.noise.table import NoiseRow, NoiseTable

#: Digits of the exponentials. Weights keep `WEIGHT_BITS` bits relative to the largest; a value less likely than
#: 2^-`LEAST_BITS` would lose precision, and no key modulus could hold it.
DIGITS = Context(prec=70, Emin=-(10**9), Emax=10**9)
WEIGHT_BITS = 320
LEAST_BITS = 256
_ONE = Decimal(2**WEIGHT_BITS)
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class IdealRow:
    """The noise of one count before quantisation.

    Args:
        probabilities: One positive number for each value; they add up to one.
        weights: Integers in proportion to the probabilities, if the family knows them beyond double precision.

    >>> IdealRow((-1, 0, 1), (0.25, 0.5, 0.25)).variance()
    0.5
    """

    values: tuple[int, ...]
    probabilities: tuple[float, ...]
    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.probabilities):
            raise InfeasibleDesign(
                "A row needs one probability for each of its values, and at least one value."
            )
        if any(b <= a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise InfeasibleDesign("The values of a row must ascend, each once.")
        if not all(p > 0 for p in self.probabilities):
            raise InfeasibleDesign("Every probability must be above zero; leave out values that never occur.")
        if abs(math.fsum(self.probabilities) - 1) > _SUM_TOLERANCE:
            raise InfeasibleDesign(
                f"The probabilities add up to {math.fsum(self.probabilities)!r}, not to 1."
            )
        if self.weights is not None and (len(self.weights) != len(self.values) or min(self.weights) < 1):
            raise InfeasibleDesign("A row needs one positive integer weight for each of its values.")

    def exact_weights(self) -> tuple[int, ...]:
        """Integers in exact proportion to the design: the family's, or those of its floats."""
        if self.weights is not None:
            return self.weights
        ratios = [Fraction(p) for p in self.probabilities]
        scale = max(ratio.denominator for ratio in ratios)  # all are powers of two
        return tuple(ratio.numerator * (scale // ratio.denominator) for ratio in ratios)

    def mean(self) -> float:
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    def variance(self) -> float:
        second = math.fsum(v * v * p for v, p in zip(self.values, self.probabilities, strict=True))
        return second - self.mean() ** 2


@dataclass(frozen=True)
class IdealTable:
    """A design: rows for the counts 0, 1, ...; the last `repeats` rows serve all larger counts.

    `notes` are remarks for readers: a bound not reached, a parameter relaxed.
    """

    rows: tuple[IdealRow, ...]
    repeats: int = 1
    family: str = "unnamed"
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows or not 1 <= self.repeats <= len(self.rows):
            raise InfeasibleDesign(
                f"{self.repeats} repeating rows of {len(self.rows)}: at least one is needed."
            )
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def last(self) -> IdealRow:
        return self.rows[-1]


def row_from_weights(values: Sequence[int], weights: Sequence[int]) -> IdealRow:
    """The row whose probabilities are in proportion to integers.

    >>> row_from_weights((-1, 0, 1), (1, 2, 1)).probabilities
    (0.25, 0.5, 0.25)
    """
    total = sum(weights)
    return IdealRow(tuple(values), tuple(weight / total for weight in weights), tuple(weights))


def row_from_logs(values: Sequence[int], logs: Sequence[float | Decimal]) -> IdealRow:
    """The row p(v) ∝ exp(log weight), each log taken as an exact number.

    Equal logs give equal weights, so a symmetric design is symmetric to the last bit.
    """
    exact = [Decimal(log) for log in logs]
    top = max(exact)
    known = {log: int(DIGITS.multiply((log - top).exp(DIGITS), _ONE)) for log in set(exact)}
    weights = [known[log] for log in exact]
    if min(weights) < 2 ** (WEIGHT_BITS - LEAST_BITS):
        unlikely = values[weights.index(min(weights))]
        raise InfeasibleDesign(
            f"The noise value {unlikely} has a probability below 2^-{LEAST_BITS}: no key could select it.",
            "Ask for a narrower support or a larger variance.",
        )
    return row_from_weights(values, weights)


def symmetric_row(width: int, rate: float | Decimal) -> IdealRow:
    """The row p(z) ∝ exp(-rate z²) on -width..width."""
    support = range(-width, width + 1)
    return row_from_logs(support, [-rate * (z * z) for z in support])


def point_row() -> IdealRow:
    """The row that never changes a count."""
    return IdealRow((0,), (1.0,), (1,))


DISTRIBUTION_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
#: Far above the error of 60 digits and a truncated sum.
_ALLOWANCE = Fraction(1, 10**35)


@dataclass(frozen=True, slots=True)
class IdealDistribution:
    """A distribution on all integers with one parameter.

    Args:
        scale: The noise table's parameter that fixes it: `epsilon` or `V`.
        rho: The zCDP of one cell that changes by one, from the scale; exact.
        distance: An upper bound on the total variation between a row and the distribution of a scale.
        rounded_normal: Whether it is a rounded normal of variance `scale`; losses then follow the Gaussian trade-off.
    """

    scale: str
    rho: Callable[[Fraction], Fraction]
    distance: Callable[[NoiseRow, float], Fraction]
    rounded_normal: bool = False

    def scale_of(self, table: NoiseTable) -> float:
        return float(table.parameters[self.scale])


def missing_mass(row: NoiseRow, distribution: Sequence[Decimal]) -> Fraction:
    """The mass of a symmetric distribution that a row lacks; `distribution` has p(0), p(1), ... up to the row's reach."""
    shipped, zero = row.probabilities(), Fraction(0)
    ideal = {z: Fraction(distribution[abs(z)]) for z in range(1 - len(distribution), len(distribution))}
    total = sum((max(zero, p - shipped.get(z, zero)) for z, p in ideal.items()), zero)
    return total + max(zero, 1 - sum(ideal.values(), zero)) + _ALLOWANCE


def reach(row: NoiseRow) -> int:
    """The largest change of a row."""
    return max(map(abs, row.values))
