"""Checks of records (nested hierarchies, structural zeros, survey weights), and the problems that they find.

Each check works on one chunk of integer codes with small lookup arrays. Problems are collected: the first ten with their
position in the file, and the number per variable. All of it is for the custodian only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import BadData, BadRecords
from discreet.model.dataset import Dataset
from discreet.model.magnitude import NumericMeasure
from discreet.model.messages.text import nearest
from discreet.model.survey import Survey
from discreet.model.variable import StructuralZero
from discreet.records.source import Source
from discreet.records.storage import design_of


class Check(NamedTuple):
    """A condition on the records: which of a chunk fail it, and the message and advice for the codes of one of them."""

    variable: str
    find: Callable[[Mapping[str, NDArray[np.integer]]], NDArray[np.bool_]]
    tell: Callable[[Mapping[str, int]], tuple[str, str]]


def record_checks(dataset: Dataset) -> list[Check]:
    """The checks for every chunk of a dataset's records."""
    nests = [
        _nests(dataset, coarse, fine)
        for hierarchy in dataset.hierarchies
        for coarse, fine in zip(hierarchy.levels, hierarchy.levels[1:], strict=False)
    ]
    return nests + [_outside(dataset, zero) for zero in dataset.structural_zeros]


def _nests(dataset: Dataset, coarse: str, fine: str) -> Check:
    """Every record's finer category belongs to its coarser one."""
    upper, lower = dataset.variable(coarse), dataset.variable(fine)
    parent = np.array([upper.position(category.parent or "") for category in lower.categories])

    def find(codes: Mapping[str, NDArray[np.integer]]) -> NDArray[np.bool_]:
        return np.asarray(parent[codes[fine]] != codes[coarse])

    def tell(codes: Mapping[str, int]) -> tuple[str, str]:
        category, found = lower.categories[codes[fine]], upper.codes[codes[coarse]]
        message = (
            f'The hierarchy does not nest: "{fine}" {category.code!r} occurs within "{coarse}" {found!r}, '
            f"and is declared to belong to {category.parent!r}."
        )
        return message, "Mend the records or the declared parent."

    return Check(fine, find, tell)


def _outside(dataset: Dataset, zero: StructuralZero) -> Check:
    """No record lies in a structural zero."""
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

    A record is moved by its codes alone. If it then lies in another zero, `record_checks` finds it.
    """
    for zero in dataset.structural_zeros:
        found = _outside(dataset, zero).find(codes) if zero.move_to else np.zeros(0, dtype=np.bool_)
        for name, code in zero.move_to if found.any() else ():
            codes[name] = np.where(found, dataset.variable(name).position(code), codes[name]).astype(
                codes[name].dtype
            )


#: Replicate weights whose sum is further from that of the weights are none.
MOST_REPLICATE_FACTOR = 2


class WeightSums:
    """Sums of weights, their squares and each column of replicate weights, to check what the survey declares."""

    def __init__(self) -> None:
        self.records = self.total = self.squares = self.largest = 0
        self.replicates: tuple[float, ...] = ()

    def add(self, weights: NDArray[np.int64], replicates: Iterable[NDArray[np.int64]] = ()) -> None:
        """Add a chunk of fixed-point weights with their replicates."""
        largest = int(weights.max(initial=0))
        if largest < 2**31 and weights.size < 2**31:  # sums of 2^31 such half squares fit 64 bits
            exact = weights * weights
            total = int(weights.sum())
            squares = (int((exact >> 32).sum()) << 32) + int((exact & 0xFFFFFFFF).sum())
        else:
            total, squares = int(weights.sum(dtype=object)), int((weights.astype(object) ** 2).sum())
        sums = (float(column.sum(dtype=np.float64)) for column in replicates)
        self.join(weights.size, total, squares, largest, *sums)

    def join(self, records: int, total: int, squares: int, largest: int, *replicates: float) -> None:
        """Add the sums of another part."""
        self.replicates = tuple(map(sum, zip_longest(self.replicates, replicates, fillvalue=0.0)))
        self.records += records
        self.total += total
        self.squares += squares
        self.largest = max(self.largest, largest)

    def refuse_others(
        self, survey: Survey, decimals: int, *, known_size: bool = True, known_weights: bool = True
    ) -> None:
        """Refuse records that contradict the survey's declared constants, on which claims and errors rest.

        `known_size` says whether the number of records may be public; if not, comparing `sample_size` would publish it.
        `known_weights` says the same for the sum and variance of the weights. The largest weight is always compared; under
        `dp` larger weights were already lowered to it.
        """
        scale = 10**decimals
        variance = self.records * self.squares / self.total**2 - 1 if self.total else 0.0
        people, largest = survey.population_size, float(survey.largest_weight)
        what = ""
        if known_size and self.records != survey.sample_size:
            what = f"sample_size is {survey.sample_size}; there are {self.records}"
        elif known_weights and abs(self.total - people * scale) * 1000 > people * scale:
            what = f"population_size is {float(people):g}; the weights add up to {self.total / scale:g}"
        elif self.largest > survey.largest_weight * scale:
            what = f"largest_weight is {largest:g}; a weight of {self.largest / scale:g} occurs"
        elif known_weights and abs(variance - float(survey.relative_variance)) > 0.005:
            what = f"relative_variance is {float(survey.relative_variance):g}; it is {variance:.4f}"
        if what:
            raise BadData(f"The survey's {what}.", "Mend [survey] in dataset.toml, or the weights.")
        for column, found in zip(survey.design.replicates, self.replicates, strict=False):
            near = self.total <= MOST_REPLICATE_FACTOR * found <= MOST_REPLICATE_FACTOR**2 * self.total
            if known_weights and not near:
                raise BadData(
                    f"The replicate weights {column!r} add up to {found / scale:g}, and the weights to "
                    f"{self.total / scale:g}.",
                    f"Each replicate adds up to about the same, at most {MOST_REPLICATE_FACTOR} times more or less: take "
                    f"{column!r} out of `replicates` of [survey] if it is no replicate weight, or mend the file.",
                )


#: The number of problems listed with their line.
MOST_LISTED = 10
#: The number of characters shown of a value.
MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of one record, whose number counts from 1; `value` is the offending value, if any."""

    record: int
    variable: str
    message: str
    advice: str
    value: str | None = None


