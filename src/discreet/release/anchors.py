"""The anchors of a fitted table: the tables that it agrees with (`fit_to`), and the cells that they decide.

The anchors are made one after the other, each fitted to those before it, so that they agree. An anchor decides a cell that
is a sum of the anchor's cells: for every variable of the anchor the cell covers whole categories, and it covers all
categories of every other variable.

    request   area x sex x age      anchor   area x sex      decided   every (area, sex, total), and their sums

Anchors are requests like any other: rules apply, and under `dp` they must be covered. Only released numbers are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.grammar import NO_TABLES, variables_of
from discreet.model.hierarchy import ancestors, is_level_of
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.model.universe import dp_terms

if TYPE_CHECKING:
    from discreet.additivity.fitting import PublishedCells


def anchor_requests(asked: TableRequest, dataset: Dataset) -> tuple[TableRequest, ...]:
    """The anchors of a fitted canonical request in their order; only those before it, if it is one of them."""
    words = asked.fit_to or dataset.protection.fit_to
    tables = [variables_of(word) for word in words if word != NO_TABLES]
    plain = asked.totals and not (asked.filters or asked.groups or asked.levels)
    own = next(
        (at for at, names in enumerate(tables) if plain and set(asked.variables) == set(names)), len(tables)
    )
    return tuple(
        TableRequest(
            asked.dataset, rows=names, measure=asked.measure, additivity="fitted", fit_to=(NO_TABLES,)
        )
        for names in tables[:own]
    )


def anchor_cells(
    shape: TableShape,
    dataset: Dataset,
    anchors: Sequence[Release],
    values: NDArray[np.int64],
    exact: NDArray[np.bool_],
) -> PublishedCells | None:
    """The cells that a fitted table keeps: those that its anchors decide, and exact numbers of a declared level.

    If the number of records is the only invariant, it is not kept: published numbers must not change.
    """
    held = dp_terms(dataset)[0].held if dataset.protection.is_dp and exact.any() else ()
    if not anchors and not held:
        return None
    from discreet.additivity.fitting import PublishedCells  # noqa: PLC0415 - only fitted tables need it

    where, found = np.zeros(shape.lengths, dtype=np.bool_), np.zeros(shape.lengths, dtype=np.int64)
    for release in anchors:
        decided, sums = _cells_of_anchor(shape, dataset, release)
        found[decided], where[decided] = sums[decided], True
    if held:
        found, where = np.where(exact, values, found), where | exact
    tables = [" x ".join(d.label.lower() for d in each.dimensions) for each in anchors]
    levels = (dataset.variable(name).label.lower() for name in held)
    return PublishedCells(where, found, (*tables, *(label for label in levels if label not in tables)))


def _cells_of_anchor(
    shape: TableShape, dataset: Dataset, release: Release
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The cells that one anchor decides, and their values as sums of its cells."""
    table = release.values[tuple(slice(0, -1) for _ in release.dimensions)]
    good = [np.array([len(each) == len(d.base) for each in d.members()]) for d in shape.dimensions]
    used: list[int] = []
    sizes = [1] * len(good)
    related = [_matching_axes(shape, dataset, dimension.name) for dimension in release.dimensions]
    filters = [
        f.name
        for f in shape.filters
        if not any(is_level_of(dataset, f.name, d.name) for d in release.dimensions)
    ]
    nothing = np.zeros(shape.lengths, dtype=np.bool_), np.zeros(shape.lengths, dtype=np.int64)
    if filters or any(len(parts) > 1 for parts in related):
        return nothing
    for at, (dimension, parts) in enumerate(zip(release.dimensions, related, strict=True)):
        axis, name, members = (
            parts[0] if parts else (None, dimension.name, [tuple(range(len(dimension.base)))])
        )
        matrix, whole = _sums(dataset, name, members, dimension.name)
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, at)), 0, at)
        if axis is None and not whole.all():
            return nothing
        if axis is not None:
            good[axis], sizes[axis] = whole, whole.size
            used.append(axis)
    if len(set(used)) != len(used):
        return nothing
    shown = [at for at, parts in enumerate(related) if parts and parts[0][0] is not None]
    hidden = tuple(at for at in range(table.ndim) if at not in shown)
    laid = table.sum(axis=hidden).transpose(np.argsort(used)).reshape(sizes)
    decided = np.ones(shape.lengths, dtype=np.bool_)
    for axis, flags in enumerate(good):
        decided &= flags.reshape([-1 if each == axis else 1 for each in range(decided.ndim)])
    return decided, np.broadcast_to(laid, shape.lengths)


def _matching_axes(
    shape: TableShape, dataset: Dataset, name: str
) -> list[tuple[int | None, str, list[tuple[int, ...]]]]:
    """Axes and filters (axis None) of a table that use a variable or another level of it, with their categories."""
    axes = [
        (axis, dimension.name, dimension.members())
        for axis, dimension in enumerate(shape.dimensions)
        if is_level_of(dataset, dimension.name, name)
    ]
    filters = [(None, f.name, [f.members]) for f in shape.filters if is_level_of(dataset, f.name, name)]
    return [*axes, *filters]


def _sums(
    dataset: Dataset, name: str, members: list[tuple[int, ...]], onto: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each set of categories, the anchor's categories that it adds up, and whether it is such a sum."""
    up, down = ancestors(dataset, onto, name), ancestors(dataset, name, onto)
    chosen = np.zeros((len(members), len(dataset.variable(name))), dtype=np.int64)
    for line, each in enumerate(members):
        chosen[line, list(each)] = 1
    if down is None:  # the same variable, or a finer level is in the anchor
        matrix = chosen if up is None else chosen[:, up]
        return matrix, np.ones(len(members), dtype=np.bool_)
    parts = np.zeros((len(dataset.variable(onto)), chosen.shape[1]), dtype=np.int64)
    parts[down, np.arange(down.size)] = 1
    matrix = (chosen @ parts.T == parts.sum(axis=1)).astype(np.int64)
    return matrix, matrix @ parts.sum(axis=1) == chosen.sum(axis=1)
