"""Whom promises and notes are about: one person, or one of what the dataset counts.

The word is the dataset's own (`unit`). A dataset that says nothing counts records, which are persons as a rule. Where
several records are one unit (`unit_column`) and are no persons, its column names it.

A measure: what the numbers of a table say. Everything here is public; `answer/measures/` computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Message, message, one_line


@dataclass(frozen=True, slots=True)
class Unit:
    """What is protected.

    Args:
        one: One of it, with its article.
        many: Several of what is counted.
    """

    one: str = message("one person")
    many: str = message("people")

    def says(self, of_people: Message, of_others: Message) -> Message:
        """A sentence about people, or the same about others, whose template has `one` and `many` and all other values."""
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


#: The measure of a request that names none.
DEFAULT_MEASURE = "count"


def _nothing(_dataset: Dataset) -> None:
    """What a measure says where it has nothing to say."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is public of a measure.

    Args:
        name: What requests call it.
        label: Its name in a form, for a dataset.
        title: How the title of its tables begins: "Persons", "Estimated persons".
        subject: What the promise of the cell key method speaks of.
        is_count: Whether a value is a count plus the noise of its law: only such tables are tested.
        has_errors: Whether each value has a sampling error beside it.
        refuse: Why a dataset does not have it; None if it does.
        about: What a reader should know of the design behind it; empty if nothing.
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
    """What is counted, as a title begins: "Persons"."""
    return Message("{unit:capital}", {"unit": dataset.unit})


def _no_counts(dataset: Dataset) -> BadRequest | None:
    """A survey whose weights have noise of their own does not tell counts beside them."""
    if dataset.survey is None or not dataset.survey.weighted_only:
        return None
    return BadRequest(
        message('The dataset "{id}" tells people represented, not records counted.', id=dataset.id),
        message("Ask for the measure weighted."),
    )


#: Records counted: the measure of every dataset, but for surveys that tell weights only.
COUNT = Measure(
    DEFAULT_MEASURE,
    label=lambda _dataset: message("Records counted"),
    title=unit_title,
    subject=message("One count by itself"),
    is_count=True,
    refuse=_no_counts,
)
