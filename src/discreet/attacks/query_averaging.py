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

In addition, bounds on every attack that follow from epsilon and delta alone, and the optimal attack against known noise:

    distinguish two neighbours, even odds: success <= (1 + A)/2,  A = (e^eps - 1 + 2 delta)/(e^eps + 1)
    name a count exactly:                  P <= (1 + 2 sum_j e^(-j eps) delta_j)/(1 + 2 sum_j e^(-j eps)), any J terms,
                                           which is tanh(eps/2) for delta 0; delta_j is that of j persons
    root mean squared error of a count:    >= sqrt(2 e^-eps)/(1 - e^-eps), that of the geometric mechanism

Source: Rinott et al. (2018), section 2.2, third paragraph; Kairouz, Oh & Viswanath (2015) for A; Ghosh, Roughgarden &
Sundararajan (2012) for the last; proofs in docs/methods/attack-bob.md and docs/methods/attack-averaging.md.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.differencing import cell_evidence
from discreet.attacks.knowledge import CELLKEY, DP, UNPROTECTED, Interface, Knowledge, QueryCache
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.noise.table import NoiseRow
from discreet.privacy.claim import group_delta

WORDS, PARTS = "other words", "regroupings"
KINDS = (WORDS, PARTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """The target cells, one per place, and public knowledge about them.

    Args:
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
        return (self.table,) if self.less is None else (self.table, self.less)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates after 1, 2, ... ways.

    Args:
        values: One row per place, one column per way.
        variance: The variance that the attacker expects after each way.
    """

    values: NDArray[np.float64]
    queries: tuple[int, ...]
    variance: tuple[float, ...]


def ways(cell: Cell, dataset: Dataset, kind: str) -> Iterator[Way]:
    """The ways of a kind; all query the same people, the first one plainly."""

    def subsets(codes: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """All subsets but the whole, small ones first."""
        return chain.from_iterable(combinations(codes, size) for size in range(len(codes)))

    people = (cell.of[0], (cell.of[1],))
    yield Way(_table(cell, dataset, people))
    if kind == WORDS:
        name, own = cell.always
        for more in subsets([code for code in dataset.variable(name).codes if code != own]):
            yield Way(_table(cell, dataset, people, (name, (own, *more))))
    elif kind == PARTS:
        others = tuple(code for code in dataset.variable(cell.of[0]).codes if code != cell.of[1])
        yield Way(_table(cell, dataset), less=_table(cell, dataset, (cell.of[0], others)))
        first, *rest = dataset.variable(cell.split).codes
        for more in subsets(rest):
            other = tuple(code for code in rest if code not in more)
            groups = ((cell.split, ((first, *more), other)),)
            yield Way(replace(_table(cell, dataset, people), columns=(cell.split,), groups=groups))
    else:
        raise BadRequest(f'There is no way of asking "{kind}".', f"Take one of: {', '.join(KINDS)}.")


def attack(interface: Interface, knowledge: Knowledge, cell: Cell, kind: str, most: int) -> Estimates:
    """Query up to `most` ways and average."""
    cache = QueryCache(interface)
    seen: set[Hashable] = set()
    weight, total = 0.0, np.zeros(len(knowledge.dataset.variable(cell.place)))
    values, queries, variance = [], [], []
    for way in islice(ways(cell, knowledge.dataset, kind), most):
        sums = [cache.ask(table).values for table in way.tables]
        first, *less = [each.reshape(each.shape[0], -1).sum(axis=1) for each in sums]
        answer = first - less[0] if less else first
        source, spread = _noise(knowledge, way)
        if source not in seen:
            seen.add(source)
            weight, total = weight + 1 / spread, total + answer / spread
        values.append(total / weight)
        queries.append(cache.queries)
        variance.append(0.0 if knowledge.protection == UNPROTECTED else 1 / weight)
    return Estimates(np.stack(values, axis=1), tuple(queries), tuple(variance))


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
    spread = float(knowledge.distribution.rows[-1].variance()) * sum(columns)
    return "participants" if one_number else way, spread


def _table(cell: Cell, dataset: Dataset, *filters: tuple[str, tuple[str, ...]]) -> TableRequest:
    return TableRequest(dataset.id, (cell.place,), filters=filters, totals=False)


_ROUNDED = 9
_NEGLIGIBLE = 1e-15
_MOST_STEPS = 200


def success_bound(epsilon: float, delta: float = 0.0) -> float:
    """The largest share of right answers about one of two equally likely neighbours.

    >>> round(success_bound(1.0), 4), success_bound(0.0)
    (0.7311, 0.5)
    """
    advantage = math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)
    return min(1.0, (1 + advantage) / 2)


def exact_bound(epsilon: float, delta: float = 0.0) -> float:
    """The largest probability with which every count can be named exactly.

    If every count is hit with probability P, then at count n the j-th neighbour is named with probability at
    least e^(-j eps) (P - delta_j), on both sides, and all these add up to at most 1.

    >>> round(exact_bound(1.0), 4), round(math.tanh(0.5), 4), exact_bound(1.0, 0.01) > exact_bound(1.0)
    (0.4621, 0.4621, True)
    """
    best, weights, failures = 1.0, 1.0, 1.0
    for steps in range(1, _MOST_STEPS + 1):
        weight = 2 * math.exp(-steps * epsilon)
        weights, failures = weights + weight, failures + weight * group_delta(delta, epsilon, steps)
        best = min(best, failures / weights)
    return best


def error_bound(epsilon: float) -> float:
    """The smallest root mean squared error of a count without prior knowledge of it.

    >>> round(error_bound(1.0), 3)
    1.357
    """
    return math.sqrt(2 * math.exp(-epsilon)) / -math.expm1(-epsilon)


def optimum(rows: Sequence[NoiseRow]) -> float:
    """The success rate of the best attack on cells that hold Bob or no one, two for each noise row.

    One of the two cells holds Bob if the answer is yes, the other if it is no. The best attack adds up the evidence of
    all cells; the exact distribution of that sum gives its success rate.

    >>> from discreet.noise import laplace
    >>> round(optimum([laplace(epsilon=0.5).rows[0]]), 6) == round(1 / (1 + math.exp(-0.5)), 6)
    True
    """
    total: dict[float, float] = {0.0: 1.0}
    for row in rows:
        for bob in (1, 0):  # the cell that holds Bob if the answer is yes, and the other
            one: dict[float, float] = defaultdict(float)
            for value, mass in zip(row.values, row.masses(), strict=True):
                evidence = cell_evidence(row, value + bob)
                one[round(evidence if bob else -evidence, _ROUNDED)] += mass / row.modulus
            both: dict[float, float] = defaultdict(float)
            for (before, weight), (more, part) in product(total.items(), one.items()):
                if part * weight > _NEGLIGIBLE:
                    both[round(before + more, _ROUNDED)] += part * weight
            total = both
    return sum(mass for value, mass in total.items() if value > 0) + total.get(0.0, 0.0) / 2
