"""What is wrong with records, all at once: the first ten with their place in the file, and how many each variable has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from discreet.errors import BadRecords
from discreet.model.nearest import nearest
from discreet.records.design_columns import design_of, unit_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from discreet.model.dataset import Dataset
    from discreet.records.source import Source

#: So many problems are told with their line.
MOST_TOLD = 10
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
        for mark, count in zip(*_counted(marks), strict=True):
            name = self._explain(0, mark).variable
            self._counts[name] = self._counts.get(name, 0) + count
        told = zip(rows[:MOST_TOLD].to_pylist(), marks[:MOST_TOLD].to_pylist(), strict=True)
        self._first += [self._explain(done + row + 1, mark) for row, mark in told]

    def add(self, problems: Iterable[Problem], variable: str, count: int) -> None:
        """Add problems of one variable: the first of them, and how many there are."""
        if count:
            self._counts[variable] = self._counts.get(variable, 0) + count
            self._first += list(problems)[:MOST_TOLD]

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
        self._first = sorted(self._first, key=lambda each: each.record)[:MOST_TOLD]

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


def _counted(marks: pa.Array) -> tuple[list[str], list[int]]:
    """Each different mark, and how often it occurs."""
    counts = pc.value_counts(marks)
    return counts.field("values").to_pylist(), counts.field("counts").to_pylist()
