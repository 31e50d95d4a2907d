"""Noise by description: every cell of a declared margin has its own, and any other cell is a sum of those.

    noisy(cell) = true count + sum over its base cells, structural zeros left out, of noise(key(base cell))

which is the sum of the released base cells: counts add up exactly, so only the noise is added up here. Empty base
cells have noise like all others. A noise table has one row, so that the noise does not depend on the count and
the law of every sum is known. The result says for each cell how many terms its noise has.

Source: Rinott et al. (2018), sections 4 and 7; docs/methods/dp.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadNoiseTable
from discreet.model.universe import margin_zeros
from discreet.noise.described_law import PUBLIC, DescribedLaw
from discreet.noise.identity import mechanism_name
from discreet.protect.description_keys import NoiseContext, block_keys, margin_cells, named_keys
from discreet.protect.noisy_cells import NoisyCells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.exact import ExactTable
    from discreet.model.universe import Margin
    from discreet.noise.table import NoiseTable
    from discreet.protect.cover import MarginAxis, Part
    from discreet.records.secret import Secret


@dataclass(frozen=True)
class DescriptionNoise:
    """The keyed noise of one version of a dataset.

    Args:
        secret: The workspace's secret.
        dataset: The description.
        version: The version's name.
        fingerprint: The keyed fingerprint of the records.
        noise: The noise table of every released margin.
    """

    secret: Secret
    dataset: Dataset
    version: str
    fingerprint: str
    noise: Mapping[Margin, NoiseTable]

    def __post_init__(self) -> None:
        for table in self.noise.values():
            require_one_row(table)

    def with_table(self, margin: Margin, table: NoiseTable) -> DescriptionNoise:
        """The same with one more margin."""
        return replace(self, noise={**self.noise, margin: table})

    def of(self, margin: Margin, kept: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The noise of the cells of a margin at some positions of each of its variables."""
        table = self.noise[margin]
        context = NoiseContext(self.dataset.id, self.version, self.fingerprint, mechanism_name(table))
        keys = block_keys(self.secret, context, margin_cells(margin, self.dataset), kept, table.modulus)
        return table.noise(np.zeros(keys.shape, dtype=np.int64), keys)

    def named(self, table: NoiseTable, name: tuple[str, ...], size: int) -> NDArray[np.int64]:
        """Independent noises for something with a name, such as the coefficients of many margins."""
        require_one_row(table)
        context = NoiseContext(self.dataset.id, self.version, self.fingerprint, mechanism_name(table))
        keys = named_keys(self.secret, context, name, size, table.modulus)
        return table.noise(np.zeros(size, dtype=np.int64), keys)


def require_one_row(table: NoiseTable) -> None:
    """Refuse noise that depends on the count: the law of a sum of cells would depend on what is secret."""
    if len(table.rows) != 1:
        raise BadNoiseTable(
            f"The noise table of the family {table.family} has {len(table.rows)} rows: its noise depends on the count.",
            "For `dp` use a family whose noise does not depend on the count; docs/reference/dp-universe.md lists them.",
        )
    if table.keeps_zero:
        raise BadNoiseTable("The noise table never changes a count.", "For `dp` every cell needs noise.")


def described_noise(
    exact: ExactTable, parts: Sequence[Part], noise: DescriptionNoise, *, spend: bool = False
) -> NoisyCells:
    """Noisy counts of a table that declared margins cover.

    Args:
        exact: The true counts of the table, totals included.
        parts: Which margin answers which cells (`protect/cover.py`).
        noise: The keyed noise.
        spend: Whether the noisy counts take the place of the true ones.
    """
    noisy = exact.start(spend=spend)
    public = np.zeros(noisy.shape, dtype=np.bool_)
    for part in parts:
        if part.margin is None:
            public[part.block] |= _chosen(part)
        else:
            noisy[part.block] += np.where(_chosen(part), block_noise(part, noise), 0)
    law = described_law(noisy.shape, parts, noise)
    # What has no noise and is not declared public is never told, whatever it is.
    noisy[(law.terms == 0) & ~public] = 0
    return NoisyCells(noisy, law)


def described_law(lengths: tuple[int, ...], parts: Sequence[Part], noise: DescriptionNoise) -> DescribedLaw:
    """How many terms of which margin's noise the cells of a table have; nothing is counted for it."""
    terms = np.zeros(lengths, dtype=np.int64)
    margin = np.full(lengths, PUBLIC, dtype=np.int16)
    margins = tuple(dict.fromkeys(part.margin for part in parts if part.margin is not None))
    for part in parts:
        if part.margin is not None:
            chosen = _chosen(part)
            terms[part.block] += np.where(chosen, block_terms(part, noise.dataset), 0)
            margin[part.block][chosen] = margins.index(part.margin)
    return DescribedLaw(terms, margin, tuple((each, noise.noise[each]) for each in margins))


def _chosen(part: Part) -> NDArray[np.bool_]:
    """Which cells of its block a part answers."""
    return np.ones(part.lengths, dtype=np.bool_) if part.chosen is None else part.chosen


def block_noise(part: Part, noise: DescriptionNoise) -> NDArray[np.int64]:
    """The noise of every cell of a block; structural zeros have none."""
    if part.margin is None:
        raise ValueError("public cells have no noise")
    base = noise.of(part.margin, [axis.kept for axis in part.axes])
    empty = _zeros(part, noise.dataset)
    return add_up(base if empty is None else np.where(empty, 0, base), part)


def block_terms(part: Part, dataset: Dataset) -> NDArray[np.int64]:
    """How many noises every cell of a block adds up; structural zeros have none."""
    empty = _zeros(part, dataset)
    return part.terms() if empty is None else add_up((~empty).astype(np.int64), part)


def _zeros(part: Part, dataset: Dataset) -> NDArray[np.bool_] | None:
    """Which of a block's base cells cannot occur; None where the dataset declares no such cells."""
    if not dataset.structural_zeros:
        return None
    return margin_zeros(part.margin or (), dataset, {axis.name: axis.kept for axis in part.axes})


def add_up(base: NDArray[np.int64], part: Part) -> NDArray[np.int64]:
    """Add the base cells of a margin to the cells of a block."""
    for place, axis in enumerate(part.axes):
        base = _add_axis(base, place, axis)
    lengths = [length for axis in part.axes for length in axis.lengths]
    order = np.argsort([place for axis in part.axes for place in axis.axes], kind="stable")
    return base.reshape(lengths).transpose(order).reshape(part.lengths)


def _add_axis(base: NDArray[np.int64], place: int, axis: MarginAxis) -> NDArray[np.int64]:
    """One axis of base categories becomes its outputs: as it is, in another order, or added up."""
    if not axis.axes:
        total: NDArray[np.int64] = base.sum(axis=place, keepdims=True)
        return total
    order = np.argsort(axis.target, kind="stable")
    present, starts = np.unique(axis.target[order], return_index=True)
    ordered = base if (np.diff(axis.target) >= 0).all() else np.take(base, order, axis=place)
    added = ordered if present.size == order.size else np.add.reduceat(ordered, starts, axis=place)
    if present.size == axis.outputs:
        return added
    shape = (*base.shape[:place], axis.outputs, *base.shape[place + 1 :])
    spread = np.zeros(shape, dtype=np.int64)
    spread[(slice(None),) * place + (present,)] = added
    return spread
