"""Clipping of negative numbers, its bias, and the notes on it.

A count c with noise e is shown as max(0, c + e) if clipping is on. That raises it on average by

    bias(c) = E max(0, -(c + e)) = sum over k < -c of (-c - k) P(e = k | c),

which is largest for the smallest counts and tends to zero as c grows. It follows from the public distribution of the noise.
Sums of clipped cells add their biases up, so totals are added first and clipped last.

A joint table adds up before clipping. It is replaced by the nearest table without negative numbers that adds up
(`additivity/additivity.py`).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.additivity import TableOrder, additive_structure, nearest_non_negative
from discreet.errors import BadRequest
from discreet.model.messages.text import message
from discreet.model.noise_distribution import CellDistribution, IntegerDistribution, NoiseDistribution
from discreet.protect.protector import NoisyCells
from discreet.release.checked_request import CheckedRequest


class Nearest(NamedTuple):
    """A table without negative numbers, and the note on it."""

    values: NDArray[np.int64]
    note: str


def goes_below_zero(law: NoiseDistribution) -> bool:
    """Whether noise can make a count of the table negative."""
    return any(_bias(cell) > 0 for cell in law.laws)


def without_negatives(
    question: CheckedRequest, cells: NoisyCells, impossible: NDArray[np.bool_]
) -> Nearest | None:
    """The nearest table without negative numbers; None if cells are clipped one by one.

    Only a joint table with complete sums and at most one exact number has one: the grand total is all that it keeps.
    """
    if (
        cells.unrounded is None
        or question.additivity != "independent"
        or not question.asked.kind.measure.is_count
    ):
        return None
    if (cells.noisy >= 0).all() or np.count_nonzero(cells.law.exact) > 1:
        return None
    order = TableOrder.of(question.shape)
    with suppress(BadRequest):
        structure = additive_structure(question.shape, order)
        found, lowered = nearest_non_negative(order.put(cells.unrounded), structure, order.put(impossible))
        values = order.back(found)
        changed = float(np.abs(values - cells.unrounded).max(initial=0.0))
        note = message(
            "Counts below zero are shown as zero. This is the nearest table without negative numbers that adds up and keeps "
            "its grand total: every other cell was lowered by {lowered:.2g}, and no number of the table changed by more "
            "than {changed:.3g}. Its cells may differ from those of other tables. Every file also has the counts as they "
            "were (signed): use these to compare tables.",
            lowered=max(lowered, 0.0),
            changed=changed,
        )
        return Nearest(values, note)
    return None


def largest_bias(law: NoiseDistribution) -> float:
    """The largest bias of clipping over all counts.

    >>> from discreet.noise import laplace
    >>> from discreet.noise.table_distribution import TableDistribution
    >>> round(largest_bias(TableDistribution(laplace(epsilon=1.0, m=2), (2,))), 3)
    0.318
    """
    return max((_bias(cell) for cell in law.laws), default=0.0)


def clipping_note(law: NoiseDistribution, *, clips: bool) -> str:
    """The note on negative numbers; empty if there can be none."""
    bias = largest_bias(law)
    if not bias:
        return ""
    if clips:
        return message(
            "Counts below zero are shown as zero. On average this raises a count of few people or nobody, by up to "
            "{bias:.2g}, and a sum of such counts by as much for each. Every file also has the counts as they were "
            "(signed): use these to add up.",
            bias=bias,
        )
    return message(
        "Counts can be negative because the noise may lower a count by more than the people in it. Leave them as they "
        "are when you add up: with zeros in their place, sums of small counts would be too large."
    )


@lru_cache(maxsize=256)
def _bias(law: CellDistribution) -> float:
    """The largest bias of one cell's distribution: of each row at the smallest count that it serves."""
    lowest = min(each.reach[0] for each in law.laws)
    counts = np.arange(max(0, -lowest))
    rows, first = np.unique(law.distribution_index(counts), return_index=True)
    return max(
        (
            _mean_excess(law.laws[row], int(counts[at]))
            for row, at in zip(rows.tolist(), first.tolist(), strict=True)
        ),
        default=0.0,
    )


def _mean_excess(law: IntegerDistribution, count: int) -> float:
    """E max(0, -(count + noise))."""
    low, chances = law.law()
    below = np.maximum(0, -(count + low + np.arange(chances.size)))
    return float(below @ chances)
