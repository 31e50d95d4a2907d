"""Whom promises and notes are about: one person, or one of what the dataset counts.

The word is the dataset's own (`unit`). A dataset that says nothing counts records, which are persons as a rule. Where
several records are one unit (`unit_column`) and are no persons, its column names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.model.told import Text, told

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset


@dataclass(frozen=True, slots=True)
class Unit:
    """What is protected.

    Args:
        one: One of it, with its article.
        many: Several of what is counted.
    """

    one: str = told("one person")
    many: str = told("people")

    def says(self, of_people: Text, of_others: Text) -> Text:
        """A sentence about people, or the same about others, whose template has `one` and `many` and all other values."""
        if self == PERSON:
            return of_people
        return Text(of_others.template, {**of_people.values, "one": self.one, "many": self.many})


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
        return Unit(told("one of the {unit}", unit=dataset.unit), dataset.unit)
    return Unit(told('one unit of the column "{column}"', column=dataset.unit_column), dataset.unit)
