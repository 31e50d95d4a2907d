"""Noise tables made by hand, straight from the papers' formulas, and a slow audit that cannot be wrong."""

from decimal import Context, Decimal
from fractions import Fraction

from discreet.noise.table import NoiseRow, NoiseTable

PRECISE = Context(prec=90)


def symmetric_row(weights: dict[int, Decimal], modulus: int) -> NoiseRow:
    """A symmetric distribution on a modulus: each tail rounded to nearest, the middle takes the rest."""
    total = sum(weights.values(), Decimal(0))
    masses = {v: int(PRECISE.multiply(w, modulus) / total) for v, w in weights.items() if v != 0}
    masses[0] = modulus - sum(masses.values())
    return row_of_masses(masses)


def row_of_masses(masses: dict[int, int]) -> NoiseRow:
    values = [v for v in sorted(masses) if masses[v] > 0]
    thresholds, reached = [], 0
    for value in values:
        reached += masses[value]
        thresholds.append(reached)
    return NoiseRow(tuple(values), tuple(thresholds))


def laplace(epsilon: float, m: int, modulus: int = 2**64) -> NoiseTable:
    weights = {v: PRECISE.exp(-Decimal(epsilon) * abs(v)) for v in range(-m, m + 1)}
    return NoiseTable(modulus, (symmetric_row(weights, modulus),))


def normal(epsilon: float, m: int, modulus: int = 2**64) -> NoiseTable:
    weights = {v: PRECISE.exp(-Decimal(epsilon) * v * v / (2 * m + 1)) for v in range(-m, m + 1)}
    return NoiseTable(modulus, (symmetric_row(weights, modulus),))


def slow_delta(distribution: dict[int, Fraction], other: dict[int, Fraction], epsilon: float) -> Fraction:
    """The definition: add up the positive parts, output by output, with 90 digits of e^epsilon."""
    ratio = Fraction(1) if epsilon == 0 else Fraction(PRECISE.exp(Decimal(epsilon)))
    outputs = set(distribution) | set(other)
    zero = Fraction(0)
    return sum((max(zero, distribution.get(y, zero) - ratio * other.get(y, zero)) for y in outputs), zero)


def slow_distribution(table: NoiseTable, count: int) -> dict[int, Fraction]:
    return {count + v: p for v, p in table.row(count).probabilities().items()}


def slow_audit(table: NoiseTable, epsilon: float, first: int = 0) -> tuple[Fraction, Fraction]:
    """Both directions over every pair of counts, well beyond the point where rows repeat."""
    counts = range(first, first + len(table.rows) + 3 * table.repeats + 2)
    distributions = {count: slow_distribution(table, count) for count in [*counts, counts[-1] + 1]}
    forward = max(slow_delta(distributions[c], distributions[c + 1], epsilon) for c in counts)
    backward = max(slow_delta(distributions[c + 1], distributions[c], epsilon) for c in counts)
    return forward, backward
