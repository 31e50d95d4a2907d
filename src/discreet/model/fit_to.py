"""Published tables that a fitted table agrees with: `fit_to = ["area", "sex*age"]`.

Each word names a table by its variables. All words together are a set of tables whose common totals are the same in
every one of them, and in every fitted table that names the set. The order is fixed: tables of fewer variables come
first, then in the dataset's order; each is fitted to those before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset

#: The word that asks for no published tables where a dataset declares some.
NONE = "none"
#: Every table of the set is made for every fitted table: more would make a reader wait.
MOST_TABLES = 8


def variables_of(word: str) -> tuple[str, ...]:
    """The variables of a table of the set.

    >>> variables_of("sex * age")
    ('sex', 'age')
    """
    return tuple(name.strip() for name in word.split("*") if name.strip())


def canonical_fit_to(words: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """The words in their fixed order, each once.

    Raises:
        UnknownVariable: With the nearest match.
        BadRequest: A table without variables, or too many tables.
    """
    given = [word.strip() for word in words if word.strip()]
    if given == [NONE]:
        return (NONE,)
    order = {variable.name: place for place, variable in enumerate(dataset.variables)}
    tables = set()
    for word in given:
        names = variables_of(word)
        for name in names:
            dataset.variable(name)
        if not names or len(set(names)) != len(names):
            raise BadRequest(
                told("fit_to has the table {word!r}.", word=word),
                told("Name each of its variables once, as in sex*age."),
            )
        tables.add(tuple(sorted(names, key=order.__getitem__)))
    if len(tables) > MOST_TABLES:
        raise BadRequest(
            told("fit_to has {tables} tables.", tables=len(tables)),
            told("Give at most {most_tables}.", most_tables=MOST_TABLES),
        )
    ordered = sorted(tables, key=lambda names: (len(names), [order[name] for name in names]))
    return tuple("*".join(names) for names in ordered)
