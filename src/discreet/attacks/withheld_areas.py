"""Withheld areas: what the parts that are shown, and all that holds them, say of the parts that are not.

The target is a table of areas by some variables, of which a rule withholds areas. There are two best guesses without
any difference:

    shares   the parent's released table, times the area's share of the parent's people
    fitted   the same, fitted to every table with one variable less in which the area is shown

The attack then looks for the withheld areas in differences. The parent less the parts that are shown is the sum of
those that are withheld, with an error of known variance N:

    listing    parent - each part shown                      N = V (1 + parts shown)
    union      parent - the parts shown, counted by a filter N = 2 V, or 3 V where one more must be left out
    interior   the same where totals are sums of cells       N = V (parts withheld)
    superset   a table with one variable more that shows the area: its total is the number itself, N = V

and every number may be asked again in other words (`ways`): categories in pairs, each time others, give V / ways or so.
The difference is shared out by linear Bayes, so that a worse look never hurts:

    x_a = guess_a + φ w_a / (φ Σ w + N) · (difference - Σ guess),   φ from the differences themselves

with w = guess for the fitted guess, which misses chance alone, and w = guess² for the shares.

Where all parts of a parent are withheld nothing can be taken off: their guesses are made to add up to it, too.
Levels are worked through from the coarsest to the finest; where an area above is withheld, its estimate stands in.

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
    """What is known of the areas of one level in the end.

    Args:
        withheld: Which areas are not shown.
        parents: The place of the area that holds each, at the level above.
        guess: The best guess for every cell without differences, one line an area; what is shown stands as it is.
        best: The same with differences.
        queries: How many tables were asked.
    """

    withheld: Flags
    parents: NDArray[np.int64]
    guess: Floats
    best: Floats
    queries: int


def attack(interface: Interface, dataset: Dataset, target: Target) -> Estimates | None:
    """Estimate all cells of the areas of the finest level; None where no such table is released."""
    asking = AreaQuestions(QueryCache(interface), dataset, target)
    above = asking.averaged(None)
    if above is None:
        return None
    upper: str | None = None
    parents = np.zeros(1, dtype=np.int64)
    estimate = _Level(above.shown, above.shown, np.zeros(1, dtype=np.bool_), above.variance)
    for level in target.levels:
        own = asking.averaged(level)
        if own is None:
            if level == target.levels[-1]:
                return None
            continue
        parents = asking.parents(level, upper)
        estimate = _step(asking, estimate, own, parents, (upper, level))
        upper = level
    return Estimates(estimate.gone, parents, estimate.guess, estimate.best, asking.notebook.asked)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The areas of one level: both estimates, which are withheld, and the variance of what is shown."""

    guess: Floats
    best: Floats
    gone: Flags
    variance: float


def _step(
    asking: AreaQuestions, above: _Level, own: AreaTable, parents: NDArray[np.int64], levels: Levels
) -> _Level:
    """From the areas of one level to those of the next."""
    level = levels[1]
    guess = asking.fitted(above.guess, parents, level)
    start = asking.fitted(above.best, parents, level)
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
    """The guesses, moved by what is left of each parent when the parts shown are taken off."""
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
    """For each parent the sum of its withheld parts, and the variance of that; infinite where nothing is known."""
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
