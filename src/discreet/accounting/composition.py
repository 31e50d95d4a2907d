"""Many cells at once: a person in d overlapping cells, and neighbours that replace one person.

Cells have independent keys, so the joint law is a product and the privacy losses add up. Add/remove with d
cells composes d changes of one direction; replace-one takes a person out of d cells and puts another into d
others, so d forward and d backward changes. Outputs of equal ratio are joined, which keeps products small.

Where there are too many pairs of counts to try all combinations, the dominating pair stands for all of them
(the hull of their trade-offs); where a product has too many outputs, close ratios are joined upward. Both
make delta larger, never smaller, and `Composed.exact` says when neither was needed.

Comes from: `frontier`. Goes to: `audit`.
Source: Rinott et al. (2018), Theorem 4.2, corrected: pointwise bounds do not add up, mass does, so truncated
Laplace noise at epsilon/d in d cells has delta 1 - (1 - p(m))^d. Zhu, Dong & Wang (2022), Theorem 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING

from discreet.accounting.frontier import Frontier, labelled_masses, upper_hull
from discreet.accounting.hockey_stick import Masses, Profile, by_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.mechanism.noise_table import NoiseTable

#: Products of this many outputs in all are made one by one; more are bounded by the dominating pair.
LARGEST_WORK = 400_000
#: A product of more outputs than this is coarsened, upward.
MOST_OUTPUTS = 20_000


@dataclass(frozen=True, slots=True)
class Composed:
    """The frontier of many cells, both ways, and whether it is exact or an upper bound."""

    forward: Frontier
    backward: Frontier
    exact: bool


def product(left: Sequence[Masses], right: Sequence[Masses]) -> list[Masses]:
    """The joint outputs of two independent cells, those of equal ratio joined.

    >>> product([(1, 2), (3, 2)], [(1, 1)])
    [(3, 2), (1, 2)]
    """
    joint = by_ratio((p1 * p2, q1 * q2) for p1, q1 in left for p2, q2 in right)
    return [each for each in joint if each != (0, 0)]


def coarsen(masses: list[Masses], most: int = MOST_OUTPUTS) -> list[Masses]:
    """Join neighbouring ratios upward until few are left.

    Outputs of a group keep their P; their Q becomes that of the group's largest ratio, and the Q that is
    left over goes to an output that P never makes. The original is a post-processing of this, so no
    divergence gets smaller.
    """
    if len(masses) <= most:
        return masses
    ordered = by_ratio(masses)
    unmatched, matched = ordered[0], [each for each in ordered[1:] if each[0] > 0]
    rest = sum(q for p, q in ordered[1:] if p == 0)
    size = max(1, math.ceil(len(matched) / (most - 2)))
    joined = []
    for start in range(0, len(matched), size):
        group = matched[start : start + size]
        p, q = sum(p for p, _ in group), sum(q for _, q in group)
        kept = p * group[0][1] // group[0][0]
        joined.append((p, kept))
        rest += q - kept
    return [unmatched, *joined, (0, rest)]


def dominating(each: Sequence[Sequence[Masses]], total: int) -> list[Masses]:
    """One pair of laws that is at least as easy to tell apart as any of the given pairs."""
    points = [(0, 0, (0, 0)), (total, total, (0, 0))]
    for masses in each:
        a = b = 0
        for p, q in by_ratio(masses):
            a, b = a + p, b + q
            points.append((a, b, (0, 0)))
    hull = [(0, 0, (0, 0)), *upper_hull(points)]
    edges = [(a2 - a1, b2 - b1) for (a1, b1, _), (a2, b2, _) in pairwise(hull)]
    return [*(edge for edge in edges if edge != (0, 0)), (0, total - hull[-1][1])]


@lru_cache(maxsize=16)
def composed(table: NoiseTable, *, forward: int, backward: int, first: int = 0, group: int = 1) -> Composed:
    """The frontier of `forward` cells that rise by a person and `backward` cells that lose one."""
    masses = [each for _, each in labelled_masses(table, first, group)]
    exact = _work(masses, forward, backward) <= LARGEST_WORK
    rising = masses if exact else [dominating(masses, table.modulus)]
    reverse = [[(q, p) for p, q in each] for each in masses]
    falling = reverse if exact else [dominating(reverse, table.modulus)]
    ups = combinations_with_replacement(rising, forward)
    downs = list(combinations_with_replacement(falling, backward))
    joint = [_joint((*up, *down)) for up in ups for down in downs]
    total = table.modulus ** (forward + backward)
    there = Frontier.of(((0, 1), Profile.of(each, total)) for each, _ in joint)
    back = Frontier.of(((0, 1), Profile.of(_turned(each), total)) for each, _ in joint)
    return Composed(there, back, (exact or len(masses) == 1) and all(whole for _, whole in joint))


def _turned(masses: list[Masses]) -> list[Masses]:
    return [(q, p) for p, q in masses]


def _joint(cells: Sequence[Sequence[Masses]]) -> tuple[list[Masses], bool]:
    """The product of all cells, and whether it is exact."""
    whole = [True]

    def step(left: list[Masses], right: Sequence[Masses]) -> list[Masses]:
        joint = product(left, right)
        whole[0] = whole[0] and len(joint) <= MOST_OUTPUTS
        return coarsen(joint)

    return reduce(step, cells, [(1, 1)]), whole[0]


def _work(masses: Sequence[Sequence[Masses]], forward: int, backward: int) -> int:
    """How many outputs all combinations of pairs have in all."""
    pairs, size = len(masses), max(len(each) for each in masses)
    combinations = math.comb(pairs + forward - 1, forward) * math.comb(pairs + backward - 1, backward)
    outputs: int = size ** (forward + backward)
    return combinations * min(outputs, LARGEST_WORK)
