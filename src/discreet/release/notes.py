"""The notes that every reader of a table must see, in every format; and the bias of clipped counts, which one of them tells.

A count c with noise e is shown as max(0, c + e) if clipping is on. That raises it on average by

    bias(c) = E max(0, -(c + e)) = sum over k < -c of (-c - k) P(e = k | c),

which is largest for the smallest counts and tends to zero as c grows. It follows from the public distribution of the noise.
Sums of clipped cells add their biases up, so totals are added first and clipped last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of
from discreet.model.magnitude import NumericMeasure
from discreet.model.messages.sentences import UNCHECKED_DRAFT
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.noise_distribution import CellDistribution, NoiseDistribution
from discreet.model.request import DEFAULT_MEASURE, TableRequest, unit_of
from discreet.model.shape import Dimension
from discreet.model.universe import dp_terms
from discreet.noise.table import NoiseTable
from discreet.protect.promise import change_sentence
from discreet.protect.protector import NoisyCells

if TYPE_CHECKING:
    from discreet.release.checked_request import CheckedRequest

_NOISE = {
    "cellkey": message(
        "Counts in this table have been randomly adjusted by small amounts to protect confidentiality."
    ),
    "dp": message("Counts in this table have been randomly adjusted to protect confidentiality."),
}
_MAGNITUDES = message(
    "Sums and means in this table have been randomly adjusted to protect confidentiality, the more the larger the largest "
    "contributions to them are."
)
_MEANS = message("A sum is its mean times the adjusted number of contributors.")
_SMALL = message("Do not rely on small counts; adding cells yourself adds their uncertainty.")
#: Of people, and of other units.
_SAME = (
    message("The same group of people always shows the same value."),
    message("The same group of {many} always shows the same value."),
)
_APART = message("Totals are adjusted separately and may differ from the sum of their parts.")
#: Of totals in a joint universe.
_ROUNDED = message(
    "A cell shows one whole number in every table, its own value rounded: totals are the sums of their parts but for this "
    "rounding."
)
_HIDDEN = message("Totals also hold the noise of cells that cannot occur.")
#: Of totals and their parts, by additivity; of people, and of other units.
NOTES = {
    "interior": (
        message(
            "Totals are the sums of the adjusted cells and carry all their adjustments: the same people may show another "
            "total in another table."
        ),
        message(
            "Totals are the sums of the adjusted cells and carry all their adjustments: the same {many} may show another "
            "total in another table."
        ),
    ),
    "fitted": (
        message(
            "Cells were then changed so that every total is the sum of its parts; the same people may therefore show a "
            "slightly different value in another table."
        ),
        message(
            "Cells were then changed so that every total is the sum of its parts; the same {many} may therefore show a "
            "slightly different value in another table."
        ),
    ),
}
#: The same where noise belongs to the description of a cell.
DP_NOTES: dict[str, str] = {
    "independent": _APART,
    "interior": message("Totals are the sums of the adjusted cells and carry all their adjustments."),
    "fitted": message("Cells were then changed so that every total is the sum of its parts."),
}


def mandatory_note(dataset: Dataset, additivity: str = "") -> str:
    """The note of a dataset: counts were adjusted, and what that means for totals."""
    return _noise_note(dataset, totals_note(dataset, additivity))


def totals_note(dataset: Dataset, additivity: str = "") -> str:
    """The note on totals and their parts."""
    protection = dataset.protection
    chosen = additivity or protection.additivity
    if protection.universe.get("margins") == "joint" and chosen == "independent":
        return _ROUNDED
    if protection.uses_description_keys:
        return DP_NOTES[chosen]
    unit = unit_of(dataset)
    return (
        join_sentences([unit.says(*_SAME), _APART]) if chosen == "independent" else unit.says(*NOTES[chosen])
    )


def whole_note(dataset: Dataset, tables: tuple[NoiseTable, ...], additivity: str = "") -> str:
    """The mandatory note, and how often the noise changes a count."""
    return join_sentences([mandatory_note(dataset, additivity), change_sentence(tables)])


def number_notes(
    question: CheckedRequest,
    cells: NoisyCells,
    values: NDArray[Any],
    withheld: NDArray[np.bool_],
    dimensions: Sequence[Dimension],
    tables: tuple[NoiseTable, ...],
) -> tuple[str, str, str]:
    """The notes on noise, on numbers without noise and on negative numbers."""
    dataset, numeric = question.dataset, question.asked.kind.measure.magnitude
    if numeric is not None:
        return magnitude_note(dataset, numeric), "", ""
    return (
        table_note(dataset, question.additivity, dimensions, cells.distribution, tables),
        exact_note(dataset, cells, values, withheld),
        clipping_note(cells.distribution, clips=dataset.protection.clips),
    )


def table_note(
    dataset: Dataset,
    additivity: str,
    dimensions: Sequence[Dimension],
    distribution: NoiseDistribution,
    tables: tuple[NoiseTable, ...],
) -> str:
    """The note of one table, by dimension if some totals add up by themselves and others do not."""
    note = mandatory_note(dataset, additivity)
    if additivity == "independent" and not distribution.rounds:
        steady = [] if dataset.protection.uses_description_keys else [unit_of(dataset).says(*_SAME)]
        note = _noise_note(dataset, join_sentences([*steady, _totals(dimensions, distribution)]))
    hidden = additivity == "independent" and distribution.rounds and _has_zeros(dataset, dimensions)
    everybody = (  # the notes on totals that count people in no category shown
        message(
            "The {label:lower} categories shown are not all: the total counts everybody, also those in none of them.",
            label=dimension.label,
        )
        for dimension in dimensions
        if dimension.total and not dimension.total_label and dimension.leaves_out
    )
    return join_sentences([note, _HIDDEN if hidden else "", *everybody, change_sentence(tables)])


def magnitude_note(dataset: Dataset, measure: NumericMeasure) -> str:
    """The note of a table of sums or means."""
    declared, unit = measure.protection, unit_of(dataset)
    draft = [Message("{part:bare}.", {"part": UNCHECKED_DRAFT})] if dataset.unchecked_draft else []
    sums = [_MEANS] if declared.counts == "released" else []
    few = message(
        "Values of fewer than {least} released contributors are not shown.", least=declared.least_contributors
    )
    return join_sentences([*draft, _MAGNITUDES, *sums, few, unit.says(*_SAME), _APART])


def exact_note(dataset: Dataset, cells: NoisyCells, values: NDArray[Any], withheld: NDArray[np.bool_]) -> str:
    """The note on numbers without noise; empty if the table shows none."""
    exact = cells.distribution.exact & ~withheld
    if not exact.any() or (values[exact] != cells.noisy[exact]).any():
        return ""
    held = tuple(dataset.variable(name).label for name in dp_terms(dataset)[0].held)
    if not held:
        return message("The number of all records has no noise: it is declared public.")
    return message(
        "Numbers of all records, and of all records of a category of {held:comma}, have no noise: they are declared "
        "public.",
        held=held,
    )


def request_notes(asked: TableRequest, dataset: Dataset) -> tuple[str, str]:
    """The notes on names of groups, and on counts of a survey with weights, which are not those of its population."""
    sample = message(
        "These are {unit} asked, without weights: they describe the sample and not the population.",
        unit=dataset.unit,
    )
    unweighted = dataset.weight_column and asked.measure == DEFAULT_MEASURE
    return names_note(asked, dataset), sample if unweighted else ""


def _has_zeros(dataset: Dataset, dimensions: Sequence[Dimension]) -> bool:
    """Whether a table has all variables, at some level, of a structural zero."""
    shown = [dimension.name for dimension in dimensions]
    return any(
        all(any(is_level_of(dataset, name, own) for own in shown) for name, _ in zero.where)
        for zero in dataset.structural_zeros
    )


def _totals(dimensions: Sequence[Dimension], distribution: NoiseDistribution) -> str:
    """Which totals are sums of their parts; empty if the table shows no totals."""
    wholes = [(axis, each) for axis, each in enumerate(dimensions) if each.wholes]
    sums = tuple(each.label for axis, each in wholes if distribution.adds_up(axis, each.wholes))
    apart = tuple(each.label for axis, each in wholes if each.label not in sums)
    if not sums:
        return _APART if apart else ""
    added = message("Totals over {names:lower} are the sums of their parts.", names=sums)
    if not apart:
        return added
    differ = message(
        "Totals over {names:lower} are adjusted separately and may differ from the sum of their parts.",
        names=apart,
    )
    return join_sentences([added, differ])


def names_note(request: TableRequest, dataset: Dataset) -> str:
    """The note on group names that the requester chose; empty without such names."""
    own = tuple(
        Message(
            "{label}: {names:comma}",
            {
                "label": dataset.variable(variable).label,
                "names": tuple(f'"{name}"' for _, name in groups if name),
            },
        )
        for variable, groups in request.names
    )
    if not own:
        return ""
    return message(
        "Groups named by whoever asked for this table, not by the dataset: {own:semicolon}.", own=own
    )


def joint_note() -> str:
    """The note of margins that are released together."""
    return join_sentences([_NOISE["dp"], message("Margins of one release were adjusted together."), _SMALL])


def _noise_note(dataset: Dataset, totals: str) -> str:
    draft = [Message("{part:bare}.", {"part": UNCHECKED_DRAFT})] if dataset.unchecked_draft else []
    return join_sentences([*draft, _NOISE["dp" if dataset.protection.is_dp else "cellkey"], totals, _SMALL])


def goes_below_zero(distribution: NoiseDistribution) -> bool:
    """Whether noise can make a count of the table negative."""
    return any(_bias(cell) > 0 for cell in distribution.distributions)


def largest_bias(distribution: NoiseDistribution) -> float:
    """The largest bias of clipping over all counts.

    >>> from discreet.noise import laplace
    >>> from discreet.noise.table_distribution import TableDistribution
    >>> round(largest_bias(TableDistribution(laplace(epsilon=1.0, m=2), (2,))), 3)
    0.318
    """
    return max((_bias(cell) for cell in distribution.distributions), default=0.0)


def clipping_note(distribution: NoiseDistribution, *, clips: bool) -> str:
    """The note on negative numbers; empty if there can be none."""
    bias = largest_bias(distribution)
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
def _bias(cell: CellDistribution) -> float:
    """The largest bias of one cell's distribution: of each row at the smallest count that it serves."""
    counts = np.arange(max(0, -min(each.reach[0] for each in cell.distributions)))
    first: dict[int, int] = {}  # not np.unique, which imports masked arrays
    for count, row in enumerate(cell.distribution_index(counts).tolist()):
        first.setdefault(row, count)
    found = 0.0
    for row, count in first.items():
        low, chances = cell.distributions[row].distribution()
        found = max(found, float(np.maximum(0, -(count + low + np.arange(chances.size))) @ chances))
    return found
