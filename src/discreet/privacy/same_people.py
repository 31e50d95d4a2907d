"""Overlapping cells of one person under "same people, same number", exactly.

The noise of a cell is a function of its participants, so cells of different people have independent noise and cells of the
same people have one number. Take k released cells whose descriptions a reader knows; without the person their participants
are S_1, ..., S_k. Cells with the same S form a class, and classes are independent. With the person present, the cells of a
class that describe them gain the person, the others do not:

    described   all cells of the class describe the person:    P_s without, P_(s+1) with
    pair        some cells of the class do, others do not:      without: all show one number y ~ P_s
                                                                with: y ~ P_s and y' ~ P_(s+1), independent
    other       no cell does:                                   nothing changes

A pair is certain proof whenever y and y' differ, "equal against different": without the person that cannot be. Its delta at
infinite epsilon is therefore

    1 - sum over y of P_s(y) P_(s+1)(y),        of t pairs: 1 - (min over s of that sum)^t at most

and no finite epsilon has a smaller delta. One class of cells shows two numbers at most, so k cells are at most w described
classes and t pairs with w + 2 t <= k: a pair needs k = 2. A pair never shows less than a described cell, so w = k - 2 t.
Only one class can have nobody else in it (s = 0). The joint divergence is that of the product of the classes,

    masses of a pair over M^2 keys:   (P_s(y) M, P_s(y) P_(s+1)(y)) for y = y',  and (0, M^2 - their sum) for y != y'

composed exactly where the product is small, otherwise bounded from above (`exact` is then false).

Source: Fraser & Wooton (2005); Rinott et al. (2018), section 2.2; Sadeghi & Chien (2022), section VI (dynamic tables); Zhu,
Dong & Wang (2022) for dominating pairs. Keys are taken to be random, as the claim of every version states.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BadRequest
from discreet.noise.table import NoiseTable
from discreet.privacy.composition import Composed, compose_cells
from discreet.privacy.hockey_stick import Exponential, Masses, masses_by_pair

#: More cells take minutes, and their guarantee is nearly void.
MOST_CELLS = 16


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The joint guarantee of `described` cells and `pairs` pairs of cells; epsilon is infinite where none is enough."""

    described: int
    pairs: int
    epsilon: float
    delta: Fraction
    delta_without: Fraction
    delta_with: Fraction
    least_delta: Fraction
    exact: bool


@dataclass(frozen=True, slots=True)
class SamePeople:
    """What k overlapping cells of one person show.

    Args:
        different: All cells describe the person, and their other participants differ.
        worst: The worst arrangement of k cells, pairs included.
        unbounded_from: The number of cells from which on no finite epsilon has the delta of `reference`; None if k cells
            still have one.
        reference: The delta asked for, or that of a single cell at the epsilon.
        surely: The largest probability that k cells prove whether the person is there.
    """

    cells: int
    different: Arrangement
    worst: Arrangement
    unbounded_from: int | None
    reference: Fraction
    surely: Fraction


def pair_masses(table: NoiseTable, first: int) -> list[list[Masses]]:
    """The masses (without, with) of two cells that differ by the person alone, for counts of the others from `first` on."""
    found = []
    for (count, _), _masses in masses_by_pair(table, first, 1):
        without, with_person = (
            {n + value: keys for value, keys in zip(row.values, row.masses(), strict=True)}
            for n, row in ((n, table.row(n)) for n in (count, count + 1))
        )
        equal = [(p * table.modulus, p * with_person.get(y, 0)) for y, p in without.items()]
        found.append([*equal, (0, table.modulus**2 - sum(q for _, q in equal))])
    return found


