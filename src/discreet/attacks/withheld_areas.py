"""Withheld areas: estimate areas that a rule withholds from the areas shown and from totals.

The target is a table of areas by some variables. Without differences there are two guesses:

    shares   the parent's released table, times the area's share of the parent's people
    fitted   the same, fitted to every table with one variable less in which the area is shown

The parent minus the parts shown is the sum of the withheld parts, with an error of known variance N:

    listing    parent - each part shown                      N = V (1 + parts shown)
    union      parent - the parts shown, counted by a filter N = 2 V, or 3 V where one more must be left out
    interior   the same where totals are sums of cells       N = V (parts withheld)
    superset   a table with one variable more that shows the area: its total is the number itself, N = V

Every number may be queried again in other ways (`ways`): other pairs of categories give about V / ways. The
difference is distributed by linear Bayes, so that a noisier difference never makes the estimate worse:

    x_a = guess_a + φ w_a / (φ Σ w + N) · (difference - Σ guess),   φ estimated from the differences

with w = guess for the fitted guess, whose error is chance alone, and w = guess² for the shares.

Where all parts of a parent are withheld their guesses are scaled to its total. Levels are processed from the coarsest
to the finest; a withheld parent is replaced by its estimate.

Source: Hundepool et al. (2012), section 4.4; docs/methods/attack-withheld.md.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import Answer, Interface, QueryCache
from discreet.errors import BadRequest, Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors
from discreet.model.request import DEFAULT_MEASURE, TableRequest
from discreet.model.variable import TOTAL

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


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The areas of one level: both estimates, which are withheld, and the variance of released numbers."""

    guess: Floats
    best: Floats
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
        variance = self.target.variance * float(np.diag(inverse).mean())
        return AreaTable(solved[None] if level is None else solved, gone, variance)

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
                inner = answer.values[..., -1][(slice(-1),) * (len(self.target.variables) + 1)].astype(float)
                found.append(AreaTable(inner, _withheld_areas(answer, level), self.target.variance))
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
        coarse = (TOTAL,) if upper is None else self.dataset.variable(upper).codes
        # A code that two levels share is prefixed by its level.
        own, tops = (
            [places[code] if code in places else places[f"{name}:{code}"] for code in codes]
            for name, codes in ((level, self.dataset.variable(level).codes), (upper, coarse))
        )
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
            shown, counts = ~records.missing[:-1], records.values[:-1]
            both = shown & ~gone
            scale = people[both].sum() / max(counts[both].sum(), 1)
            stand_ins[shown] = np.maximum(counts[shown] * scale, TINY)
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


def _inner(answer: Answer) -> Floats:
    cells: Floats = answer.values[(slice(-1),) * answer.values.ndim].astype(float)
    return cells


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


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimates of the finest level.

    Args:
        parents: The position of each area's parent at the level above.
        guess: The guess for every cell without differences, one row per area; released numbers as they are.
        best: The same with differences.
    """

    withheld: Flags
    parents: NDArray[np.int64]
    guess: Floats
    best: Floats
    queries: int


def attack(interface: Interface, dataset: Dataset, target: Target) -> Estimates | None:
    """Estimate all cells of the areas of the finest level; None where no such table is released."""
    asking = AreaQuestions(QueryCache(interface), dataset, target)
    above = asking.query_level(None)
    if above is None:
        return None
    upper: str | None = None
    parents = np.zeros(1, dtype=np.int64)
    estimate = _Level(above.shown, above.shown, np.zeros(1, dtype=np.bool_), above.variance)
    for level in target.levels:
        own = asking.query_level(level)
        if own is None:
            if level == target.levels[-1]:
                return None
            continue
        # The whole is the parent of the coarsest level.
        up = None if upper is None else ancestors(dataset, level, upper)
        parents = np.zeros(len(dataset.variable(level)), dtype=np.int64) if up is None else up
        estimate = _step(asking, estimate, own, parents, (upper, level))
        upper = level
    return Estimates(estimate.gone, parents, estimate.guess, estimate.best, asking.cache.queries)


def _step(
    asking: AreaQuestions, above: _Level, own: AreaTable, parents: NDArray[np.int64], levels: Levels
) -> _Level:
    """Both guesses of one level; the better one corrected by the difference of each parent and its parts shown."""
    level = levels[1]
    guess, start = (asking.fit(table, parents, level) for table in (above.guess, above.best))
    left, noise = _differences(asking, above, own, parents, levels)
    missed = np.where(broadcast_areas(own.gone, start), start, 0)
    expected, weights = add_parts(missed, parents, len(left)), missed**asking.target.power
    weight = add_parts(weights, parents, len(left))
    known = np.isfinite(noise)
    variance = broadcast_areas(np.where(known, noise, 1.0), left)
    surplus = (np.square(left - expected) - variance)[known].sum()
    spread = max(float(surplus / max(weight[known].sum(), TINY)), 0.0)
    part = spread * (left - expected) / (spread * weight + variance + TINY)
    moved = weights * np.where(broadcast_areas(known, left), part, 0.0)[parents]
    best: Floats = np.maximum(start + moved, 0.0)
    shown = ~own.gone
    alone = (np.bincount(parents[shown], minlength=len(above.gone)) == 0) & ~above.gone
    guess[alone[parents]] = best[alone[parents]]
    for direct in asking.supersets(level):
        seen = own.gone & ~direct.gone
        best[seen] = direct.shown[seen]
    guess[shown] = best[shown] = own.shown[shown]
    return _Level(guess, best, own.gone, own.variance)


def _differences(
    asking: AreaQuestions, above: _Level, own: AreaTable, parents: NDArray[np.int64], levels: Levels
) -> tuple[Floats, Floats]:
    """The sum of the withheld parts of each parent, and its variance; infinite where unknown."""
    number = len(above.gone)
    lost, kept = (np.bincount(parents[areas], minlength=number) for areas in (own.gone, ~own.gone))
    shown = np.where(broadcast_areas(own.gone, own.shown), 0, own.shown)
    left = above.best - add_parts(shown, parents, number)
    expected = above.variance + own.variance * kept
    whole = ~above.gone & (lost == 0) & (kept > 0)
    if whole.any():  # where nothing is withheld the difference is noise alone: so large is it really
        size = int(np.prod(left.shape[1:]))
        expected = expected * (np.square(left[whole]).sum() / max(expected[whole].sum() * size, TINY))
    noise = np.where(above.gone | (lost == 0), np.inf, expected)
    others = asking.interior(levels, own.gone, parents, number), asking.unions(levels, above, own, parents)
    for other, variance in others:
        better = (variance < noise) & (lost > 0)
        left[better], noise[better] = other[better], variance[better]
    return left, noise
