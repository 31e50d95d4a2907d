"""Averaging: one count queried in many ways, each with new noise.

Two kinds of ways to query one cell:

    other words   the same people, described differently: children; children, single; children, single or married;
                  ... (no one is left out, since children are single by public knowledge)
    regroupings   the complement: everyone minus those who are no children; and sums of parts: children born here or
                  there + children born elsewhere; every split is another way

The estimate is the mean of the answers, weighted by the inverse of their variance, over the ways with new noise:

    keyed by participants                  other words: always one number; every regrouping has 2 new noise terms
    keyed by participants and description  every way has new noise
    dp                                     noise belongs to margins: a margin that was read adds nothing

Source: Rinott et al. (2018), section 2.2, third paragraph; docs/methods/attack-averaging.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import CELLKEY, DP, UNPROTECTED, Interface, Knowledge, QueryCache
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest

WORDS, PARTS = "other words", "regroupings"
KINDS = (WORDS, PARTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """The target cells, one per place, and public knowledge about them.

    Args:
        place: The variable of the places.
        of: The variable and code of the people.
        always: A variable and the code that all these people have by public knowledge.
        split: A variable by which they can be split.
    """

    place: str
    of: tuple[str, str]
    always: tuple[str, str]
    split: str


@dataclass(frozen=True, slots=True)
class Way:
    """One way to query a count: the sum over a table's columns, minus that of another table if there is one."""

    table: TableRequest
    less: TableRequest | None = None

    @property
    def tables(self) -> tuple[TableRequest, ...]:
        """The tables to query."""
        return (self.table,) if self.less is None else (self.table, self.less)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates after 1, 2, ... ways.

    Args:
        values: One row per place, one column per way.
        queries: The number of distinct queries after each way.
        variance: The variance that the attacker expects after each way.
    """

    values: NDArray[np.float64]
    queries: tuple[int, ...]
    variance: tuple[float, ...]


def ways(cell: Cell, dataset: Dataset, kind: str) -> Iterator[Way]:
    """The ways of a kind; all query the same people, the first one plainly."""
    people = (cell.of[0], (cell.of[1],))
    yield Way(_table(cell, dataset, people))
    if kind == WORDS:
        name, own = cell.always
        for more in _subsets([code for code in dataset.variable(name).codes if code != own]):
            yield Way(_table(cell, dataset, people, (name, (own, *more))))
    elif kind == PARTS:
        others = tuple(code for code in dataset.variable(cell.of[0]).codes if code != cell.of[1])
        yield Way(_table(cell, dataset), less=_table(cell, dataset, (cell.of[0], others)))
        first, *rest = dataset.variable(cell.split).codes
        for more in _subsets(rest):
            other = tuple(code for code in rest if code not in more)
            yield Way(_split_table(cell, dataset, ((first, *more), other)))
    else:
        raise BadRequest(f'There is no way of asking "{kind}".', f"Take one of: {', '.join(KINDS)}.")


def _subsets(codes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All subsets but the whole, small ones first."""
    return chain.from_iterable(combinations(codes, size) for size in range(len(codes)))


def attack(interface: Interface, knowledge: Knowledge, cell: Cell, kind: str, most: int) -> Estimates:
    """Query up to `most` ways and average."""
    cache = QueryCache(interface)
    seen: set[Hashable] = set()
    weight, total = 0.0, np.zeros(len(knowledge.dataset.variable(cell.place)))
    values, queries, variance = [], [], []
    for way in islice(ways(cell, knowledge.dataset, kind), most):
        answer = _answer(cache, way)
        source, spread = _noise(knowledge, way)
        if source not in seen:
            seen.add(source)
            weight, total = weight + 1 / spread, total + answer / spread
        values.append(total / weight)
        queries.append(cache.queries)
        variance.append(0.0 if knowledge.protection == UNPROTECTED else 1 / weight)
    return Estimates(np.stack(values, axis=1), tuple(queries), tuple(variance))


def _answer(cache: QueryCache, way: Way) -> NDArray[np.int64]:
    sums = [cache.ask(table).values for table in way.tables]
    numbers: list[NDArray[np.int64]] = [each.reshape(each.shape[0], -1).sum(axis=1) for each in sums]
    return numbers[0] if way.less is None else numbers[0] - numbers[1]


def _noise(knowledge: Knowledge, way: Way) -> tuple[Hashable, float]:
    """The source of an answer's noise and its variance: ways with one source have the same number."""
    columns = [2 if table.groups else 1 for table in way.tables]
    if knowledge.protection == UNPROTECTED:
        return way, 1.0
    if knowledge.protection == DP:
        answered = [knowledge.margin_of(table) for table in way.tables]
        spread = sum(
            float(table.noise.rows[0].variance()) * each * number
            for (table, each), number in zip(answered, columns, strict=True)
        )
        return frozenset(table.margin for table, _ in answered), spread
    one_number = knowledge.protection == CELLKEY and sum(columns) == 1
    return "participants" if one_number else way, float(knowledge.law.rows[-1].variance()) * sum(columns)


def _table(cell: Cell, dataset: Dataset, *filters: tuple[str, tuple[str, ...]]) -> TableRequest:
    return TableRequest(dataset.id, (cell.place,), filters=filters, totals=False)


def _split_table(cell: Cell, dataset: Dataset, groups: tuple[tuple[str, ...], ...]) -> TableRequest:
    return replace(
        _table(cell, dataset, (cell.of[0], (cell.of[1],))),
        columns=(cell.split,),
        groups=((cell.split, groups),),
    )
