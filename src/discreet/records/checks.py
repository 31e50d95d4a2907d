"""What records must satisfy: nested hierarchies and no record in a structural zero.

Each check works on one chunk of integer codes with small lookup arrays, and tells which records fail it; the
message names the categories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import BadData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.survey import Survey
    from discreet.model.variable import StructuralZero


class Check(NamedTuple):
    """What every record must satisfy.

    Args:
        variable: The variable that it is about.
        find: Which records of a chunk of codes fail.
        tell: What is wrong with the codes of one record, and what to do.
    """

    variable: str
    find: Callable[[Mapping[str, NDArray[np.integer]]], NDArray[np.bool_]]
    tell: Callable[[Mapping[str, int]], tuple[str, str]]


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

    def find(codes: Mapping[str, NDArray[np.integer]]) -> NDArray[np.bool_]:
        return np.asarray(parent[codes[fine]] != codes[coarse])

    def tell(codes: Mapping[str, int]) -> tuple[str, str]:
        category, found = lower.categories[codes[fine]], upper.codes[codes[coarse]]
        return (
            f'The hierarchy does not nest: "{fine}" {category.code!r} occurs within "{coarse}" {found!r}, '
            f"and is declared to belong to {category.parent!r}.",
            "Mend the records or the declared parent.",
        )

    return Check(fine, find, tell)


def _outside(dataset: Dataset, zero: StructuralZero) -> Check:
    """No record lies in a combination that is declared impossible."""
    members = {
        name: np.array([code in codes for code in dataset.variable(name).codes]) for name, codes in zero.where
    }

    def find(codes: Mapping[str, NDArray[np.integer]]) -> NDArray[np.bool_]:
        return np.asarray(np.logical_and.reduce([flags[codes[name]] for name, flags in members.items()]))

    def tell(codes: Mapping[str, int]) -> tuple[str, str]:
        found = ", ".join(f"{name} = {dataset.variable(name).codes[codes[name]]!r}" for name in members)
        return (
            f"The record lies in the structural zero {zero.label!r}: {found}.",
            "Mend the record, or take the combination out of the structural zeros.",
        )

    return Check(next(iter(members)), find, tell)


def move_from_zeros(dataset: Dataset, codes: dict[str, NDArray[np.integer]]) -> None:
    """Give records in a structural zero the codes of its `move_to`, one structural zero after the other.

    Every record is moved by its own codes alone. Where it lies in another one afterwards, `record_checks` finds it.
    """
    for zero in dataset.structural_zeros:
        found = _outside(dataset, zero).find(codes) if zero.move_to else np.zeros(0, dtype=np.bool_)
        for name, code in zero.move_to if found.any() else ():
            codes[name] = np.where(found, dataset.variable(name).position(code), codes[name]).astype(
                codes[name].dtype
            )


class WeightSums:
    """Adds up weights and their squares, to check what the description declares of them."""

    def __init__(self) -> None:
        self.records = self.total = self.squares = self.largest = 0

    def add(self, weights: NDArray[np.int64]) -> None:
        """Add a chunk of fixed-point weights."""
        largest = int(weights.max(initial=0))
        self.records += weights.size
        self.largest = max(self.largest, largest)
        if largest < 2**31 and weights.size < 2**31:  # no sum of 2^31 such halves of squares leaves 64 bits
            squares = weights * weights
            self.total += int(weights.sum())
            self.squares += (int((squares >> 32).sum()) << 32) + int((squares & 0xFFFFFFFF).sum())
        else:
            self.total += int(weights.sum(dtype=object))
            self.squares += int((weights.astype(object) ** 2).sum())

    def join(self, records: int, total: int, squares: int, largest: int) -> None:
        """Add the sums of another part."""
        self.records, self.total, self.squares = (
            self.records + records,
            self.total + total,
            self.squares + squares,
        )
        self.largest = max(self.largest, largest)

    def refuse_others(
        self, survey: Survey, decimals: int, *, known_size: bool = True, known_weights: bool = True
    ) -> None:
        """Refuse records that contradict the survey's declared constants: claims and errors rest on them.

        Args:
            survey: What is declared.
            decimals: Of the weights.
            known_size: Whether the number of records may be public. Where it may not, `sample_size` is a figure of
                the survey's design: were it compared, what is printed would be the number of records exactly.
            known_weights: The same of the sum and variance of the weights. Their largest is always compared; under `dp`
                no weight is above it, since `staging` lowers those that were.

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
