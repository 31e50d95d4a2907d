"""The hockey-stick divergence of two distributions of integers over one modulus, exactly, and its worst pair of counts.

    delta(P | Q; epsilon) = sum over outputs y of max(0, P(y) - e^epsilon Q(y))

The best event is always a set of outputs with the largest ratios P/Q. So the outputs are sorted by ratio once, and the pairs
(A, B) = (keys of P, keys of Q) of the growing set are stored: delta is the largest (A - e^epsilon B) / modulus for any
epsilon. Both directions are needed: after quantisation the reverse can be worse. Over all pairs of neighbouring counts only
the upper convex hull of their events matters, the frontier:

    delta(epsilon) = max over hull vertices of (A - e^epsilon B) / modulus,
    e^epsilon(delta) = max over hull vertices of (A - delta modulus) / B      (exactly, a fraction).

e^epsilon is never a float but an enclosure, low <= e^epsilon <= high with (high - low) / low < 10^(2 - digits): `decimal`
rounds `exp` correctly, so one unit in the last place on each side suffices. A comparison adds digits until it is certain;
e^epsilon is irrational for every rational epsilon but 0, so it ends. Reported values err upward by less than 1e-30 of
themselves and are exact at epsilon = 0 and where only unmatched support contributes (B = 0).

Source: Sadeghi & Chien (2022), eqs 17-21; Balle & Wang (2018), Theorem 5; Zhu, Dong & Wang (2022) for domination; Andrew's
monotone chain for the hull; General Decimal Arithmetic (`exp` and `ln` are correctly rounded).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BadRequest
from discreet.noise.table import NoiseRow, NoiseTable

FIRST_DIGITS = 60
SPARE_DIGITS = 12
WIDEST_EXPONENT = 999_999_999


@dataclass(frozen=True, slots=True)
class Exponential:
    """e^epsilon as an enclosure that can be tightened.

    >>> low, high = Exponential.of(1.5).bounds(60)
    >>> float(low) == float(high) == math.exp(1.5)
    True
    >>> Exponential.of(0).bounds(60)
    (Fraction(1, 1), Fraction(1, 1))
    """

    #: None for infinity.
    epsilon: Fraction | None

    @classmethod
    def of(cls, epsilon: float | Fraction | Decimal) -> Exponential:
        """An epsilon as given: a float is exactly its binary fraction."""
        if epsilon == math.inf:
            return cls(None)
        if (isinstance(epsilon, float | Decimal) and math.isnan(epsilon)) or epsilon < 0:
            raise _bad_epsilon(epsilon)
        return cls(Fraction(epsilon))

    def beyond(self, ratio: int) -> bool:
        """Whether e^epsilon is certainly above an integer: 2^epsilon is already."""
        return self.epsilon is None or self.epsilon > ratio.bit_length()

    def bounds(self, digits: int = FIRST_DIGITS) -> tuple[Fraction, Fraction]:
        """A fraction below and a fraction above e^epsilon."""
        if self.epsilon is None:
            raise _bad_epsilon(math.inf)
        return _bounds(self.epsilon, digits)

    def below(self, numerator: int, denominator: int) -> bool:
        """Whether e^epsilon < numerator / denominator, with certainty."""
        if self.beyond(numerator // denominator + 1):
            return False
        digits = FIRST_DIGITS
        while True:
            low, high = self.bounds(digits)
            if high * denominator < numerator:
                return True
            if low * denominator >= numerator:
                return False
            digits *= 2


@lru_cache(maxsize=1024)
def _bounds(epsilon: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    if epsilon == 0:
        return Fraction(1), Fraction(1)
    numerator, denominator = Decimal(epsilon.numerator), Decimal(epsilon.denominator)
    # An error in epsilon is multiplied by epsilon in e^epsilon: the division gets more digits.
    down, up = _context(digits + SPARE_DIGITS, ROUND_FLOOR), _context(digits + SPARE_DIGITS, ROUND_CEILING)
    least, most = down.divide(numerator, denominator), up.divide(numerator, denominator)
    context = _context(digits, ROUND_HALF_EVEN)
    low, high = context.next_minus(context.exp(least)), context.next_plus(context.exp(most))
    return max(Fraction(1), Fraction(low)), Fraction(high)


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=WIDEST_EXPONENT, Emin=-WIDEST_EXPONENT)


def log_up(ratio: Fraction) -> float:
    """The smallest float whose exponential is at least a ratio of at least one.

    >>> log_up(Fraction(1)), log_up(Fraction(2)) >= math.log(2)
    (0.0, True)
    """
    if ratio == 1:
        return 0.0
    up = _context(FIRST_DIGITS, ROUND_CEILING)
    exact = up.next_plus(up.ln(up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def _bad_epsilon(epsilon: object) -> BadRequest:
    return BadRequest(f"Epsilon is {epsilon}; it must be a number from 0 upward.", "Give 0, 1.5 or infinity.")


#: Keys of P and keys of Q of one output, or of a set of outputs.
Masses = tuple[int, int]

LARGEST_ERROR = Fraction(1, 10**31)


def outcomes(distribution: Mapping[int, int], other: Mapping[int, int]) -> list[Masses]:
    """The keys of both distributions for every output that either can produce."""
    matched = [(keys, other.get(output, 0)) for output, keys in distribution.items()]
    return matched + [(0, keys) for output, keys in other.items() if output not in distribution]


def by_ratio(masses: Iterable[Masses]) -> list[Masses]:
    """Outputs by falling ratio P/Q, those of equal ratio merged; exact for integers of any size.

    Two different ratios of integers below N differ by more than 1/N^2, so the ratio scaled by N^2 and rounded down orders
    them exactly.
    """
    known = list(masses)
    unmatched = sum(p for p, q in known if q == 0)
    matched = [(p, q) for p, q in known if q > 0]
    scale = 2 * max((q for _, q in matched), default=1).bit_length()
    joined: dict[int, Masses] = {}
    for p, q in matched:
        key = (p << scale) // q
        before = joined.get(key, (0, 0))
        joined[key] = (before[0] + p, before[1] + q)
    return [(unmatched, 0), *(joined[key] for key in sorted(joined, reverse=True))]


@dataclass(frozen=True, slots=True)
class Profile:
    """The distinguishability of two distributions: every best event as (keys of P, keys of Q).

    Args:
        total: The number of keys of each distribution.
        vertices: (A, B) of the growing best event; the first has B = 0. Ratios above one only.
    """

    total: int
    vertices: tuple[Masses, ...]

    @classmethod
    def of(cls, masses: Iterable[Masses], total: int) -> Profile:
        """Sort the outputs by ratio and add them up, as long as P exceeds Q."""
        vertices: list[Masses] = []
        a = b = 0
        for p, q in by_ratio(masses):
            if vertices and p <= q:
                break
            a, b = a + p, b + q
            vertices.append((a, b))
        return cls(total, tuple(vertices))

    def delta(self, epsilon: float | Fraction) -> Fraction:
        """The divergence at an epsilon.

        >>> Profile.of([(1, 0), (3, 1), (4, 7)], total=8).delta(0)
        Fraction(3, 8)
        """
        return best_difference(self.vertices, self.total, Exponential.of(epsilon))[0]

    def probability_outside(self, exponential: Exponential) -> Fraction:
        """P of the outputs whose ratio exceeds e^epsilon: the delta of probabilistic DP (Rinott 4.5)."""
        place = best_place(self.vertices, self.total, exponential)
        return Fraction(self.vertices[place][0], self.total)


def best_place(vertices: Sequence[Masses], total: int, exponential: Exponential) -> int:
    """The index of the vertex with the largest A - e^epsilon B: the last whose edge is steeper than e^epsilon."""
    if exponential.beyond(total):
        return 0
    low, high = 0, len(vertices) - 1
    while low < high:
        middle = (low + high + 1) // 2
        rise = vertices[middle][0] - vertices[middle - 1][0]
        run = vertices[middle][1] - vertices[middle - 1][1]
        if exponential.below(rise, run):
            low = middle
        else:
            high = middle - 1
    return low


def best_difference(vertices: Sequence[Masses], total: int, exponential: Exponential) -> tuple[Fraction, int]:
    """The largest (A - e^epsilon B) / total with its vertex; errs upward by less than 1e-30 of itself."""
    place = best_place(vertices, total, exponential)
    a, b = vertices[place]
    if b == 0:
        return Fraction(a, total), place
    digits = FIRST_DIGITS
    while True:
        low, high = exponential.bounds(digits)
        if (high - low) * b <= LARGEST_ERROR * (a - high * b):
            return (a - low * b) / total, place
        digits *= 2


def hockey_stick(
    distribution: Mapping[int, int], other: Mapping[int, int], *, epsilon: float | Fraction
) -> tuple[Fraction, Fraction]:
    """Both directions of the divergence over the same number of keys.

    >>> hockey_stick({0: 4}, {0: 1, 1: 3}, epsilon=0)
    (Fraction(3, 4), Fraction(3, 4))
    """
    total = sum(distribution.values())
    forward = outcomes(distribution, other)
    backward = [(q, p) for p, q in forward]
    return Profile.of(forward, total).delta(epsilon), Profile.of(backward, total).delta(epsilon)


#: Two neighbouring counts.
Pair = tuple[int, int]
#: Without a pair where several counts change.
LabelledProfile = tuple[Pair | None, Profile]


@dataclass(frozen=True, slots=True)
class Frontier:
    """The hull of many profiles, and the pair of counts of each vertex."""

    total: int
    vertices: tuple[Masses, ...]
    pairs: tuple[Pair | None, ...]

    @classmethod
    def of(cls, profiles: Iterable[LabelledProfile]) -> Frontier:
        """The hull; of equal pairs the one with the smallest counts stays."""
        known = list(profiles)
        points = [(a, b, pair) for pair, profile in known for a, b in profile.vertices]
        hull = upper_hull(points)
        while len(hull) > 1 and hull[-1][0] - hull[-2][0] <= hull[-1][1] - hull[-2][1]:
            hull.pop()
        return cls(known[0][1].total, tuple((a, b) for a, b, _ in hull), tuple(pair for *_, pair in hull))

    def delta(self, exponential: Exponential) -> tuple[Fraction, Pair | None]:
        """The worst delta, and the pair of counts that has it."""
        worst, place = best_difference(self.vertices, self.total, exponential)
        return worst, self.pairs[place]

    def epsilon(self, delta: Fraction) -> float:
        """The smallest epsilon with delta(epsilon) <= delta, rounded up to a float; inf where none is."""
        allowed = delta * self.total
        if self.vertices[0][0] > allowed:
            return math.inf
        ratios = [(a - allowed) / b for a, b in self.vertices if b > 0]
        return log_up(max([Fraction(1), *ratios]))


def upper_hull(points: Iterable[tuple[int, int, Pair | None]]) -> list[tuple[int, int, Pair | None]]:
    """The upper convex hull of (A, B) by rising B."""
    hull: list[tuple[int, int, Pair | None]] = []
    for point in sorted(points, key=lambda each: (each[1], -each[0])):
        a, b, _ = point
        if hull and a <= hull[-1][0]:
            continue
        while len(hull) > 1:
            (a1, b1, _), (a2, b2, _) = hull[-2:]
            if (a2 - a1) * (b - b1) > (a - a1) * (b2 - b1):
                break
            hull.pop()
        hull.append(point)
    return hull


def neighbouring_counts(table: NoiseTable, *, first: int = 0, change: int = 1) -> Iterator[Pair]:
    """Every distinct pair (count, count + change) from a first count on, the repeating block with its wrap-around."""
    end = max(len(table.rows), first + table.repeats)
    return ((count, count + change) for count in range(first, end))


def pair_masses(table: NoiseTable, pair: Pair) -> list[Masses]:
    """Both distributions of a pair of counts, output by output."""
    smaller, larger = (
        {count + value: keys for value, keys in zip(row.values, row.masses(), strict=True)}
        for count, row in ((count, table.row(count)) for count in pair)
    )
    return outcomes(smaller, larger)


def masses_by_pair(table: NoiseTable, first: int, group: int) -> list[tuple[Pair, list[Masses]]]:
    """The masses of every pair; pairs with the same rows at the same distance are merged."""
    found: dict[tuple[NoiseRow, NoiseRow, int], Pair] = {}
    for change in range(1, group + 1):
        for pair in neighbouring_counts(table, first=first, change=change):
            found.setdefault((table.row(pair[0]), table.row(pair[1]), change), pair)
    return [(pair, pair_masses(table, pair)) for pair in found.values()]


@lru_cache(maxsize=32)
def profiles(
    table: NoiseTable, first: int = 0, group: int = 1
) -> tuple[list[LabelledProfile], list[LabelledProfile]]:
    """All profiles of a table: of the smaller count against the larger, and the reverse."""
    masses = masses_by_pair(table, first, group)
    return (
        [(pair, Profile.of(each, table.modulus)) for pair, each in masses],
        [(pair, Profile.of([(q, p) for p, q in each], table.modulus)) for pair, each in masses],
    )


@lru_cache(maxsize=64)
def frontiers(table: NoiseTable, first: int = 0, group: int = 1) -> tuple[Frontier, Frontier]:
    """Both directions of a table's frontier: forward (a | a + 1) and backward (a + 1 | a)."""
    forward, backward = profiles(table, first, group)
    return Frontier.of(forward), Frontier.of(backward)
