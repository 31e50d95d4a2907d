"""The notes that every reader of a table must see, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of
from discreet.model.measure import unit_of
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.universe import dp_terms
from discreet.noise.table import NoiseTable
from discreet.protect.promise import change_sentence
from discreet.protect.protector import NoisyCells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_NOISE = {
    "cellkey": message(
        "Counts in this table have been randomly adjusted by small amounts to protect confidentiality."
    ),
    "dp": message("Counts in this table have been randomly adjusted to protect confidentiality."),
}
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


def whole_note(dataset: Dataset, tables: Iterable[NoiseTable], additivity: str = "") -> str:
    """The mandatory note, and how often the noise changes a count."""
    return join_sentences([mandatory_note(dataset, additivity), change_sentence(tables)])


def table_note(
    dataset: Dataset,
    additivity: str,
    dimensions: Sequence[Dimension],
    law: NoiseDistribution,
    tables: Iterable[NoiseTable],
) -> str:
    """The note of one table, by dimension if some totals add up by themselves and others do not."""
    note = mandatory_note(dataset, additivity)
    if additivity == "independent" and not law.rounds:
        steady = [] if dataset.protection.uses_description_keys else [unit_of(dataset).says(*_SAME)]
        note = _noise_note(dataset, join_sentences([*steady, _totals(dimensions, law)]))
    rounds = additivity == "independent" and law.rounds
    hidden = [_HIDDEN] if rounds and _has_zeros(dataset, dimensions) else []
    return join_sentences([note, *hidden, *map(_everybody, dimensions), change_sentence(tables)])


def exact_note(dataset: Dataset, cells: NoisyCells, values: NDArray[Any], withheld: NDArray[np.bool_]) -> str:
    """The note on numbers without noise; empty if the table shows none."""
    exact = cells.law.exact & ~withheld
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


def _has_zeros(dataset: Dataset, dimensions: Sequence[Dimension]) -> bool:
    """Whether a table has all variables, at some level, of a structural zero."""
    shown = [dimension.name for dimension in dimensions]
    return any(
        all(any(is_level_of(dataset, name, own) for own in shown) for name, _ in zero.where)
        for zero in dataset.structural_zeros
    )


def _totals(dimensions: Sequence[Dimension], law: NoiseDistribution) -> str:
    """Which totals are sums of their parts; empty if the table shows no totals."""
    wholes = [(axis, each) for axis, each in enumerate(dimensions) if each.wholes]
    sums = tuple(each.label for axis, each in wholes if law.adds_up(axis, each.wholes))
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


def _everybody(dimension: Dimension) -> str:
    """The note on a total that counts people in no category shown."""
    if not dimension.total or dimension.total_label or not dimension.leaves_out:
        return ""
    return message(
        "The {label:lower} categories shown are not all: the total counts everybody, also those in none of them.",
        label=dimension.label,
    )


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
    return join_sentences([_NOISE["dp" if dataset.protection.is_dp else "cellkey"], totals, _SMALL])
