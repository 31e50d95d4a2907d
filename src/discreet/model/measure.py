"""Measures: what a table counts, and the unit that promises and notes refer to.

The unit is the dataset's own word (`unit`). A dataset without one counts records, which are usually persons. If several
records are one unit (`unit_column`) and it is no person, its column names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Message, message, one_line


@dataclass(frozen=True, slots=True)
class Unit:
    """The protected unit: `one` with its article, and `many`."""

    one: str = message("one person")
    many: str = message("people")

    def says(self, of_people: Message, of_others: Message) -> Message:
        """The sentence about people, or the other one with `one` and `many` filled in."""
        if self == PERSON:
            return of_people
        return Message(of_others.template, {**of_people.values, "one": self.one, "many": self.many})


PERSON = Unit()


def unit_of(dataset: Dataset) -> Unit:
    """The unit of a dataset.

    >>> from dataclasses import replace
    >>> from discreet.model.dataset import Dataset
    >>> from discreet.model.variable import Category, Variable
    >>> people = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id", unit="persons")
    >>> [unit_of(replace(people, unit=unit)).one for unit in ("persons", "households")]
    ['one person', 'one of the households']
    """
    if dataset.unit in {"persons", "people", "records"}:
        return PERSON
    if dataset.unit_column is None:
        return Unit(message("one of the {unit}", unit=dataset.unit), dataset.unit)
    return Unit(message('one unit of the column "{column}"', column=dataset.unit_column), dataset.unit)


#: The default measure of a request.
DEFAULT_MEASURE = "count"


def _nothing(_dataset: Dataset) -> None:
    """The answer of a measure without a remark or a refusal."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The public part of a measure; `release/measures/` computes it.

    Args:
        name: Its name in requests.
        label: Its name in a form, for a dataset.
        title: The start of a table title: "Persons", "Estimated persons".
        subject: The subject of the cell key promise.
        is_count: Whether a value is a count plus noise; only such tables are tested.
        has_errors: Whether each value has a sampling error.
        refuse: The reason why a dataset does not have it; None if it does.
        about: A remark on the design; None without one.
    """

    name: str
    label: Callable[[Dataset], str]
    title: Callable[[Dataset], str]
    subject: str
    is_count: bool = False
    has_errors: bool = False
    refuse: Callable[[Dataset], BadRequest | None] = _nothing
    about: Callable[[Dataset], str | None] = _nothing

    def __repr__(self) -> str:
        return one_line(self, self.name)


def unit_title(dataset: Dataset) -> str:
    """The unit, capitalised for a title: "Persons"."""
    return Message("{unit:capital}", {"unit": dataset.unit})


def _no_counts(dataset: Dataset) -> BadRequest | None:
    if dataset.survey is None or not dataset.survey.only_weights:
        return None
    return BadRequest(
        message('The dataset "{id}" tells people represented, not records counted.', id=dataset.id),
        message("Ask for the measure weighted."),
    )


#: Records counted: the measure of every dataset except surveys that release weights only.
COUNT = Measure(
    DEFAULT_MEASURE,
    label=lambda _dataset: message("Records counted"),
    title=unit_title,
    subject=message("One count by itself"),
    is_count=True,
    refuse=_no_counts,
)
