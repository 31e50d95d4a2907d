"""Counts that already carry their noise: all that a rule on counts may see.

A `NoisyTable` is the noisy, unfiltered table with its totals; it is made from integers that may be
released, never from an exact table. `Slices` cuts it into areas: one slice for each area of its
geography and one for the total over areas; a table without geography is one slice.

Comes from: `protect`, by way of `answer/verdicts.py`. Goes to: `verdict`, which shows it to the rules.
Source: Rinott et al. (2018), section 2.2; a rule on true counts would itself be a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.rules.places import ancestors, coarser, finer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension, TableShape


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """The noisy counts of an unfiltered table, totals last.

    Args:
        shape: Its cells; every variable has its total.
        noisy: Counts with their noise, before any adjustment, as a plain integer array.
        impossible: Which cells are structural zeros: public knowledge, and not sparse.
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
    """A noisy table cut into areas.

    Args:
        places: The dimensions of geography; their product is the slices, totals included.
        counts: Noisy counts: one slice a row, then the other dimensions, totals last.
        possible: Which interior cells can occur, in the shape of `interior`.
        dataset: The public description.
    """

    places: tuple[Dimension, ...]
    counts: NDArray[np.int64]
    possible: NDArray[np.bool_]
    dataset: Dataset
    _within: dict[str | None, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    @property
    def variables(self) -> int:
        """How many variables are crossed beside geography."""
        return self.counts.ndim - 1

    @property
    def interior(self) -> NDArray[np.int64]:
        """Counts without totals."""
        return self.counts[(slice(None), *(slice(-1),) * self.variables)]

    @property
    def total(self) -> NDArray[np.int64]:
        """The count of everybody in each slice, which has a noise of its own."""
        place: tuple[slice | int, ...] = (slice(None), *(-1,) * self.variables)
        return self.counts[place]

    def margin(self, axis: int) -> NDArray[np.int64]:
        """The counts of one variable in each slice: its categories, all other variables at their total."""
        others = (slice(-1) if other == axis else -1 for other in range(1, self.counts.ndim))
        place: tuple[slice | int, ...] = (slice(None), *others)
        return self.counts[place]

    def within(self, level: str | None) -> NDArray[np.bool_]:
        """Which slices are at or below a level of the geography: they lie within one of its areas."""
        if level not in self._within:
            self._within[level] = self._work_out(level)
        return self._within[level]

    def _work_out(self, level: str | None) -> NDArray[np.bool_]:
        if level is None:
            return np.ones(len(self.counts), dtype=np.bool_)
        inside = np.zeros(tuple(place.length for place in self.places), dtype=np.bool_)
        for axis, place in enumerate(self.places):
            if place.name == level or place.name in finer(self.dataset, level):
                owner = ancestors(self.dataset, place.name, level)
                one = np.array([_alike(owner, members) for members in place.members()])
                inside |= one.reshape(tuple(-1 if a == axis else 1 for a in range(inside.ndim)))
        return inside.ravel()

    def none(self) -> NDArray[np.bool_]:
        """No slice at all."""
        return np.zeros(len(self.counts), dtype=np.bool_)

    def areas(self) -> NDArray[np.bool_]:
        """Which slices are areas, and not a total over areas."""
        shown = np.ones(tuple(place.length for place in self.places), dtype=np.bool_)
        for axis in range(len(self.places)):
            np.moveaxis(shown, axis, 0)[-1] = False
        return shown.ravel()


def slices_of(table: NoisyTable, dataset: Dataset) -> Slices:
    """Cut a table along its geography.

    Raises:
        ValueError: Two levels of one geography: the finer one alone says where.
    """
    dimensions = table.shape.dimensions
    places = [axis for axis, dimension in enumerate(dimensions) if dimension.geography]
    names = {dimensions[axis].name for axis in places}
    if any(set(coarser(dataset, name)) & names for name in names):
        raise ValueError("rules look at the finest level of a geography only: see `unfiltered`")
    others = [axis for axis in range(len(dimensions)) if axis not in places]
    lengths = (prod(dimensions[a].length for a in places), *(dimensions[a].length for a in others))
    counts = table.noisy.transpose(*places, *others).reshape(lengths)
    inside = (slice(None), *(slice(-1),) * len(others))
    possible = ~table.impossible.transpose(*places, *others).reshape(lengths)[inside]
    return Slices(tuple(dimensions[a] for a in places), counts, possible, dataset)


def number(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many flags are set in each slice; slices stand first."""
    found: NDArray[np.int64] = flags.reshape(len(flags), -1).sum(axis=1, dtype=np.int64)
    return found


def _alike(owner: NDArray[np.int64], members: tuple[int, ...]) -> bool:
    if len(members) == 1:
        return True
    owners = owner[list(members)]
    return bool((owners == owners[0]).all())
