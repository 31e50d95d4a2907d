"""Levels of a hierarchy as maps between categories: which areas make up a region, and back.

A set of categories of one level says the same thing at a finer level, always, and at a coarser one only when
it takes whole categories. Unrelated variables say nothing about each other.

    ancestors   finer category -> its coarser category
    express   the same people at another level, or None where that level cannot say it
    inside      the categories of another level that lie wholly within a set
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable


def ancestors(dataset: Dataset, fine: str, coarse: str) -> NDArray[np.int64] | None:
    """For each category of the finer level the position of its ancestor; None if it is not a finer level."""
    for hierarchy in dataset.hierarchies:
        levels = hierarchy.levels
        if fine in levels and coarse in levels and levels.index(coarse) < levels.index(fine):
            positions = np.arange(len(dataset.variable(fine)), dtype=np.int64)
            for place in range(levels.index(fine), levels.index(coarse), -1):
                child, parent = dataset.variable(levels[place]), dataset.variable(levels[place - 1])
                positions = _parents(parent, child)[positions]
            return positions
    return None


@lru_cache(maxsize=64)
def _parents(parent: Variable, child: Variable) -> NDArray[np.int64]:
    """One step up, worked out once: a country has a hundred thousand areas."""
    up = np.array([parent.position(category.parent or "") for category in child.categories], dtype=np.int64)
    up.flags.writeable = False
    return up


def is_level_of(dataset: Dataset, name: str, other: str) -> bool:
    """Whether two variables are the same, or levels of one hierarchy."""
    return name == other or any({name, other} <= set(h.levels) for h in dataset.hierarchies)


def is_at_least_as_fine(dataset: Dataset, fine: str, coarse: str) -> bool:
    """Whether the categories of one variable are sums of categories of the other."""
    return fine == coarse or ancestors(dataset, fine, coarse) is not None


def express(dataset: Dataset, name: str, labels: NDArray[np.int64], onto: str) -> NDArray[np.int64] | None:
    """Labels of the categories of `name` as labels of the categories of `onto`, the same people under each.

    Args:
        dataset: The description.
        name: The variable that is labelled.
        labels: One for each of its categories; -1 for people who are left out.
        onto: The same variable, a finer level, or a coarser one whose categories each have one label.

    Returns:
        The labels, or None where `onto` cannot say it. A coarser category with nobody below it has -1.
    """
    if onto == name:
        return labels
    up = ancestors(dataset, onto, name)
    if up is not None:
        finer: NDArray[np.int64] = labels[up]
        return finer
    down = ancestors(dataset, name, onto)
    if down is None:
        return None
    coarser = np.full(len(dataset.variable(onto)), -1, dtype=np.int64)
    coarser[down] = labels
    return coarser if np.array_equal(coarser[down], labels) else None


def inside(dataset: Dataset, name: str, kept: NDArray[np.bool_], onto: str) -> NDArray[np.bool_] | None:
    """The categories of `onto` all of whose people are in kept categories of `name`; None if unrelated."""
    if onto == name:
        return kept
    up = ancestors(dataset, onto, name)
    if up is not None:
        finer: NDArray[np.bool_] = kept[up]
        return finer
    down = ancestors(dataset, name, onto)
    if down is None:
        return None
    categories = len(dataset.variable(onto))
    missed = np.bincount(down[~kept], minlength=categories)
    whole: NDArray[np.bool_] = (missed == 0) & (np.bincount(down, minlength=categories) > 0)
    return whole
