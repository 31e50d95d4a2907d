"""Withheld areas: estimate areas that a rule withholds from the areas shown and from totals.

The target is a table of areas by some variables. Without differences there are two guesses:

    shares   the parent's released table, times the area's share of the parent's people
    fitted   the same, fitted to every table with one variable less in which the area is shown

The parent minus the parts shown is the sum of the withheld parts, with an error of known variance N:

    listing    parent - each part shown                      N = V (1 + parts shown)
    union      parent - the parts shown, counted by a filter N = 2 V, or 3 V where one more must be left out
    interior   the same where totals are sums of cells       N = V (parts withheld)
    superset   a table with one variable more that shows the area: its total is the number itself, N = V

Every number may be queried again in other ways (`ways`): other pairs of categories give about V / ways. The
difference is distributed by linear Bayes, so that a noisier difference never makes the estimate worse:

    x_a = guess_a + φ w_a / (φ Σ w + N) · (difference - Σ guess),   φ estimated from the differences

with w = guess for the fitted guess, whose error is chance alone, and w = guess² for the shares.

Where all parts of a parent are withheld their guesses are scaled to its total. Levels are processed from the coarsest
to the finest; a withheld parent is replaced by its estimate.

Source: Hundepool et al. (2012), section 4.4; docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import Interface, QueryCache
from discreet.attacks.withheld_questions import (
    TINY,
    AreaQuestions,
    AreaTable,
    Levels,
    Target,
    add_parts,
    broadcast_areas,
)
from discreet.model.dataset import Dataset

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates of the finest level.

    Args:
        withheld: Which areas are not shown.
        parents: The position of each area's parent at the level above.
        guess: The guess for every cell without differences, one row per area; released numbers as they are.
        best: The same with differences.
        queries: The number of queries.
    """

    withheld: Flags
    parents: NDArray[np.int64]
    guess: Floats
    best: Floats
    queries: int


def attack(interface: Interface, dataset: Dataset, target: Target) -> Estimates | None:
    """Estimate all cells of the areas of the finest level; None where no such table is released."""
    asking = AreaQuestions(QueryCache(interface), dataset, target)
    above = asking.query_level(None)
    if above is None:
        return None
    upper: str | None = None
    parents = np.zeros(1, dtype=np.int64)
    estimate = _Level(above.shown, above.shown, np.zeros(1, dtype=np.bool_), above.variance)
    for level in target.levels:
        own = asking.query_level(level)
        if own is None:
            if level == target.levels[-1]:
                return None
            continue
        parents = asking.parents(level, upper)
        estimate = _step(asking, estimate, own, parents, (upper, level))
        upper = level
    return Estimates(estimate.gone, parents, estimate.guess, estimate.best, asking.cache.queries)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The areas of one level: both estimates, which are withheld, and the variance of released numbers."""

    guess: Floats
    best: Floats
    gone: Flags
    variance: float


def _step(
    asking: AreaQuestions, above: _Level, own: AreaTable, parents: NDArray[np.int64], levels: Levels
) -> _Level:
    level = levels[1]
    guess = asking.fit(above.guess, parents, level)
    start = asking.fit(above.best, parents, level)
    best = _distribute_differences(asking, above, own, parents, start, levels)
    shown = ~own.gone
    alone = (np.bincount(parents[shown], minlength=len(above.gone)) == 0) & ~above.gone
    guess[alone[parents]] = best[alone[parents]]
    for direct in asking.supersets(level):
        told = own.gone & ~direct.gone
        best[told] = direct.shown[told]
    guess[shown] = best[shown] = own.shown[shown]
    return _Level(guess, best, own.gone, own.variance)


def _distribute_differences(
    asking: AreaQuestions,
    above: _Level,
    own: AreaTable,
    parents: NDArray[np.int64],
    start: Floats,
    levels: Levels,
) -> Floats:
    """The guesses, corrected by the difference of each parent and its parts shown."""
    left, noise = _differences(asking, above, own, parents, levels)
    missed = np.where(broadcast_areas(own.gone, start), start, 0)
    expected, weights = add_parts(missed, parents, len(left)), missed**asking.target.power
    weight = add_parts(weights, parents, len(left))
    known = np.isfinite(noise)
    variance = broadcast_areas(np.where(known, noise, 1.0), left)
    surplus = (np.square(left - expected) - variance)[known].sum()
    spread = max(float(surplus / max(weight[known].sum(), TINY)), 0.0)
    moved = np.where(
        broadcast_areas(known, left), spread * (left - expected) / (spread * weight + variance + TINY), 0.0
    )
    best: Floats = np.maximum(start + weights * moved[parents], 0.0)
    return best


def _differences(
    asking: AreaQuestions, above: _Level, own: AreaTable, parents: NDArray[np.int64], levels: Levels
) -> tuple[Floats, Floats]:
    """The sum of the withheld parts of each parent, and its variance; infinite where unknown."""
    number = len(above.gone)
    lost, kept = (
        np.bincount(parents[own.gone], minlength=number),
        np.bincount(parents[~own.gone], minlength=number),
    )
    left = above.best - add_parts(
        np.where(broadcast_areas(own.gone, own.shown), 0, own.shown), parents, number
    )
    expected = above.variance + own.variance * kept
    whole = ~above.gone & (lost == 0) & (kept > 0)
    if whole.any():  # where nothing is withheld the difference is noise alone: so large is it really
        size = int(np.prod(left.shape[1:]))
        expected = expected * (np.square(left[whole]).sum() / max(expected[whole].sum() * size, TINY))
    noise = np.where(above.gone | (lost == 0), np.inf, expected)
    for other, variance in (
        asking.interior(levels, own.gone, parents, number),
        asking.unions(levels, above, own, parents),
    ):
        better = (variance < noise) & (lost > 0)
        left[better], noise[better] = other[better], variance[better]
    return left, noise
