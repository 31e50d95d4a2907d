"""The hockey-stick divergence between two laws of integers over one modulus: exact, and one sort.

    delta(P | Q; epsilon) = sum over outputs y of max(0, P(y) - e^epsilon Q(y))

The best event is always a set of outputs with the largest ratios P/Q. So the outputs are sorted by ratio
once, and the pairs (A, B) = (keys of P, keys of Q) of the growing set are kept: delta is then the largest
(A - e^epsilon B) / modulus for any epsilon whatever. Reported values err upward by less than 1e-30 of
themselves and are exact at epsilon = 0 and where only unmatched support contributes (B = 0).

Source: Sadeghi & Chien (2022), eqs 17-21; Balle & Wang (2018), Theorem 5. Both directions are needed: after
quantisation the reverse can be worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.e_to_epsilon import FIRST_DIGITS, Exponential

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from discreet.noise.table import NoiseRow

#: Keys of P and keys of Q of one output, or of a set of outputs.
Masses = tuple[int, int]

LARGEST_ERROR = Fraction(1, 10**31)


def released_law(row: NoiseRow, count: int) -> dict[int, int]:
    """The law of what is released for a count: count + noise to number of keys."""
    return {count + value: keys for value, keys in zip(row.values, row.masses(), strict=True)}


def outcomes(law: Mapping[int, int], other: Mapping[int, int]) -> list[Masses]:
    """Both laws' keys for every output that either can make."""
    matched = [(keys, other.get(output, 0)) for output, keys in law.items()]
    return matched + [(0, keys) for output, keys in other.items() if output not in law]


def by_ratio(masses: Iterable[Masses]) -> list[Masses]:
    """Outputs by falling ratio P/Q, those of equal ratio joined; exact at any size of integers.

    Two different ratios of integers below N differ by more than 1/N^2, so the ratio scaled by N^2 and
    rounded down orders them exactly.
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
    """How well one law can be told from another: every best event as (keys of P, keys of Q).

    Args:
        total: The number of keys of each law.
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
    """Which vertex has the largest A - e^epsilon B: the last whose edge is steeper than e^epsilon."""
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
    law: Mapping[int, int], other: Mapping[int, int], *, epsilon: float | Fraction
) -> tuple[Fraction, Fraction]:
    """Both directions of the divergence between two laws over the same number of keys.

    Args:
        law: Output to number of keys.
        other: The neighbour's law, over as many keys.
        epsilon: From 0 to infinity.

    Returns:
        delta(law | other) and delta(other | law).

    >>> hockey_stick({0: 4}, {0: 1, 1: 3}, epsilon=0)
    (Fraction(3, 4), Fraction(3, 4))
    """
    total = sum(law.values())
    forward = outcomes(law, other)
    backward = [(q, p) for p, q in forward]
    return Profile.of(forward, total).delta(epsilon), Profile.of(backward, total).delta(epsilon)
