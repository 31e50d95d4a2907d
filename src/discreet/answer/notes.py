"""What every reader of a table must be told, whatever the format.

Comes from: the protection and the request. Goes to: the release, pages and documents of a dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.protect.exactness import changed_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable

_SAME = "The same group of people always shows the same value."
#: Of totals and their parts, by additivity.
NOTES = {
    "independent": f"{_SAME} Totals are adjusted separately and may differ from the sum of their parts.",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments: the same people may "
    "show another total in another table.",
    "fitted": "Cells were then changed so that every total is the sum of its parts; the same people may "
    "therefore show a slightly different value in another table.",
}
#: The same under `dp`, where noise belongs to the description of a cell.
DP_NOTES = {
    "independent": "Totals are adjusted separately and may differ from the sum of their parts.",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments.",
    "fitted": "Cells were then changed so that every total is the sum of its parts.",
}


def mandatory_note(dataset: Dataset, additivity: str = "") -> str:
    """That counts were adjusted, and what that means for totals."""
    protection = dataset.protection
    notes, amount = (DP_NOTES, "") if protection.is_dp else (NOTES, "by small amounts ")
    return _adjusted(amount, notes[additivity or protection.additivity])


def whole_note(dataset: Dataset, tables: Iterable[NoiseTable], additivity: str = "") -> str:
    """The mandatory note, and how often the noise changes a count: a note never says more than the noise does."""
    return f"{mandatory_note(dataset, additivity)} {changed_sentence(tables)}"


def joint_note() -> str:
    """The same of margins that are released together."""
    return _adjusted("", "Margins of one release were adjusted together.")


def _adjusted(amount: str, totals: str) -> str:
    return (
        f"Counts in this table have been randomly adjusted {amount}to protect confidentiality. {totals} "
        "Do not rely on small counts; adding cells yourself adds their uncertainty."
    )
