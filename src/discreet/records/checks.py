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
    from discreet.model.survey import Survey
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


class WeightSums:
    """Adds up weights and their squares, to check what the description declares of them."""

    def __init__(self) -> None:
        self.records = self.total = self.squares = self.largest = 0

    def add(self, weights: NDArray[np.int64]) -> None:
        """Add a chunk of fixed-point weights."""
        self.records += weights.size
        self.total += int(weights.sum(dtype=object))
        self.squares += int((weights.astype(object) ** 2).sum())
        self.largest = max(self.largest, int(weights.max(initial=0)))

    def refuse_others(
        self, survey: Survey, decimals: int, *, known_size: bool = True, known_weights: bool = True
    ) -> None:
        """Refuse records that contradict the survey's declared constants: claims and errors rest on them.

        Args:
            survey: What is declared.
            decimals: Of the weights.
            known_size: Whether the number of records may be public. Where it may not, `sample_size` is a figure of
                the survey's design: were it compared, what is printed would be the number of records exactly.
            known_weights: The same of the sum and variance of the weights. Their largest is always compared: it is a
                bound, like a list of categories.

        Raises:
            BadData: With what the records say, for the custodian.
        """
        scale = 10**decimals
        variance = self.records * self.squares / self.total**2 - 1 if self.total else 0.0
        wrong = (
            (
                known_size and self.records != survey.sample_size,
                f"sample_size is {survey.sample_size}; there are {self.records}",
            ),
            (
                known_weights
                and abs(self.total - survey.population_size * scale) * 1000 > survey.population_size * scale,
                f"population_size is {float(survey.population_size):g}; the weights add up to {self.total / scale:g}",
            ),
            (
                self.largest > survey.largest_weight * scale,
                f"largest_weight is {float(survey.largest_weight):g}; a weight of {self.largest / scale:g} occurs",
            ),
            (
                known_weights and abs(variance - float(survey.relative_variance)) > 0.005,
                f"relative_variance is {float(survey.relative_variance):g}; it is {variance:.4f}",
            ),
        )
        for fails, what in wrong:
            if fails:
                raise BadData(f"The survey's {what}.", "Mend [survey] in dataset.toml, or the weights.")
