"""Exact counts of a table, and the verdict of the rules on noisy counts.

A survey that releases weights only is counted in steps of its largest weight,

    t_k = round(W_k / w_max),   W_k being the sum of the weights in cell k.

One person changes t_k by at most 1. In such a dataset t replaces the count everywhere: noise is added to it, rules look at
it, and nothing that is released depends on the number of records.

Rules judge the unfiltered table of a request, so that no filter evades them. That table is counted and protected only if a
rule applies, once for each version and table. Rules see noisy cells only.

Source: Rinott et al. (2018), section 8; docs/methods/survey-weights.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape, structural_zeros, table_shape
from discreet.protect.protector import CellKeyProtector, NoisyCells, Protector
from discreet.records.engine import MeasureQuery
from discreet.records.tabulate import tabulate
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.verdict import Verdict, needs_table, rule_table, rule_table_shape, verdict_of
from discreet.workspace.workspace import StoredDataset

if TYPE_CHECKING:
    from discreet.release.checked_request import ParsedRequest


def count_cells(
    stored: StoredDataset,
    shape: TableShape,
    *,
    weights: bool = False,
    sums: tuple[str, ...] = (),
    measures: tuple[MeasureQuery, ...] = (),
) -> ExactTable:
    """The exact counts, or steps, of a shape; takes what `tabulate` takes."""
    if not uses_weight_steps(stored.dataset):
        return tabulate(stored.engine, shape, weights=weights, sums=sums, measures=measures)
    exact = tabulate(stored.engine, shape, weights=True)
    steps = weight_steps(exact.weight_sums, stored.dataset)
    return ExactTable(shape, steps, exact.key_sums, exact.weight_sums)


def uses_weight_steps(dataset: Dataset) -> bool:
    """Whether steps of the largest weight replace counts in a dataset."""
    return dataset.survey is not None and dataset.survey.only_weights


def weight_steps(weight_sums: NDArray[np.int64] | None, dataset: Dataset) -> NDArray[np.int64]:
    """Sums of weights as steps of the largest one."""
    from discreet.survey.weight_forms import on_grid  # noqa: PLC0415 - only surveys need it

    if weight_sums is None or dataset.survey is None:
        raise ValueError("a survey needs sums of weights")
    return on_grid(weight_sums, round(dataset.survey.largest_weight * 10**dataset.weight_decimals))


#: The size of the cache of verdicts of a version; the oldest are evicted.
MOST_VERDICTS = 1_000


def verdict_on(
    stored: StoredDataset,
    protector: Protector,
    asked: TableRequest,
    shape: TableShape,
    noisy: NDArray[np.int64] | None = None,
) -> Verdict | None:
    """The verdict on a canonical request that is paid for; None if no rule on counts applies.

    Where its `noisy` counts are known, a table without filters is not counted again.
    """
    if not needs_table(stored.rules, asked, stored.dataset):
        return None
    wide = rule_table(asked, stored.dataset)
    found = stored.verdicts.get(wide)
    if found is None:
        wide_shape = rule_table_shape(asked, stored.dataset)
        places = None if noisy is None or shape.filters else _places(wide_shape, shape)
        if noisy is not None and places is not None and all(own is None for _, own in places):
            cells = noisy.transpose(np.argsort([axis for axis, _ in places]))
        else:
            kept = protector.stored(wide_shape)
            cells = (kept or protector.protect(count_cells(stored, wide_shape), in_place=True)).noisy
        table = NoisyTable(wide_shape, cells, structural_zeros(wide_shape, stored.dataset))
        found = _store_verdict(stored, wide, table)
    return found


def _store_verdict(stored: StoredDataset, wide: TableRequest, table: NoisyTable) -> Verdict:
    stored.verdicts[wide] = found = verdict_of(stored.rules, table, stored.dataset)
    for old in list(stored.verdicts)[:-MOST_VERDICTS]:
        stored.verdicts.pop(old, None)
    return found


def reusable_cells(stored: StoredDataset, protector: Protector, question: ParsedRequest) -> NoisyCells | None:
    """Noisy cells that need no separate count: made at load, or part of the table that the rules look at.

    Of the latter, records are counted once for both; None if the verdict is cached or the rules look at other cells. Noise
    must depend on the people of a cell and its description only: then a cell has the same noise in both tables.
    """
    kept = protector.stored(question.shape)
    if kept is not None:
        return replace(kept, noisy=kept.noisy.copy())  # callers write into it
    asked, shape = question.counted, question.shape
    keyed = isinstance(protector, CellKeyProtector) and question.kind.in_place and not shape.filters
    if not keyed or not needs_table(stored.rules, asked, stored.dataset):
        return None
    wide, key = rule_table_shape(asked, stored.dataset), rule_table(asked, stored.dataset)
    places = None if key in stored.verdicts else _places(wide, shape)
    if places is None:
        return None
    whole = protector.protect(count_cells(stored, wide), in_place=True)
    table = NoisyTable(wide, whole.noisy, structural_zeros(wide, stored.dataset))
    _store_verdict(stored, key, table)
    noisy = whole.noisy.transpose([axis for axis, _ in places])
    for axis, (_, own) in enumerate(places):
        if own is not None:
            noisy = noisy.take(own, axis)
    return NoisyCells(np.ascontiguousarray(noisy), protector.distribution(shape))


def _places(wide: TableShape, shape: TableShape) -> list[tuple[int, NDArray[np.int64] | None]] | None:
    """For each dimension its axis in the wider table, and the positions of its cells there (None: all, in order)."""
    axes = {dimension.name: axis for axis, dimension in enumerate(wide.dimensions)}
    if axes.keys() != {dimension.name for dimension in shape.dimensions}:
        return None
    found: list[tuple[int, NDArray[np.int64] | None]] = []
    for dimension in shape.dimensions:
        whole, own = wide.dimensions[axes[dimension.name]], None
        if whole != dimension:
            key = (_places, dimension)
            if key not in whole.cache:
                at = {members: place for place, members in enumerate(whole.members())}
                places = [at.get(members, -1) for members in dimension.members()]
                whole.cache[key] = None if -1 in places else np.array(places, dtype=np.int64)
            own = whole.cache[key]
            if own is None:
                return None
        found.append((axes[dimension.name], own))
    return found


def shapes_to_count(stored: StoredDataset, counted: TableRequest, shape: TableShape) -> list[TableShape]:
    """Every shape that an answer counts: its own, with strata, and that of the rules on counts."""
    shapes = [shape]
    if {dimension.name for dimension in shape.dimensions} != set(counted.variables):
        shapes.append(table_shape(counted, stored.dataset))
    if needs_table(stored.rules, counted, stored.dataset):
        shapes.append(rule_table_shape(counted, stored.dataset))
    return shapes


def joint_verdict(
    stored: StoredDataset, asked: TableRequest, shape: TableShape, noisy: NDArray[np.int64]
) -> Verdict | None:
    """The verdict on a margin without totals that was released with others; its totals are its sums."""
    if not needs_table(stored.rules, asked, stored.dataset):
        return None
    wide = rule_table_shape(asked, stored.dataset)
    names = [dimension.name for dimension in shape.dimensions]
    cells = np.einsum(noisy, range(noisy.ndim), [names.index(each.name) for each in wide.dimensions])
    for axis, dimension in enumerate(wide.dimensions):
        parts = [cells.take(list(members), axis).sum(axis) for members in dimension.members()]
        cells = np.stack(parts, axis)
    table = NoisyTable(wide, cells, structural_zeros(wide, stored.dataset))
    return verdict_of(stored.rules, table, stored.dataset)