def same_people(
    table: NoiseTable, cells: int, *, epsilon: float | None = None, delta: float | None = None
) -> SamePeople:
    """The joint guarantee of k overlapping cells of one person, at an epsilon or at the smallest epsilon with a delta.

    >>> from discreet.noise import laplace
    >>> found = same_people(laplace(epsilon=1.0, m=10), 2, epsilon=1.0)
    >>> found.unbounded_from, found.worst.pairs, round(float(found.surely), 3)
    (2, 1, 0.818)
    """
    if not 1 <= cells <= MOST_CELLS:
        raise BadRequest(f"{cells} overlapping cells.", f"Give 1 to {MOST_CELLS}.")
    if (epsilon is None) == (delta is None):
        raise BadRequest("A guarantee is stated at an epsilon or at a delta.", "Give one of them.")
    found = _arrangements(table, cells, epsilon, delta)
    single = _arrangement(table, 1, 0, epsilon, delta)
    reference = single.delta if delta is None else Fraction(delta)
    return SamePeople(
        cells=cells,
        different=found[0],
        worst=max(found, key=lambda each: (each.epsilon, each.delta, each.least_delta)),
        unbounded_from=next((k for k in range(1, cells + 1) if _surely(table, k) > reference), None),
        reference=reference,
        surely=max(each.least_delta for each in found),
    )


def _surely(table: NoiseTable, cells: int) -> Fraction:
    return max(each.least_delta for each in _arrangements(table, cells, 0.0, None))


def _arrangements(
    table: NoiseTable, cells: int, epsilon: float | None, delta: float | None
) -> list[Arrangement]:
    """Every division of k cells into pairs and described cells."""
    return [_arrangement(table, cells - 2 * pairs, pairs, epsilon, delta) for pairs in range(cells // 2 + 1)]


def _arrangement(
    table: NoiseTable, described: int, pairs: int, epsilon: float | None, delta: float | None
) -> Arrangement:
    joint = _joint(table, described, pairs)
    both = [way for each in joint for way in (each.forward, each.backward)]
    at = max(each.epsilon(Fraction(delta)) for each in both) if delta is not None else float(epsilon or 0)
    exponential = Exponential.of(at)
    without = max(each.forward.delta(exponential)[0] for each in joint)
    with_person = max(each.backward.delta(exponential)[0] for each in joint)
    least = max(each.delta(Exponential.of(math.inf))[0] for each in both)
    return Arrangement(
        described=described,
        pairs=pairs,
        epsilon=at,
        delta=max(without, with_person),
        delta_without=without,
        delta_with=with_person,
        least_delta=least,
        exact=all(each.exact for each in joint),
    )


@lru_cache(maxsize=64)
def _joint(table: NoiseTable, described: int, pairs: int) -> list[Composed]:
    """The frontiers of an arrangement: without the class of nobody else, or with it once, described or as a pair."""
    singles, twins = _single_masses(table, 1), pair_masses(table, 1)
    kinds: list[list[tuple[list[list[Masses]], int]]] = [[(singles, described), (twins, pairs)]]
    alone, alone_twice = _single_masses(table, 0)[0], pair_masses(table, 0)[0]
    if alone not in singles:  # one group of people alone is empty
        if described:
            kinds.append([([alone], 1), (singles, described - 1), (twins, pairs)])
        if pairs:
            kinds.append([([alone_twice], 1), (singles, described), (twins, pairs - 1)])
    return [
        compose_cells([(masses, times, sum(q for _, q in masses[0])) for masses, times in each if times])
        for each in kinds
    ]


def _single_masses(table: NoiseTable, first: int) -> list[list[Masses]]:
    return [masses for _, masses in masses_by_pair(table, first, 1)]


def same_people_document(found: SamePeople) -> dict[str, Any]:
    """The figures as JSON; an infinite epsilon is null."""

    def figures(each: Arrangement) -> dict[str, Any]:
        return {
            "described": each.described,
            "pairs": each.pairs,
            "epsilon": each.epsilon if math.isfinite(each.epsilon) else None,
            "delta": float(each.delta),
            "delta_without": float(each.delta_without),
            "delta_with": float(each.delta_with),
            "least_delta": float(each.least_delta),
            "exact": each.exact,
        }

    return {
        "cells": found.cells,
        "different_others": figures(found.different),
        "worst": figures(found.worst),
        "unbounded_from": found.unbounded_from,
        "reference_delta": float(found.reference),
        "surely": float(found.surely),
    }
