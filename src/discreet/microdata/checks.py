"""What records must satisfy: nested hierarchies and no record in a structural zero.

Each check works on one chunk of integer codes with small lookup arrays; the first record that fails
ends the load, and the message names the categories, not the record.

Comes from: `load`. Goes to: `BadData`, for the custodian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.variable import StructuralZero

    Check = Callable[[Mapping[str, NDArray[np.integer]]], None]


def record_checks(dataset: Dataset) -> list[Check]:
    """The checks that every chunk of a dataset's records goes through."""
    nests = [
        _nests(dataset, coarse, fine)
        for hierarchy in dataset.hierarchies
        for coarse, fine in zip(hierarchy.levels, hierarchy.levels[1:], strict=False)
    ]
    return nests + [_outside(dataset, zero) for zero in dataset.structural_zeros]


def _nests(dataset: Dataset, coarse: str, fine: str) -> Check:
    """Every record's finer category belongs to its coarser one, as declared."""
    upper, lower = dataset.variable(coarse), dataset.variable(fine)
    parent = np.array([upper.position(category.parent or "") for category in lower.categories])

    def check(codes: Mapping[str, NDArray[np.integer]]) -> None:
        wrong = np.flatnonzero(parent[codes[fine]] != codes[coarse])
        if wrong.size:
            category = lower.categories[int(codes[fine][wrong[0]])]
            found = upper.codes[int(codes[coarse][wrong[0]])]
            raise BadData(
                f'The hierarchy does not nest: "{fine}" {category.code!r} occurs within "{coarse}" {found!r}, '
                f"and is declared to belong to {category.parent!r}.",
                "Mend the records or the declared parent.",
            )

    return check


def _outside(dataset: Dataset, zero: StructuralZero) -> Check:
    """No record lies in a combination that is declared impossible."""
    members = {
        name: np.array([code in codes for code in dataset.variable(name).codes]) for name, codes in zero.where
    }

    def check(codes: Mapping[str, NDArray[np.integer]]) -> None:
        inside = np.logical_and.reduce([flags[codes[name]] for name, flags in members.items()])
        if inside.any():
            at = int(np.flatnonzero(inside)[0])
            found = ", ".join(f"{n} = {dataset.variable(n).codes[int(codes[n][at])]!r}" for n in members)
            raise BadData(
                f"A record lies in the structural zero {zero.label!r}: {found}.",
                "Mend the record, or take the combination out of the structural zeros.",
            )

    return check
