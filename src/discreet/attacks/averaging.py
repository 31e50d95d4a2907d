"""Averaging: the same count, asked in many ways, each with noise of its own.

Two kinds of ways to ask for one cell:

    other words   the same people, described differently: children; children, single; children, single or married;
                  ... (nobody is left out, since children are single by public knowledge)
    regroupings   sums of parts: children born here or there + children born elsewhere; every split is another way

The estimate is the mean of the answers, weighted by the inverse of their variance, over the ways whose noise is not
the same as that of a way already taken:

    keyed by participants                  other words: one number for ever; every regrouping has 2 new noise terms
    keyed by participants and description  every way has noise of its own
    dp                                     noise belongs to margins: a margin that was read has nothing new to say

Comes from: an `Interface` and `Knowledge`. Goes to: `red_team`, which knows the truth and scores.
Source: Rinott et al. (2018), section 2.2, third paragraph; docs/methods/attack-averaging.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.interface import Notebook
from discreet.attacks.knowledge import CELLKEY, DP, UNPROTECTED
from discreet.errors import BadRequest
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from numpy.typing import NDArray

    from discreet.attacks.interface import Interface
    from discreet.attacks.knowledge import Knowledge
    from discreet.model.dataset import Dataset

WORDS, PARTS = "other words", "regroupings"
KINDS = (WORDS, PARTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """The cells that are wanted, one for each place, and what the attacker knows of them.

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


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates after 1, 2, ... ways of asking.

    Args:
        places: The codes of the places.
        values: One line a place, one column a way.
        queries: How many different tables had been asked after each way.
        variance: The variance that the attacker expects after each way.
    """

    places: tuple[str, ...]
    values: NDArray[np.float64]
    queries: tuple[int, ...]
    variance: tuple[float, ...]


def ways(cell: Cell, dataset: Dataset, kind: str) -> Iterator[TableRequest]:
    """The questions of a kind; the first is the plain one, and all of them ask for the same people."""
    yield _plain(cell, dataset)
    if kind == WORDS:
        name, own = cell.always
        others = [code for code in dataset.variable(name).codes if code != own]
        for size in range(len(others)):
            for more in combinations(others, size):
                yield _plain(cell, dataset, also=(name, (own, *more)))
    elif kind == PARTS:
        first, *others = dataset.variable(cell.split).codes
        for size in range(len(others)):
            for more in combinations(others, size):
                rest = tuple(code for code in others if code not in more)
                yield _grouped(cell, dataset, ((first, *more), rest))
    else:
        raise BadRequest(f'There is no way of asking "{kind}".', f"Take one of: {', '.join(KINDS)}.")


def attack(interface: Interface, knowledge: Knowledge, cell: Cell, kind: str, most: int) -> Estimates:
    """Ask in up to so many ways, or in as many as there are, and average."""
    notebook = Notebook(interface)
    plain = notebook.ask(_plain(cell, knowledge.dataset))
    seen: set[Hashable] = set()
    total, weight = np.zeros(plain.values.shape[0]), 0.0
    values, queries, variance = [], [], []
    for number, request in enumerate(ways(cell, knowledge.dataset, kind)):
        if number == most:
            break
        answer = notebook.ask(request)
        source, spread = _noise(knowledge, request)
        if source not in seen:
            seen.add(source)
            share = 1.0 / spread
            total, weight = total + share * answer.values.reshape(len(total), -1).sum(axis=1), weight + share
        values.append(total / weight)
        queries.append(notebook.asked)
        variance.append(0.0 if knowledge.protection == UNPROTECTED else 1.0 / weight)
    return Estimates(plain.codes[0], np.stack(values, axis=1), tuple(queries), tuple(variance))


def _noise(knowledge: Knowledge, request: TableRequest) -> tuple[Hashable, float]:
    """Where the noise of an answer comes from, and its variance: ways of one source are the same number."""
    terms = 2 if request.groups else 1
    if knowledge.protection == UNPROTECTED:
        return request, 1.0
    if knowledge.protection == DP:
        table, each = knowledge.answered_by(request)
        return table.margin, float(table.noise.rows[0].variance()) * each * terms
    source = request if knowledge.protection != CELLKEY or request.groups else "participants"
    return source, float(knowledge.law.rows[-1].variance()) * terms


def _plain(cell: Cell, dataset: Dataset, also: tuple[str, tuple[str, ...]] | None = None) -> TableRequest:
    filters = ((cell.of[0], (cell.of[1],)), *(() if also is None else (also,)))
    return TableRequest(dataset.id, (cell.place,), filters=filters, totals=False)


def _grouped(cell: Cell, dataset: Dataset, groups: tuple[tuple[str, ...], ...]) -> TableRequest:
    return TableRequest(
        dataset.id,
        (cell.place,),
        (cell.split,),
        filters=((cell.of[0], (cell.of[1],)),),
        groups=((cell.split, groups),),
        totals=False,
    )
