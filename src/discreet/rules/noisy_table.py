"""Noisy counts by area: the only counts that a rule may see.

A `NoisyTable` is the noisy, unfiltered table with its totals, made from integers that may be released. `Slices` divides it
into areas: one slice per area of its geography and one for the total; without geography the table is one slice.

Source: Rinott et al. (2018), section 2.2; a rule on true counts would itself be a release.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import coarser, is_level_of, units_of
from discreet.model.shape import Dimension, TableShape


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """The noisy counts of an unfiltered table before any adjustment, totals last.

    `impossible` are structural zeros, which do not make a table sparse.
    """

    shape: TableShape
    noisy: NDArray[np.int64]
    impossible: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not all(type(array) is np.ndarray for array in (self.noisy, self.impossible)):
            raise TypeError("a noisy table holds plain arrays of noisy counts; nothing exact comes in")
        if self.noisy.dtype != np.int64 or self.impossible.dtype != np.bool_:
            raise TypeError("noisy counts are int64, structural zeros bool")
        if self.noisy.shape != self.shape.lengths or self.impossible.shape != self.shape.lengths:
            raise ValueError("the arrays of a noisy table must have its shape")
        if self.shape.filters or not all(dimension.total for dimension in self.shape.dimensions):
            raise ValueError("rules look at the unfiltered table with its totals: see `unfiltered`")

    def __repr__(self) -> str:
        return f"<NoisyTable of {' x '.join(map(str, self.shape.lengths))} cells>"


@dataclass(frozen=True, eq=False)
class Slices:
    """A noisy table divided into areas.

    Args:
        places: The geographic dimensions; the slices are their product, totals included.
        counts: Noisy counts: one slice per row, then the other dimensions, totals last.
        possible: The interior cells that can occur, in the shape of `interior`.
        dataset: The public description.
    """

    places: tuple[Dimension, ...]
    counts: NDArray[np.int64]
    possible: NDArray[np.bool_]
    dataset: Dataset
    _within: dict[str | None, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(place.length for place in self.places)

    @property
    def variables(self) -> int:
        """The number of crossed variables without geography."""
        return self.counts.ndim - 1

    @cached_property
    def positive(self) -> NDArray[np.bool_]:
        """The interior cells that can occur and have a positive count."""
        return (self.interior > 0) & self.possible

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of interior cells per slice that can occur."""
        return number(self.possible)

    @property
    def interior(self) -> NDArray[np.int64]:
        """Counts without totals."""
        return self.counts[(slice(None), *(slice(-1),) * self.variables)]

    @property
    def total(self) -> NDArray[np.int64]:
        """The total of each slice, which has independent noise."""
        place: tuple[slice | int, ...] = (slice(None), *(-1,) * self.variables)
        return self.counts[place]

    def margin(self, axis: int) -> NDArray[np.int64]:
        """The counts of one variable in each slice, all other variables at their total."""
        others = (slice(-1) if other == axis else -1 for other in range(1, self.counts.ndim))
        place: tuple[slice | int, ...] = (slice(None), *others)
        return self.counts[place]

    def within(self, level: str | None) -> NDArray[np.bool_]:
        """The slices at or below a level of the geography, which lie within one of its areas."""
        if level not in self._within:
            inside = np.full(self.lengths, level is None)
            for axis, place in enumerate(self.places):
                if level is not None and is_level_of(self.dataset, place.name, level):
                    units = units_of(self.dataset, place.name, place.members(), level)
                    one = np.array([len(each) == 1 for each in units])
                    inside |= one.reshape(tuple(-1 if a == axis else 1 for a in range(inside.ndim)))
            self._within[level] = inside.ravel()
        return self._within[level]

    def none(self) -> NDArray[np.bool_]:
        """An empty mask of slices."""
        return np.zeros(len(self.counts), dtype=np.bool_)

    def areas(self) -> NDArray[np.bool_]:
        """The slices that are areas of the finest level."""
        shown = np.ones(self.lengths, dtype=np.bool_)
        for axis, place in enumerate(self.places):
            coarse = place.depths < place.depths.max(initial=0)
            np.moveaxis(shown, axis, 0)[np.append(coarse, np.True_)] = False
        return shown.ravel()


def slices_of(table: NoisyTable, dataset: Dataset, crossed: frozenset[str] | None = None) -> Slices:
    """Divide a table along its geography; of the other variables look at the crossed ones, the rest at their total.

    Raises:
        ValueError: Two levels of one geography.
    """
    dimensions = table.shape.dimensions
    places = [axis for axis, dimension in enumerate(dimensions) if dimension.geography]
    names = {dimensions[axis].name for axis in places}
    if any(set(coarser(dataset, name)) & names for name in names):
        raise ValueError("rules look at the finest level of a geography only: see `unfiltered`")
    free = [axis for axis in range(len(dimensions)) if axis not in places]
    others = [axis for axis in free if crossed is None or dimensions[axis].name in crossed]
    lengths = (prod(dimensions[a].length for a in places), *(dimensions[a].length for a in others))

    def cut(array: NDArray[Any]) -> NDArray[Any]:
        rest = [axis for axis in free if axis not in others]
        looked_at: NDArray[Any] = array.transpose(*rest, *places, *others)[(-1,) * len(rest)]
        return looked_at.reshape(lengths)

    inside = (slice(None), *(slice(-1),) * len(others))
    possible = ~cut(table.impossible)[inside]
    return Slices(tuple(dimensions[a] for a in places), cut(table.noisy), possible, dataset)


def number(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of flags set per slice; the first axis is the slice."""
    found: NDArray[np.int64] = flags.reshape(len(flags), -1).sum(axis=1, dtype=np.int64)
    return found
