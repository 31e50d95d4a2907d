"""The queries of the attack on withheld areas, and the guesses that follow from the answers alone.

Source: docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import Answer, QueryCache
from discreet.errors import BadRequest, Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import TableRequest
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from discreet.attacks.withheld_areas import _Level

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDS = 30
TINY = 1e-9
SHARES, FITTED = "shares", "fitted"
#: The guesses that an attack may start from.
STARTS = (SHARES, FITTED)


@dataclass(frozen=True, slots=True)
class Target:
    """The tables under attack.

    Args:
        levels: The levels of the geography, from the coarsest to the target level.
        variables: The variables that are crossed.
        variance: The variance of the noise of one count, as published.
        ways: In how many ways every table is queried.
        start: The guess to start from, one of `STARTS`.
        measure: Counts, or people represented.
        represented: The mean number of people per record, which a survey publishes; it scales public figures of records.
    """

    levels: tuple[str, ...]
    variables: tuple[str, ...]
    variance: float
    ways: int = 1
    start: str = FITTED
    measure: str = DEFAULT_MEASURE
    represented: float = 1.0

    @property
    def power(self) -> int:
        """The error variance of a guess is proportional to this power of it: the fitted guess has chance errors alone."""
        return 1 if self.start == FITTED else 2


@dataclass(frozen=True, slots=True, eq=False)
class AreaTable:
    """A released table of areas without totals: numbers, withheld areas, variance."""

    shown: Floats
    gone: Flags
    variance: float


Levels = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class AreaQuestions:
    """The queries of one attack."""

    cache: QueryCache
    dataset: Dataset
    target: Target

    def query_level(self, level: str | None) -> AreaTable | None:
        """The target's table at a level, queried in all ways and combined by least squares."""
        names = self.target.variables
        plain = self._ask(self._request(level, names))
        if plain is None:
            return None
        wide = max(range(len(names)), key=lambda place: len(self.dataset.variable(names[place])))
        size, axis = len(self.dataset.variable(names[wide])), wide + (level is not None)
        gone, total = _withheld_areas(plain, level), _inner(plain)
        matrix = np.eye(size)
        for number in range(self.target.ways - 1):
            pairs = other_pairs(size, number)
            codes = self.dataset.variable(names[wide]).codes
            groups = ((names[wide], tuple((codes[a], codes[b]) for a, b in pairs)),)
            answer = self._ask(replace(self._request(level, names), groups=groups))
            if answer is None:
                break
            inner = np.moveaxis(_inner(answer), axis, 0)
            for (a, b), line in zip(pairs, inner, strict=True):
                np.moveaxis(total, axis, 0)[[a, b]] += line
                matrix[np.ix_([a, b], [a, b])] += 1
        inverse = np.linalg.inv(matrix)
        solved = np.moveaxis(np.tensordot(inverse, total, axes=(1, axis)), 0, axis)
        return AreaTable(_lines(solved, level), gone, self.target.variance * float(np.diag(inverse).mean()))

    def fit(self, above: Floats, parents: NDArray[np.int64], level: str) -> Floats:
        """The parents' tables, scaled to each area and fitted to the released tables of the area."""
        people = self._people(level)
        share = people / np.maximum(np.bincount(parents, people, minlength=len(above)), TINY)[parents]
        fitted: Floats = np.maximum(above, TINY)[parents] * broadcast_areas(share, above)
        names = self.target.variables
        margins = []
        fewer = combinations(range(len(names)), len(names) - 1) if self.target.start == FITTED else ()
        for few in fewer:
            answer = self._ask(self._request(level, tuple(names[place] for place in few))) if few else None
            if answer is not None:
                drop = tuple(place + 1 for place in range(len(names)) if place not in few)
                known = np.expand_dims(_inner(answer), drop)
                margins.append((drop, np.maximum(known, TINY), ~_withheld_areas(answer, level)))
        for _ in range(ROUNDS):
            for drop, known, shown in margins:
                ratio = known / fitted.sum(axis=drop, keepdims=True)
                fitted[shown] *= ratio[shown]
        return fitted

    def supersets(self, level: str) -> list[AreaTable]:
        """The target's cells as totals of tables with one variable more."""
        found = []
        for variable in self.dataset.variables:
            if variable.name in self.dataset.geography or variable.name in self.target.variables:
                continue
            answer = self._ask(self._request(level, (*self.target.variables, variable.name)))
            if answer is not None:
                inner = np.moveaxis(answer.values, -1, 0)[-1][(slice(-1),) * (len(self.target.variables) + 1)]
                found.append(
                    AreaTable(inner.astype(float), _withheld_areas(answer, level), self.target.variance)
                )
        return found

    def interior(
        self, levels: Levels, gone: Flags, parents: NDArray[np.int64], number: int
    ) -> tuple[Floats, Floats]:
        """The parents minus the parts shown, where totals are sums of all cells."""
        upper, level = levels
        request = replace(self._request(level, self.target.variables), additivity="interior")
        if upper is not None:
            request = replace(request, levels=((level, (upper, level)),))
        answer = self._ask(request)
        lengths = (number, *(len(self.dataset.variable(name)) for name in self.target.variables))
        nothing = np.zeros(lengths), np.full(number, np.inf)
        if answer is None:
            return nothing
        places = {code: place for place, code in enumerate(answer.codes[0])}
        own = [_find(places, code, level) for code in self.dataset.variable(level).codes]
        coarse = [TOTAL] if upper is None else self.dataset.variable(upper).codes
        tops = [_find(places, code, upper) for code in coarse]
        inside = (slice(None), *(slice(-1),) * len(self.target.variables))
        cells = answer.values[inside].astype(float)
        missing = np.asarray(answer.missing.reshape(len(places), -1).all(axis=1))
        parts = np.where(broadcast_areas(gone, cells[own]), 0, cells[own])
        lost = np.bincount(parents[gone], minlength=number)
        noise = np.where(missing[tops], np.inf, self.target.variance * lost)
        return cells[tops] - add_parts(parts, parents, number), noise

    def unions(
        self, levels: Levels, above: _Level, own: AreaTable, parents: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """The parents minus the parts shown, counted together by a filter."""
        left, noise = np.zeros_like(above.best), np.full(len(above.gone), np.inf)
        codes = self.dataset.variable(levels[1]).codes
        for parent in np.flatnonzero(~above.gone):
            parts = np.flatnonzero((parents == parent) & ~own.gone)
            lost = int(((parents == parent) & own.gone).sum())
            if not lost or len(parts) < 3:
                continue
            out = parts[:1] if lost == 1 else parts[:0]  # a rule may refuse to leave out a single area
            some = tuple(codes[part] for part in parts if part not in out)
            answer = self._ask(self._request(None, self.target.variables, ((levels[1], some),)))
            if answer is not None and len(answer.codes) > len(self.target.variables):
                break  # the areas are listed: there is no count of the union
            if answer is not None and not answer.missing.all():
                left[parent] = above.best[parent] - _inner(answer) - own.shown[out].sum(axis=0)
                noise[parent] = above.variance + self.target.variance + own.variance * len(out)
        return left, noise

    def parents(self, level: str, upper: str | None) -> NDArray[np.int64]:
        """The position of each area's parent; the whole is the parent of the coarsest level."""
        size = len(self.dataset.variable(level))
        up = None if upper is None else ancestors(self.dataset, level, upper)
        return np.zeros(size, dtype=np.int64) if up is None else up

    def _people(self, level: str) -> Floats:
        """The released number of people of each area, with substitutes where it is withheld."""
        variable = self.dataset.variable(level)
        answer = self._ask(self._request(level, ()))
        if answer is None:
            return np.ones(len(variable))
        gone = _withheld_areas(answer, level)
        people: Floats = np.maximum(answer.values[:-1].astype(float), TINY)
        if gone.any():
            people[gone] = self._stand_ins(level, people, gone)
        return people

    def _stand_ins(self, level: str, people: Floats, gone: Flags) -> Floats:
        """Substitutes for withheld numbers of people: counts of records, public figures of rules, the mean of the others."""
        stand_ins = np.full(len(gone), people[~gone].mean() if (~gone).any() else 1.0)
        records = self._ask(replace(self._request(level, ()), measure=DEFAULT_MEASURE))
        if records is not None:
            told = ~records.missing[:-1]
            both = told & ~gone
            scale = people[both].sum() / max(records.values[:-1][both].sum(), 1)
            stand_ins[told] = np.maximum(records.values[:-1][told] * scale, TINY)
        figures = [rule["figures"] for rule in self.dataset.rules if rule.get("variable") == level]
        for code, figure in (pair for each in figures for pair in each.items()):
            stand_ins[self.dataset.variable(level).position(code)] = figure * self.target.represented
        return stand_ins[gone]

    def _request(
        self, level: str | None, names: tuple[str, ...], filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ) -> TableRequest:
        rows = () if level is None else (level,)
        return TableRequest(self.dataset.id, rows, names, filters=filters, measure=self.target.measure)

    def _ask(self, request: TableRequest) -> Answer | None:
        try:
            return self.cache.ask(request)
        except (BadRequest, Refused):
            return None


def other_pairs(size: int, number: int) -> list[tuple[int, int]]:
    """The pairs of one round of a round-robin tournament.

    >>> other_pairs(4, 0), other_pairs(5, 1)
    ([(0, 3), (1, 2)], [(0, 1), (3, 4)])
    """
    even = size + size % 2
    wheel = [0, *((place + number) % (even - 1) + 1 for place in range(even - 1))]
    met = [tuple(sorted((wheel[place], wheel[-1 - place]))) for place in range(even // 2)]
    return sorted((a, b) for a, b in met if b < size)


def _find(places: dict[str, int], code: str, level: str | None) -> int:
    """The position of a code; a code that two levels share is prefixed by its level."""
    return places[code] if code in places else places[f"{level}:{code}"]


def _inner(answer: Answer) -> Floats:
    """The numbers without totals."""
    cells: Floats = answer.values[(slice(-1),) * answer.values.ndim].astype(float)
    return cells


def _lines(cells: Floats, level: str | None) -> Floats:
    return cells[None] if level is None else cells


def _withheld_areas(answer: Answer, level: str | None) -> Flags:
    if level is None:
        return np.zeros(1, dtype=np.bool_)
    return np.asarray(answer.missing[:-1].reshape(len(answer.codes[0]) - 1, -1).all(axis=1))


def broadcast_areas(line: NDArray[Any], like: Floats) -> NDArray[Any]:
    """One number per area, shaped to broadcast along the first axis of cells."""
    return line.reshape(-1, *(1,) * (like.ndim - 1))


def add_parts(cells: Floats, parents: NDArray[np.int64], number: int) -> Floats:
    """The sums over the parts of each parent."""
    sums = np.zeros((number, *cells.shape[1:]))
    np.add.at(sums, parents, cells)
    return sums
