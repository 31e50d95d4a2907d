"""What the rules on noisy counts say of a request: of its unfiltered table, so that no filter evades them.

The unfiltered table is counted and protected only where a rule applies, once for each version and table: a
table never changes, so neither does what is said of it. Rules see noisy cells and nothing else.

Comes from: `pipeline`, `dry_run` and `joint_margins`. Goes to: `rules/verdict.py`, and back as a `Verdict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.answer.counting import count_cells
from discreet.model.shape import structural_zeros, table_shape
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.unfiltered import needs_table, unfiltered, unfiltered_shape
from discreet.rules.verdict import verdict_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.protect.protector import Protector
    from discreet.rules.verdict import Verdict
    from discreet.workspace.workspace import StoredDataset


def verdict_on(
    stored: StoredDataset,
    protector: Protector,
    asked: TableRequest,
    shape: TableShape,
    noisy: NDArray[np.int64] | None = None,
) -> Verdict | None:
    """The verdict on a canonical request; None where no rule on counts applies.

    Args:
        stored: The version that is asked.
        protector: What protects this question; nothing of it may be unpaid.
        asked: The request.
        shape: Its shape.
        noisy: Its noisy counts if they are at hand; a table without filters is not counted again.
    """
    if not needs_table(stored.rules, asked, stored.dataset):
        return None
    wide = unfiltered(asked, stored.dataset)
    if wide not in stored.verdicts:
        wide_shape = unfiltered_shape(asked, stored.dataset)
        cells = _own_cells(wide_shape, shape, noisy)
        if cells is None:
            cells = protector.protect(count_cells(stored, wide_shape)).noisy
        table = NoisyTable(wide_shape, cells, structural_zeros(wide_shape, stored.dataset))
        stored.verdicts[wide] = verdict_of(stored.rules, table, stored.dataset)
    return stored.verdicts[wide]


def counted_shapes(stored: StoredDataset, counted: TableRequest, shape: TableShape) -> list[TableShape]:
    """Every shape that an answer counts: its own, with strata, and what the rules on counts look at."""
    shapes = [shape]
    if {dimension.name for dimension in shape.dimensions} != set(counted.variables):
        shapes.append(table_shape(counted, stored.dataset))
    if needs_table(stored.rules, counted, stored.dataset):
        shapes.append(unfiltered_shape(counted, stored.dataset))
    return shapes


def joint_verdict(
    stored: StoredDataset, asked: TableRequest, shape: TableShape, noisy: NDArray[np.int64]
) -> Verdict | None:
    """The verdict on a margin without totals that was released with others: its totals are its own sums."""
    if not needs_table(stored.rules, asked, stored.dataset):
        return None
    wide = unfiltered_shape(asked, stored.dataset)
    names = [dimension.name for dimension in shape.dimensions]
    cells = np.einsum(noisy, range(noisy.ndim), [names.index(each.name) for each in wide.dimensions])
    for axis, dimension in enumerate(wide.dimensions):
        parts = [cells.take(list(members), axis).sum(axis) for members in dimension.members()]
        cells = np.stack(parts, axis)
    table = NoisyTable(wide, cells, structural_zeros(wide, stored.dataset))
    return verdict_of(stored.rules, table, stored.dataset)


def _own_cells(
    wide: TableShape, shape: TableShape, noisy: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """The noisy cells of a request in the order of its unfiltered table, where they are the same cells."""
    places = {dimension.name: place for place, dimension in enumerate(shape.dimensions)}
    if noisy is None or shape.filters or {d.name for d in wide.dimensions} != set(places):
        return None
    order = [places[dimension.name] for dimension in wide.dimensions]
    same = all(d == shape.dimensions[place] for d, place in zip(wide.dimensions, order, strict=True))
    return noisy.transpose(order).copy() if same else None
