"""What records must satisfy: nested hierarchies and no record in a structural zero.

Each check works on one chunk of integer codes with small lookup arrays, and tells which records fail it; the
message names the categories.

What is wrong with records, all at once: the first ten with their place in the file, and how many each variable has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import BadData, BadRecords
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
from discreet.model.survey import Survey
from discreet.model.variable import StructuralZero
from discreet.records.source import Source
from discreet.records.storage import design_of, unit_problem


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


#: So many problems are told with their line.
MOST_LISTED = 10
#: So many characters of a value.
MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with one record.

    Args:
        record: The number of the record, from 1.
        variable: The variable or column that it is about.
        message: What is wrong.
        advice: What to do.
        value: The value that the record has, if that is what is wrong.
    """

    record: int
    variable: str
    message: str
    advice: str
    value: str | None = None


class Problems:
    """Collects what is wrong while records pass."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._first: list[Problem] = []
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add_marks(self, bad: pa.Array, done: int) -> None:
        """Add the marks of a chunk (`coded_batches` makes them), after so many records."""
        marks, rows = bad.flatten(), pc.list_parent_indices(bad)
        for mark, count in zip(*_count_marks(marks), strict=True):
            name = self._explain(0, mark).variable
            self._counts[name] = self._counts.get(name, 0) + count
        told = zip(rows[:MOST_LISTED].to_pylist(), marks[:MOST_LISTED].to_pylist(), strict=True)
        self._first += [self._explain(done + row + 1, mark) for row, mark in told]

    def add(self, problems: Iterable[Problem], variable: str, count: int) -> None:
        """Add problems of one variable: the first of them, and how many there are."""
        if count:
            self._counts[variable] = self._counts.get(variable, 0) + count
            self._first += list(problems)[:MOST_LISTED]

    @property
    def told(self) -> tuple[list[Problem], dict[str, int]]:
        """The first problems, and how many each variable has."""
        return self._first, self._counts

    def join(self, first: Iterable[Problem], counts: Mapping[str, int]) -> None:
        """Add the problems of another part, by what `told` gives there."""
        self._first += first
        for name, count in counts.items():
            self._counts[name] = self._counts.get(name, 0) + count

    def settle(self) -> None:
        """Keep the first ten, in the order of the file; called after each chunk."""
        self._first = sorted(self._first, key=lambda each: each.record)[:MOST_LISTED]

    def refuse(self, source: Source) -> None:
        """End the load, if something is wrong.

        Raises:
            BadRecords: With all of it.
        """
        found = self.found(source)
        if found is not None:
            raise found

    def found(self, source: Source) -> BadRecords | None:
        """All of it as the error that would end the load; None where nothing is wrong."""
        if not self._counts:
            return None
        self.settle()
        places = source.places([problem.record for problem in self._first])
        documents: list[dict[str, Any]] = [
            {
                source.unit: place,
                "variable": problem.variable,
                "value": problem.value,
                "message": problem.message,
                "advice": problem.advice,
            }
            for problem, place in zip(self._first, places, strict=True)
        ]
        total = sum(self._counts.values())
        listed = ", ".join(f"{name} {count:,}" for name, count in self._counts.items())
        more = f" There are {total:,} problems in all: {listed}." if total > 1 else ""
        first = self._first[0]
        message = f"{source.unit.capitalize()} {places[0]:,}: {first.message}{more}"
        return BadRecords(message, first.advice, documents, self._counts)

    def _explain(self, record: int, mark: str) -> Problem:
        """A mark in words."""
        dataset, kind = self._dataset, mark[0]
        columns = {
            "i": (dataset.id_column, "The record has no id.", "Fill the column {!r}."),
            "p": (dataset.unit_column, "The record names no person.", "Fill the column {!r}."),
            "k": (
                dataset.key_column,
                "The record key is missing, negative, no number or too large.",
                "Mend the column {!r}: whole numbers below 2^32 once key_decimals are shifted.",
            ),
            "w": (
                dataset.weight_column,
                "The weight is missing, negative or no number.",
                "Mend the column {!r}.",
            ),
        }
        if kind in columns:
            column, message, advice = columns[kind]
            return Problem(record, str(column), message, advice.format(column))
        design = design_of(dataset)
        if design is not None and kind in "scr":
            return Problem(record, *unit_problem(mark, design))
        place, _, raw = mark[1:].partition(":")
        variable = dataset.variables[int(place)]
        if kind == "m":
            return Problem(
                record,
                variable.name,
                f'The record has no value of "{variable.name}", and no "not stated" category is declared.',
                f'Add a category and `not_stated = "its code"` to "{variable.name}", or fill the value.',
            )
        shown = raw[:MOST_SHOWN]
        return Problem(
            record,
            variable.name,
            f'The value {shown!r} of "{variable.name}" is not among its categories.',
            nearest(shown, variable.codes) if record else "",
            shown,
        )


def _count_marks(marks: pa.Array) -> tuple[list[str], list[int]]:
    """Each different mark, and how often it occurs."""
    counts = pc.value_counts(marks)
    return counts.field("values").to_pylist(), counts.field("counts").to_pylist()
