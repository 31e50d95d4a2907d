"""Secondary suppression: further areas are withheld so that no difference discloses a withheld area.

A coarser area less its shown parts is the sum of its withheld parts. So, of the parts of every shown area, none is
withheld, or at least two are, and for each of two weights w, the noisy number of people n and the squared distance
from the shares of all parts together,

    10 · max w(withheld by a rule) <= Σ w(withheld),   or all parts are withheld
    w = n   and   w = Σ over cells (x - n · Σ x / Σ n)²

Even without noise the sum then says little about one of them. The second weight is the error of a guess by shares: without
it an area that is withheld because it is unusual, such as barracks, would show in the sum. The added areas are chosen by
noisy counts alone: the smallest that is large enough, or the largest, and again. Ties go to the first. Consequently

    an area is withheld together with all its parts, because they would add up to it
    an area with a single part is the same people: both are withheld, or none

Source: Hundepool et al. (2012), Statistical Disclosure Control, section 4.4 (secondary suppression).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset, per_dataset
from discreet.model.hierarchy import groupings
from discreet.model.shape import Dimension
from discreet.rules.noisy_table import Slices

#: The people of the parts of an area, and their squared distances.
Weights = tuple[NDArray[np.int64], NDArray[np.int64]]

#: The ratio of all withheld people to those of one part that a rule withholds.
TIMES = 10
#: The minimum number of withheld parts of an area, if any is.
FEWEST = 2


class Division(NamedTuple):
    """An area and its parts by position; the area is None for a declared group that is not shown."""

    whole: int | None
    parts: NDArray[np.int64]


@per_dataset
def divisions(dataset: Dataset, place: Dimension) -> list[Division]:
    """All areas with their parts, each after the one that contains it; then the groups of declared code lists."""
    total = len(place.outputs)
    parts: dict[int, list[int]] = {total: []}
    for number, output in enumerate(place.outputs):
        parts.setdefault(output.parent if output.parent >= 0 else total, []).append(number)
    order = [total, *sorted(number for number in parts if number != total)]
    found = [Division(number, np.array(parts[number], dtype=np.int64)) for number in order]
    finest = max((output.depth for output in place.outputs), default=0)
    at = {
        output.members[0]: number
        for number, output in enumerate(place.outputs)
        if output.depth == finest and len(output.members) == 1
    }
    groups = [group for named in groupings(dataset, place.name).values() for group in named]
    inside = [[at[member] for member in group.members if member in at] for group in groups]
    return found + [
        Division(None, np.array(numbers, dtype=np.int64)) for numbers in inside if len(numbers) > 1
    ]


def same_people(failed: NDArray[np.bool_], slices: Slices) -> NDArray[np.bool_]:
    """The failures, with a single part judged like the area that it fills."""
    if not failed.any():
        return failed
    lines = failed.reshape(slices.lengths).copy()
    for axis, place in enumerate(slices.places):
        along = np.moveaxis(lines, axis, 0)
        for division in divisions(slices.dataset, place):
            if division.whole is not None and len(division.parts) == 1:
                along[division.parts[0]] = along[division.whole]
    return lines.ravel()


def add_secondary(failed: NDArray[np.bool_], seeds: NDArray[np.bool_], slices: Slices) -> NDArray[np.bool_]:
    """All withheld slices: `failed` by a rule, `seeds` in a table with fewer variables, and secondary ones."""
    mask = (failed | seeds).reshape(slices.lengths)
    if not mask.any():
        return mask.ravel()
    by_rule = failed.reshape(slices.lengths)
    people = np.maximum(slices.total, 0).reshape(slices.lengths)
    cells = slices.interior.reshape(*slices.lengths, -1)
    lines = [_Line(divisions(slices.dataset, place), axis) for axis, place in enumerate(slices.places)]
    before = -1
    while before != mask.sum():
        before = mask.sum()
        for line in lines:
            line.complete(mask, by_rule, people, cells)
    return mask.ravel()


class _Line:
    """The divisions along one dimension, and the cached weights of their parts."""

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
        """Withhold further areas along the dimension, in place."""
        shown, ruled, first_people, first_cells = map(self.first, (mask, by_rule, people, cells))
        for place in np.ndindex(shown.shape[1:]):
            line = (slice(None), *place)
            if shown[line].any():
                for number, division in enumerate(self.tree):
                    weigh = partial(self._weights, (number, *place), first_people[line], first_cells[line])
                    _within(division, shown[line], ruled[line], weigh)

    def _weights(self, key: tuple[int, ...], people: NDArray[np.int64], cells: NDArray[np.int64]) -> Weights:
        if key not in self.known:
            parts = self.tree[key[0]].parts
            self.known[key] = people[parts], unusual(people[parts], cells[parts])
        return self.known[key]


def _within(
    division: Division, mask: NDArray[np.bool_], by_rule: NDArray[np.bool_], weigh: Callable[[], Weights]
) -> None:
    """Withhold further parts of one area, in place."""
    whole, parts = division
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
    """The squared distance of each part from the shares of all parts together, over its cells, rounded.

    >>> unusual(np.array([10, 30]), np.array([[10, 0], [10, 20]]))
    array([50, 50])
    """
    shares = cells.sum(axis=0) / max(people.sum(), 1)
    far: NDArray[np.float64] = np.square(cells - np.outer(people, shares)).sum(axis=1)
    return np.rint(far).astype(np.int64)


def _next(
    gone: NDArray[np.bool_], people: NDArray[np.int64], weights: NDArray[np.int64], needed: int
) -> int | None:
    """The next part to withhold: the smallest that is enough, else the largest; None where nothing is missing."""
    missing = needed - int(weights[gone].sum())
    open_parts = np.flatnonzero(~gone & (people > 0))
    if not open_parts.size or (missing <= 0 and gone.sum() >= FEWEST):
        return None
    enough = open_parts[weights[open_parts] >= missing]
    if enough.size:
        return int(enough[weights[enough].argmin()])
    return int(open_parts[weights[open_parts].argmax()])
