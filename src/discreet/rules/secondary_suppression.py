"""The complement: which more areas are withheld, so that no difference gives a withheld area back.

A coarser area less those of its parts that are shown is the sum of the parts that are withheld. So, of the parts of
every area that is shown, none is withheld, or at least two are, and no area that a rule withholds has more than a
tenth of the people in all that are withheld beside it, nor a tenth of what is unusual about them. So, for each of two
weights w of an area, its noisy number of people n, and its squared distance from the shares of all parts together,

    10 · max w(withheld by a rule) <= Σ w(withheld),   or all parts are withheld
    w = n   and   w = Σ over cells (x - n · Σ x / Σ n)²

Even without any noise the sum then says little of one of them. What a guess by shares misses is the second weight, and
the squared error of the best linear guess falls by an area's share of it. Without it an area that is withheld because
it is unusual, such as barracks, shows in the sum. The areas that are added are chosen by noisy counts alone: the
smallest that is large enough, or the largest, and again. Ties go to the first. Two more things follow:

    an area that is withheld is withheld with all its parts, since they would add up to it
    an area that has one part only is the same people: both are withheld, or none

Source: Hundepool et al. (2012), Statistical Disclosure Control, section 4.4 (secondary suppression).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings
from discreet.model.shape import Dimension
from discreet.rules.noisy_table import Slices

#: Of the parts of an area: their people, and how unusual each is.
Weights = tuple[NDArray[np.int64], NDArray[np.int64]]

#: The people of all withheld parts are at least so many times those of one that a rule withholds.
TIMES = 10
#: At least so many parts of an area are withheld, or none.
FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """An area and its parts, by their places along a dimension.

    Args:
        whole: The place of the area; None for a declared group that is not among the areas.
        parts: The places of its parts.
    """

    whole: int | None
    parts: NDArray[np.int64]


def divisions(place: Dimension, dataset: Dataset) -> list[Division]:
    """All areas with their parts, each after the one that holds it; then the groups of declared code lists."""
    key = ("divisions", place)
    if key not in dataset.worked_out:
        dataset.worked_out[key] = _work_out(place, dataset)
    found: list[Division] = dataset.worked_out[key]
    return found


def _work_out(place: Dimension, dataset: Dataset) -> list[Division]:
    total = len(place.outputs)
    parts: dict[int, list[int]] = {total: []}
    for number, output in enumerate(place.outputs):
        parts.setdefault(output.parent if output.parent >= 0 else total, []).append(number)
    order = [total, *sorted(number for number in parts if number != total)]
    found = [Division(number, np.array(parts[number], dtype=np.int64)) for number in order]
    return found + _group_divisions(place, dataset)


def _group_divisions(place: Dimension, dataset: Dataset) -> list[Division]:
    """The declared groups of the finest areas, of whatever level or code list."""
    finest = max((output.depth for output in place.outputs), default=0)
    at = {
        output.members[0]: number
        for number, output in enumerate(place.outputs)
        if output.depth == finest and len(output.members) == 1
    }
    groups = [group for named in groupings(dataset, place.name).values() for group in named]
    inside = [[at[member] for member in group.members if member in at] for group in groups]
    return [Division(None, np.array(numbers, dtype=np.int64)) for numbers in inside if len(numbers) > 1]


def same_people(failed: NDArray[np.bool_], slices: Slices) -> NDArray[np.bool_]:
    """What the rules withhold, where an only part is judged as the area that it fills."""
    if not failed.any():
        return failed
    lines = failed.reshape(slices.lengths).copy()
    for axis, place in enumerate(slices.places):
        along = np.moveaxis(lines, axis, 0)
        for division in divisions(place, slices.dataset):
            if division.whole is not None and len(division.parts) == 1:
                along[division.parts[0]] = along[division.whole]
    return lines.ravel()


def add_secondary(failed: NDArray[np.bool_], seeds: NDArray[np.bool_], slices: Slices) -> NDArray[np.bool_]:
    """All slices that are withheld.

    Args:
        failed: Those that a rule withholds.
        seeds: Those that are withheld in a table with fewer variables, and so in this one.
        slices: The noisy table.
    """
    mask = (failed | seeds).reshape(slices.lengths)
    if not mask.any():
        return mask.ravel()
    by_rule = failed.reshape(slices.lengths)
    people = np.maximum(slices.total, 0).reshape(slices.lengths)
    cells = slices.interior.reshape(*slices.lengths, -1)
    lines = [_Line(divisions(place, slices.dataset), axis) for axis, place in enumerate(slices.places)]
    before = -1
    while before != mask.sum():
        before = mask.sum()
        for line in lines:
            line.complete(mask, by_rule, people, cells)
    return mask.ravel()


class _Line:
    """The divisions along one dimension, and the weights of their parts, which are worked out once."""

    def __init__(self, tree: list[Division], axis: int) -> None:
        self.tree = tree
        self.first = partial(np.moveaxis, source=axis, destination=0)
        self.known: dict[tuple[int, ...], Weights] = {}

    def complete(
        self,
        mask: NDArray[np.bool_],
        by_rule: NDArray[np.bool_],
        people: NDArray[np.int64],
        cells: NDArray[np.int64],
    ) -> None:
        """Add what is missing along the dimension; the mask is changed."""
        shown, ruled, first_people, first_cells = map(self.first, (mask, by_rule, people, cells))
        for place in np.ndindex(shown.shape[1:]):
            line = (slice(None), *place)
            if shown[line].any():
                for number, division in enumerate(self.tree):
                    weigh = partial(self._weights, (number, *place), first_people[line], first_cells[line])
                    _within(division, shown[line], ruled[line], weigh)

    def _weights(self, key: tuple[int, ...], people: NDArray[np.int64], cells: NDArray[np.int64]) -> Weights:
        """The people of the parts of a division, and how unusual each part is."""
        if key not in self.known:
            parts = self.tree[key[0]].parts
            self.known[key] = people[parts], unusual(people[parts], cells[parts])
        return self.known[key]


def _within(
    division: Division, mask: NDArray[np.bool_], by_rule: NDArray[np.bool_], weigh: Callable[[], Weights]
) -> None:
    """Add what is missing among the parts of one area."""
    whole, parts = division.whole, division.parts
    if whole is not None and len(parts) == 1:
        mask[whole] = mask[parts[0]] = mask[whole] or mask[parts[0]]
    elif whole is not None and mask[whole]:
        mask[parts] = True
    elif (gone := mask[parts]).any():
        people, far = weigh()
        for weights in (people, far):
            needed = TIMES * weights[by_rule[parts]].max(initial=0)
            while (added := _next(gone, people, weights, needed)) is not None:
                gone[added] = True
        mask[parts] = gone


def unusual(people: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far each part is from the shares of all parts together: a sum of squares over its cells, rounded.

    >>> unusual(np.array([10, 30]), np.array([[10, 0], [10, 20]]))
    array([50, 50])
    """
    shares = cells.sum(axis=0) / max(people.sum(), 1)
    far: NDArray[np.float64] = np.square(cells - np.outer(people, shares)).sum(axis=1)
    return np.rint(far).astype(np.int64)


def _next(
    gone: NDArray[np.bool_], people: NDArray[np.int64], weights: NDArray[np.int64], needed: int
) -> int | None:
    """The part to withhold next: the smallest that is enough, else the largest; None where nothing is missing."""
    missing = needed - int(weights[gone].sum())
    open_parts = np.flatnonzero(~gone & (people > 0))
    if not open_parts.size or (missing <= 0 and gone.sum() >= FEWEST):
        return None
    enough = open_parts[weights[open_parts] >= missing]
    if enough.size:
        return int(enough[weights[enough].argmin()])
    return int(open_parts[weights[open_parts].argmax()])
