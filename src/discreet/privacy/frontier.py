"""The frontier of a noise table: the worst of all pairs of neighbouring counts, for every epsilon at once.

Each pair (count, count + 1) has a profile of best events (A, B). For any epsilon the worst pair is the one
with the largest A - e^epsilon B, so only the upper convex hull of all pairs' events can ever matter:

    delta(epsilon) = max over hull vertices of (A - e^epsilon B) / modulus,
    e^epsilon(delta) = max over hull vertices of (A - delta modulus) / B      (exactly, a fraction).

One hull is made per direction; every question after that is a binary search.

Source: Zhu, Dong & Wang (2022) for domination by the worst trade-off; the hull is Andrew's monotone chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.privacy.e_to_epsilon import Exponential, log_up
from discreet.privacy.hockey_stick import Masses, Profile, best_difference, outcomes, released_law

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from discreet.noise.table import NoiseTable

Pair = tuple[int, int]
LabelledProfile = tuple[Pair, Profile]


@dataclass(frozen=True, slots=True)
class Frontier:
    """The hull of many profiles, and which pair of counts each of its vertices comes from."""

    total: int
    vertices: tuple[Masses, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, profiles: Iterable[LabelledProfile]) -> Frontier:
        """Keep what no other pair exceeds; of equal pairs the one with the smallest counts stays."""
        known = list(profiles)
        points = [(a, b, pair) for pair, profile in known for a, b in profile.vertices]
        hull = upper_hull(points)
        while len(hull) > 1 and hull[-1][0] - hull[-2][0] <= hull[-1][1] - hull[-2][1]:
            hull.pop()
        return cls(known[0][1].total, tuple((a, b) for a, b, _ in hull), tuple(pair for *_, pair in hull))

    def delta(self, exponential: Exponential) -> tuple[Fraction, Pair]:
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


def upper_hull(points: list[tuple[int, int, Pair]]) -> list[tuple[int, int, Pair]]:
    """The upper convex hull of (A, B) by rising B: no vertex that another pair's event exceeds."""
    hull: list[tuple[int, int, Pair]] = []
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
    """Every pair (count, count + change) that differs from the others, from a first count on.

    The repeating block is walked once, its wrap-around included.
    """
    end = max(len(table.rows), first + table.repeats)
    yield from ((count, count + change) for count in range(first, end))


def pair_masses(table: NoiseTable, pair: Pair) -> list[Masses]:
    """Both laws of a pair of counts, output by output."""
    small, large = pair
    return outcomes(released_law(table.row(small), small), released_law(table.row(large), large))


def labelled_masses(table: NoiseTable, first: int, group: int) -> list[tuple[Pair, list[Masses]]]:
    """The masses of every pair; two pairs that use the same rows at the same distance are one."""
    seen: set[tuple[object, object, int]] = set()
    found: list[tuple[Pair, list[Masses]]] = []
    for change in range(1, group + 1):
        for pair in neighbouring_counts(table, first=first, change=change):
            rows = (table.row(pair[0]), table.row(pair[1]), change)
            if rows not in seen:
                seen.add(rows)
                found.append((pair, pair_masses(table, pair)))
    return found


@lru_cache(maxsize=32)
def profiles(
    table: NoiseTable, first: int = 0, group: int = 1
) -> tuple[list[LabelledProfile], list[LabelledProfile]]:
    """All profiles of a table: of the smaller count against the larger, and the reverse."""
    masses = labelled_masses(table, first, group)
    forward = [(pair, Profile.of(each, table.modulus)) for pair, each in masses]
    backward = [(pair, Profile.of([(q, p) for p, q in each], table.modulus)) for pair, each in masses]
    return forward, backward


@lru_cache(maxsize=64)
def frontiers(table: NoiseTable, first: int = 0, group: int = 1) -> tuple[Frontier, Frontier]:
    """Both directions of a table's frontier: forward (a | a + 1) and backward (a + 1 | a)."""
    forward, backward = profiles(table, first, group)
    return Frontier.of(forward), Frontier.of(backward)
