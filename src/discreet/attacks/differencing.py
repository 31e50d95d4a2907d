"""Differencing: two cells that differ by one person, queried for many groups of people.

Bob is the only worker of his workplace hired today. For a context c (everyone, or those with one of some codes of a
trait that Bob has) the attacker asks for

    A_c   workers of the workplace in c, by salary
    B_c   the same, in service for more than a day

In one column of the two tables the people are the same; in the other they differ by Bob. With n the unknown number of
the other people and a flat prior, two released numbers a, b of a column have the likelihood

    Bob out:  P(a, b) = sum over n of P_n(a) [a = b]         noise keyed by participants: one number
              P(a, b) = sum over n of P_n(a) P_n(b)          noise keyed by participants and description
    Bob in:   P(a, b) = sum over n of P_(n+1)(a) P_n(b)      other people, other noise

The evidence is the logarithm of their ratio. It is infinite, a proof, where one of them is zero; evidence of several
pairs adds up. Under `dp` the attacker reads the cell "hired today" once per released margin: other contexts are sums
of known cells.

Source: Rinott et al. (2018), section 2.2, second paragraph, and section 4.1 (the set S = {b1 != b2} has probability
zero without Bob).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import (
    CELLKEY,
    DP,
    UNPROTECTED,
    Interface,
    Knowledge,
    QueryCache,
    epsilon_of_margins,
)
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.model.universe import Margin
from discreet.noise.table import NoiseRow, NoiseTable


@lru_cache(maxsize=4096)
def release_probability(noise: NoiseTable, count: int, released: int) -> float:
    """The probability that a count is released as a number."""
    return _probabilities(noise.row(count)).get(released - count, 0.0)


@lru_cache(maxsize=4096)
def _probabilities(row: NoiseRow) -> dict[int, float]:
    return {value: mass / row.modulus for value, mass in zip(row.values, row.masses(), strict=True)}


@lru_cache(maxsize=65536)
def pair_evidence(noise: NoiseTable, first: int, second: int, *, shared: bool) -> float:
    """The evidence of two released numbers that the first cell holds one person more.

    >>> from discreet.noise import maxent
    >>> noise = maxent(D=5, V=3, js=2)
    >>> pair_evidence(noise, 21, 20, shared=True), pair_evidence(noise, 20, 20, shared=True) < 0
    (inf, True)
    """
    counts = range(max(0, min(first, second) - noise.largest - 1), max(first, second) + noise.largest + 1)
    one, more, two = (
        [release_probability(noise, n + bob, released) for n in counts]
        for bob, released in ((0, first), (1, first), (0, second))
    )
    joined, apart = (sum(p * q for p, q in zip(side, two, strict=True)) for side in (more, one))
    same = sum(one) if first == second else 0.0
    return log_ratio(joined, same if shared else apart)


def cell_evidence(row: NoiseRow, released: int) -> float:
    """The evidence that a cell holds Bob, where it can hold no one else: 1 against 0.

    >>> from discreet.noise import laplace
    >>> row = laplace(epsilon=0.5).rows[0]
    >>> round(cell_evidence(row, 3), 6), round(cell_evidence(row, 0), 6)
    (0.5, -0.5)
    """
    masses = _probabilities(row)
    return log_ratio(masses.get(released - 1, 0.0), masses.get(released, 0.0))


def log_ratio(yes: float, no: float) -> float:
    """log(yes / no), infinite where one is impossible; 0 where both are."""
    if yes and no:
        return math.log(yes / no)
    return math.inf if yes else -math.inf if no else 0.0


def apply_to_pairs(
    evidence: Callable[[int, int], float], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """A function of two numbers on two arrays, evaluated once per distinct pair."""
    pairs, place = np.unique(np.stack([first.ravel(), second.ravel()]), axis=1, return_inverse=True)
    found = np.array([evidence(int(a), int(b)) for a, b in pairs.T])
    return found[place.reshape(first.shape)]


def add_evidence(for_him: NDArray[np.float64], against: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence for minus evidence against; two proofs that contradict each other cancel."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(for_him - against, nan=0.0, posinf=np.inf, neginf=-np.inf)


#: The people of a pair of tables: all (no variable), or those with one of some codes of a variable.
Context = tuple[str, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True)
class Scene:
    """The public variables of the attack.

    Args:
        place: The variable of the workplaces.
        sensitive: The variable to learn, with two categories: yes and no.
        alone: The variable and the code that only Bob has at his workplace.
    """

    place: str
    sensitive: str
    alone: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Bob:
    """The attacker's knowledge of one person: the workplace and traits."""

    place: str
    traits: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The result: one row per Bob, one column per pair of tables.

    Args:
        evidence: Log-likelihood ratio of yes against no of each pair; infinite for a proof.
        differs: Whether the two numbers differ, in the column "yes" and in the column "no".
        epsilon: Under `dp`, the joint epsilon of the margins queried so far.
        rows: Under `dp`, the noise of the margins in which Bob's cells were read, in order.
    """

    evidence: NDArray[np.float64]
    differs: NDArray[np.bool_]
    queries: tuple[int, ...]
    epsilon: tuple[float, ...] | None = None
    rows: tuple[NoiseRow, ...] = ()


def contexts(bob: Bob, dataset: Dataset) -> Iterator[Context]:
    """Groups that contain Bob: everyone, then one trait, then his category in union with 1, 2, ... others."""
    yield None
    codes = {name: dataset.variable(name).codes for name, _ in bob.traits}
    for extra in range(max((len(each) for each in codes.values()), default=1)):
        for name, code in bob.traits:
            own, all_codes = codes[name].index(code), codes[name]
            for others in combinations(range(1, len(all_codes)), extra):
                if extra < len(all_codes) - 1:
                    places = sorted((own + step) % len(all_codes) for step in (0, *others))
                    yield name, tuple(all_codes[place] for place in places)


def attack(
    interface: Interface, knowledge: Knowledge, scene: Scene, bobs: Sequence[Bob], pairs: int
) -> Findings:
    """Query `pairs` pairs of tables about every Bob.

    Raises:
        BadRequest: There are fewer contexts.
    """
    plans = [list(contexts(bob, knowledge.dataset)) for bob in bobs]
    available = min(map(len, plans), default=0)
    if not 1 <= pairs <= available:
        raise BadRequest(f"{pairs} pairs are asked for.", f"Give a number from 1 to {available}.")
    asking = _Queries(QueryCache(interface), knowledge, scene, bobs)
    evidence = np.zeros((len(bobs), pairs))
    differs = np.zeros((len(bobs), pairs, 2), dtype=np.bool_)
    queries, losses = [], []
    for pair in range(pairs):
        for context in dict.fromkeys(plan[pair] for plan in plans):
            here = np.array([number for number, plan in enumerate(plans) if plan[pair] == context])
            evidence[here, pair], differs[here, pair] = asking.pair(context, here)
        queries.append(asking.cache.queries)
        if knowledge.protection == DP:
            margins = {knowledge.margin_of(request)[0].margin for request in asking.cache.answers}
            losses.append(float(epsilon_of_margins(knowledge.noise_plan, margins)))
    return Findings(evidence, differs, tuple(queries), tuple(losses) or None, tuple(asking.read.values()))


@dataclass(frozen=True, slots=True)
class _Queries:
    """The tables of one attack, queried for all Bobs at once."""

    cache: QueryCache
    knowledge: Knowledge
    scene: Scene
    bobs: Sequence[Bob]
    read: dict[Margin, NoiseRow] = field(default_factory=dict)

    def pair(
        self, context: Context, here: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The evidence of one pair of tables about some Bobs, and the columns in which its numbers differ."""
        name, alone = self.scene.alone
        rest = tuple(code for code in self.knowledge.dataset.variable(name).codes if code != alone)
        first, second = self._numbers(context, None, here), self._numbers(context, (name, rest), here)
        if self.knowledge.protection == DP:
            return self._target_cells(context, here), first != second
        columns = apply_to_pairs(self._pair_evidence, first, second)
        return add_evidence(columns[:, 0], columns[:, 1]), first != second

    def _pair_evidence(self, first: int, second: int) -> float:
        if self.knowledge.protection == UNPROTECTED:
            return log_ratio(float(first - second == 1), float(first == second))
        shared = self.knowledge.protection == CELLKEY
        return pair_evidence(self.knowledge.distribution, first, second, shared=shared)

    def _target_cells(self, context: Context, here: NDArray[np.int64]) -> NDArray[np.float64]:
        """Under `dp`, Bob's cells of a margin; unions are sums of known cells."""
        if context is not None and len(context[1]) > 1:
            return np.zeros(here.size)
        name, alone = self.scene.alone
        request = self._request(context, (name, (alone,)))
        table = self.knowledge.margin_of(request)[0]
        row = self.read.setdefault(table.margin, table.noise.rows[0])
        cells = self._numbers(context, (name, (alone,)), here)
        found = np.vectorize(partial(cell_evidence, row), otypes=[np.float64])(cells)
        return add_evidence(found[:, 0], found[:, 1])

    def _numbers(
        self, context: Context, also: tuple[str, tuple[str, ...]] | None, here: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        answer = self.cache.ask(self._request(context, also))
        lines = {code: line for line, code in enumerate(answer.codes[0])}
        return answer.values[[lines[self.bobs[number].place] for number in here]]

    def _request(self, context: Context, also: tuple[str, tuple[str, ...]] | None) -> TableRequest:
        filters = tuple(each for each in (context, also) if each is not None)
        rows, columns = (self.scene.place,), (self.scene.sensitive,)
        return TableRequest(self.knowledge.dataset.id, rows, columns, filters=filters, totals=False)
