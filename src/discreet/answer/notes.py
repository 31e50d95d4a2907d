"""What every reader of a table must be told, whatever the format.

Comes from: the protection and the request. Goes to: the release, pages and documents of a dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.protect.exactness import changed_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.model.dataset import Dataset
    from discreet.model.noise_law import NoiseLaw
    from discreet.model.request import TableRequest
    from discreet.model.shape import Dimension
    from discreet.noise.table import NoiseTable

_SAME = "The same group of people always shows the same value."
_APART = "are adjusted separately and may differ from the sum of their parts."
#: Of totals and their parts, by additivity.
NOTES = {
    "independent": f"{_SAME} Totals {_APART}",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments: the same people may "
    "show another total in another table.",
    "fitted": "Cells were then changed so that every total is the sum of its parts; the same people may "
    "therefore show a slightly different value in another table.",
}
#: The same where noise belongs to the description of a cell.
DP_NOTES = {
    "independent": f"Totals {_APART}",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments.",
    "fitted": "Cells were then changed so that every total is the sum of its parts.",
}


def mandatory_note(dataset: Dataset, additivity: str = "") -> str:
    """That counts were adjusted, and what that means for totals; of a dataset as such."""
    protection = dataset.protection
    notes = DP_NOTES if protection.keyed_by_description else NOTES
    amount = "" if protection.is_dp else "by small amounts "
    return _adjusted(amount, notes[additivity or protection.additivity])


def whole_note(dataset: Dataset, tables: Iterable[NoiseTable], additivity: str = "") -> str:
    """The mandatory note, and how often the noise changes a count: a note never says more than the noise does."""
    return f"{mandatory_note(dataset, additivity)} {changed_sentence(tables)}"


def table_note(
    dataset: Dataset,
    additivity: str,
    dimensions: Sequence[Dimension],
    law: NoiseLaw,
    tables: Iterable[NoiseTable],
) -> str:
    """The same of one table: dimension by dimension where some totals add up by themselves and others do not.

    It tells how often the noise changes a count: a note never says more than the noise does.
    """
    note = mandatory_note(dataset, additivity)
    if additivity == "independent":
        note = note.replace(f"Totals {_APART}", _totals(dimensions, law)).replace("  ", " ")
    return " ".join([note, *filter(None, map(_everybody, dimensions)), changed_sentence(tables)])


def _totals(dimensions: Sequence[Dimension], law: NoiseLaw) -> str:
    """Which totals are sums of their parts; nothing where a table shows no whole beside its parts."""
    wholes = [(axis, each) for axis, each in enumerate(dimensions) if each.wholes()]
    sums = [each.label.lower() for axis, each in wholes if law.adds_up(axis, each.wholes())]
    apart = [each.label.lower() for axis, each in wholes if each.label.lower() not in sums]
    if not sums:
        return f"Totals {_APART}" if apart else ""
    added = f"Totals over {_listed(sums)} are the sums of their parts."
    return f"{added} Totals over {_listed(apart)} {_APART}" if apart else added


def _everybody(dimension: Dimension) -> str:
    """That a total counts people who are in no category shown."""
    if not dimension.total or dimension.total_label or not dimension.leaves_out:
        return ""
    return (
        f"The {dimension.label.lower()} categories shown are not all: the total counts everybody, also those in none "
        "of them."
    )


def names_note(request: TableRequest, dataset: Dataset) -> str:
    """That some labels are the words of whoever asked; nothing without such names."""
    own = [
        f"{dataset.variable(variable).label}: " + ", ".join(f'"{name}"' for _, name in groups if name)
        for variable, groups in request.names
    ]
    return (
        f"Groups named by whoever asked for this table, not by the dataset: {'; '.join(own)}." if own else ""
    )


def joint_note() -> str:
    """The same of margins that are released together."""
    return _adjusted("", "Margins of one release were adjusted together.")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _adjusted(amount: str, totals: str) -> str:
    return (
        f"Counts in this table have been randomly adjusted {amount}to protect confidentiality. {totals} "
        "Do not rely on small counts; adding cells yourself adds their uncertainty."
    )