class Problems:
    """Collects problems while records are read."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._first: list[Problem] = []
        self._counts = Counter[str]()

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add_marks(self, bad: pa.Array, done: int) -> None:
        """Add the marks of a chunk (`coding` makes them) that starts after `done` records."""
        marks, rows = bad.flatten(), pc.list_parent_indices(bad)
        for mark in pc.value_counts(marks):
            self._counts[self._explain(0, mark["values"].as_py()).variable] += mark["counts"].as_py()
        first = zip(rows[:MOST_LISTED].to_pylist(), marks[:MOST_LISTED].to_pylist(), strict=True)
        self._first += [self._explain(done + row + 1, mark) for row, mark in first]

    def add(self, problems: Iterable[Problem], variable: str, count: int) -> None:
        """Add problems of one variable: the first of them, and their number."""
        if count:
            self.join(list(problems)[:MOST_LISTED], {variable: count})

    @property
    def summary(self) -> tuple[list[Problem], dict[str, int]]:
        """The first problems, and the number per variable."""
        return self._first, dict(self._counts)

    def join(self, first: Iterable[Problem], counts: Mapping[str, int]) -> None:
        """Add the problems of another part."""
        self._first += first
        self._counts.update(counts)

    def settle(self) -> None:
        """Keep the first ten in file order; called after each chunk."""
        self._first = sorted(self._first, key=lambda each: each.record)[:MOST_LISTED]

    def refuse(self, source: Source) -> None:
        """End the load if there is any problem."""
        found = self.found(source)
        if found is not None:
            raise found

    def found(self, source: Source) -> BadRecords | None:
        """The error that would end the load; None without problems."""
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
        message = f"{source.unit.capitalize()} {places[0]:,}: {self._first[0].message}{more}"
        return BadRecords(message, self._first[0].advice, documents, dict(self._counts))

    def _explain(self, record: int, mark: str) -> Problem:
        dataset, kind, design = self._dataset, mark[0], design_of(self._dataset)
        place, _, raw = mark[1:].partition(":")
        shown, fill, mend = raw[:MOST_SHOWN], "Fill the column {!r}.", "Mend the column {!r}"
        whole = f"{mend}: whole numbers below 2^32 once key_decimals are shifted."
        columns: dict[str, tuple[str | None, str, str]] = {
            "i": (dataset.id_column, "The record has no id.", fill),
            "p": (dataset.unit_column, "The record names no person.", fill),
            "k": (dataset.key_column, "The record key is missing, negative, no number or too large.", whole),
            "w": (dataset.weight_column, "The weight is missing, negative or no number.", f"{mend}."),
            "s": (design.strata, "The record has no stratum.", fill),
            "c": (design.clusters, "The record has no cluster.", fill),
        }
        if kind in columns:
            column, message, advice = columns[kind]
            return Problem(record, str(column), message, advice.format(column))
        if kind == "r":
            column = design.replicates[int(place)]
            advice = f"Mend the column {column!r}, or take it out of `replicates` of [survey]."
            message = f"The replicate weight is {shown!r}: it is missing, negative or no number."
            return Problem(record, column, message, advice, shown)
        if kind in "no":
            return _measure_problem(record, dataset.measures[int(place)], shown, outside=kind == "o")
        variable = dataset.variables[int(place)]
        name = variable.name
        if kind == "m":
            message = f'The record has no value of "{name}", and no "not stated" category is declared.'
            advice = f'Add a category and `not_stated = "its code"` to "{name}", or fill the value.'
            return Problem(record, name, message, advice)
        message = f'The value {shown!r} of "{name}" is not among its categories.'
        return Problem(record, name, message, nearest(shown, variable.codes) if record else "", shown)


def _measure_problem(record: int, measure: NumericMeasure, shown: str, *, outside: bool) -> Problem:
    if not outside:
        message = f'The value {shown!r} of "{measure.name}" is no number.'
        advice = f"Mend the column {measure.column!r}, or list the value as `missing` of the measure."
        return Problem(record, measure.name, message, advice, shown)
    low, high = (float(bound) for bound in (measure.lowest, measure.largest))
    message = (
        f'The value {shown!r} of "{measure.name}" lies outside its bounds, {low:,.15g} and {high:,.15g}.'
    )
    return Problem(record, measure.name, message, "Mend the record, or the bounds of [[measure]].", shown)
