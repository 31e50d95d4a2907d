"""Withheld areas: what the parts that are shown, and all that holds them, say of the parts that are not.

The target is a table of areas by some variables, of which a rule withholds areas. There are two best guesses without
any difference:

    shares   the parent's released table, times the area's share of the parent's people
    fitted   the same, fitted to every table with one variable less in which the area is shown

The attack then looks for the withheld areas in differences. The parent less the parts that are shown is the sum of
those that are withheld, with an error of known variance N:

    listing    parent - each part shown                      N = V (1 + parts shown)
    union      parent - the parts shown, counted by a filter N = 2 V, or 3 V where one more must be left out
    interior   the same where totals are sums of cells       N = V (parts withheld)
    superset   a table with one variable more that shows the area: its total is the number itself, N = V

and every number may be asked again in other words (`ways`): categories in pairs, each time others, give V / ways or so.
The difference is shared out by linear Bayes, so that a worse look never hurts:

    x_a = guess_a + φ w_a / (φ Σ w + N) · (difference - Σ guess),   φ from the differences themselves

with w = guess for the fitted guess, which misses chance alone, and w = guess² for the shares.

Where all parts of a parent are withheld nothing can be taken off: their guesses are made to add up to it, too.
Levels are worked through from the coarsest to the finest; where an area above is withheld, its estimate stands in.

Comes from: an `Interface` and the public description. Goes to: `trials`, which knows the truth and scores.
Source: Hundepool et al. (2012), section 4.4; docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.interface import Notebook
from discreet.errors import BadRequest, Refused
from discreet.model.level_maps import ancestors
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import TableRequest
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.attacks.interface import Answer, Interface
    from discreet.model.dataset import Dataset

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

ROUNDS = 30
TINY = 1e-9
SHARES, FITTED = "shares", "fitted"
#: The guesses that an attack may start from.
STARTS = (SHARES, FITTED)


@dataclass(frozen=True, slots=True)
class Target:
    """The tables that are attacked.

    Args:
        levels: The levels of the geography, from the coarsest to the one whose areas are wanted.
        variables: The variables that are crossed.
        variance: The variance of the noise of one count, as published.
        ways: In how many ways every table is asked.
        start: The guess that the attack starts from, one of `STARTS`.
        measure: What is asked for: counts, or people represented.
        represented: How many people a record stands for on average, which a survey publishes: public figures that
            speak of records are scaled by it.
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
        """What a guess misses has a variance in proportion to this power of it: the fitted guess misses chance alone."""
        return 1 if self.start == FITTED else 2


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What is known of the areas of one level in the end.

    Args:
        withheld: Which areas are not shown.
        parents: The place of the area that holds each, at the level above.
        guess: The best guess for every cell without differences, one line an area; what is shown stands as it is.
        best: The same with differences.
        queries: How many tables were asked.
    """

    withheld: Flags
    parents: NDArray[np.int64]
    guess: Floats
    best: Floats
    queries: int


def attack(interface: Interface, dataset: Dataset, target: Target) -> Estimates | None:
    """Estimate all cells of the areas of the finest level; None where no such table is released."""
    asking = _Asking(Notebook(interface), dataset, target)
    above = asking.averaged(None)
    if above is None:
        return None
    upper: str | None = None
    parents = np.zeros(1, dtype=np.int64)
    estimate = _Level(above.shown, above.shown, np.zeros(1, dtype=np.bool_), above.variance)
    for level in target.levels:
        own = asking.averaged(level)
        if own is None:
            if level == target.levels[-1]:
                return None
            continue
        parents = asking.parents(level, upper)
        estimate = _step(asking, estimate, own, parents, (upper, level))
        upper = level
    return Estimates(estimate.gone, parents, estimate.guess, estimate.best, asking.notebook.asked)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The areas of one level: both estimates, which are withheld, and the variance of what is shown."""

    guess: Floats
    best: Floats
    gone: Flags
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A released table of areas without totals: numbers, withheld areas, variance."""

    shown: Floats
    gone: Flags
    variance: float


def _step(asking: _Asking, above: _Level, own: _Table, parents: NDArray[np.int64], levels: _Levels) -> _Level:
    """From the areas of one level to those of the next."""
    level = levels[1]
    guess = asking.fitted(above.guess, parents, level)
    start = asking.fitted(above.best, parents, level)
    best = _shared_out(asking, above, own, parents, start, levels)
    shown = ~own.gone
    alone = (np.bincount(parents[shown], minlength=len(above.gone)) == 0) & ~above.gone
    guess[alone[parents]] = best[alone[parents]]
    for direct in asking.supersets(level):
        told = own.gone & ~direct.gone
        best[told] = direct.shown[told]
    guess[shown] = best[shown] = own.shown[shown]
    return _Level(guess, best, own.gone, own.variance)


def _shared_out(
    asking: _Asking, above: _Level, own: _Table, parents: NDArray[np.int64], start: Floats, levels: _Levels
) -> Floats:
    """The guesses, moved by what is left of each parent when the parts shown are taken off."""
    left, noise = _differences(asking, above, own, parents, levels)
    missed = np.where(_wide(own.gone, start), start, 0)
    expected, weights = _added(missed, parents, len(left)), missed**asking.target.power
    weight = _added(weights, parents, len(left))
    known = np.isfinite(noise)
    variance = _wide(np.where(known, noise, 1.0), left)
    surplus = (np.square(left - expected) - variance)[known].sum()
    spread = max(float(surplus / max(weight[known].sum(), TINY)), 0.0)
    moved = np.where(
        _wide(known, left), spread * (left - expected) / (spread * weight + variance + TINY), 0.0
    )
    best: Floats = np.maximum(start + weights * moved[parents], 0.0)
    return best


def _differences(
    asking: _Asking, above: _Level, own: _Table, parents: NDArray[np.int64], levels: _Levels
) -> tuple[Floats, Floats]:
    """For each parent the sum of its withheld parts, and the variance of that; infinite where nothing is known."""
    number = len(above.gone)
    lost, kept = (
        np.bincount(parents[own.gone], minlength=number),
        np.bincount(parents[~own.gone], minlength=number),
    )
    left = above.best - _added(np.where(_wide(own.gone, own.shown), 0, own.shown), parents, number)
    expected = above.variance + own.variance * kept
    whole = ~above.gone & (lost == 0) & (kept > 0)
    if whole.any():  # where nothing is withheld the difference is noise alone: so large is it really
        size = int(np.prod(left.shape[1:]))
        expected = expected * (np.square(left[whole]).sum() / max(expected[whole].sum() * size, TINY))
    noise = np.where(above.gone | (lost == 0), np.inf, expected)
    for other, variance in (
        asking.interior(levels, own.gone, parents, number),
        asking.unions(levels, above, own, parents),
    ):
        better = (variance < noise) & (lost > 0)
        left[better], noise[better] = other[better], variance[better]
    return left, noise


_Levels = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class _Asking:
    """The questions of one attack."""

    notebook: Notebook
    dataset: Dataset
    target: Target

    def averaged(self, level: str | None) -> _Table | None:
        """The target's table at a level, asked in all its ways; least squares puts the answers together."""
        names = self.target.variables
        plain = self._ask(self._request(level, names))
        if plain is None:
            return None
        wide = max(range(len(names)), key=lambda place: len(self.dataset.variable(names[place])))
        size, axis = len(self.dataset.variable(names[wide])), wide + (level is not None)
        gone, total = _gone(plain, level), _inner(plain)
        matrix = np.eye(size)
        for number in range(self.target.ways - 1):
            pairs = _pairs(size, number)
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
        return _Table(_lines(solved, level), gone, self.target.variance * float(np.diag(inverse).mean()))

    def fitted(self, above: Floats, parents: NDArray[np.int64], level: str) -> Floats:
        """The parents' tables, scaled to each area and fitted to what is released of the area itself."""
        people = self._people(level)
        share = people / np.maximum(np.bincount(parents, people, minlength=len(above)), TINY)[parents]
        fitted: Floats = np.maximum(above, TINY)[parents] * _wide(share, above)
        names = self.target.variables
        margins = []
        fewer = combinations(range(len(names)), len(names) - 1) if self.target.start == FITTED else ()
        for few in fewer:
            answer = self._ask(self._request(level, tuple(names[place] for place in few))) if few else None
            if answer is not None:
                drop = tuple(place + 1 for place in range(len(names)) if place not in few)
                known = np.expand_dims(_inner(answer), drop)
                margins.append((drop, np.maximum(known, TINY), ~_gone(answer, level)))
        for _ in range(ROUNDS):
            for drop, known, shown in margins:
                ratio = known / fitted.sum(axis=drop, keepdims=True)
                fitted[shown] *= ratio[shown]
        return fitted

    def supersets(self, level: str) -> list[_Table]:
        """The target's cells as totals of tables with one variable more."""
        found = []
        for variable in self.dataset.variables:
            if variable.name in self.dataset.geography or variable.name in self.target.variables:
                continue
            answer = self._ask(self._request(level, (*self.target.variables, variable.name)))
            if answer is not None:
                inner = np.moveaxis(answer.values, -1, 0)[-1][(slice(-1),) * (len(self.target.variables) + 1)]
                found.append(_Table(inner.astype(float), _gone(answer, level), self.target.variance))
        return found

    def interior(
        self, levels: _Levels, gone: Flags, parents: NDArray[np.int64], number: int
    ) -> tuple[Floats, Floats]:
        """What is left of the parents where their totals are sums of all cells."""
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
        parts = np.where(_wide(gone, cells[own]), 0, cells[own])
        lost = np.bincount(parents[gone], minlength=number)
        noise = np.where(missing[tops], np.inf, self.target.variance * lost)
        return cells[tops] - _added(parts, parents, number), noise

    def unions(
        self, levels: _Levels, above: _Level, own: _Table, parents: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """What is left of the parents when the parts shown are counted together, by a filter."""
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
        """The place of each area's parent; everything is the parent of the coarsest level."""
        size = len(self.dataset.variable(level))
        up = None if upper is None else ancestors(self.dataset, level, upper)
        return np.zeros(size, dtype=np.int64) if up is None else up

    def _people(self, level: str) -> Floats:
        """The released number of people of each area; where it is withheld, the next best that is public."""
        variable = self.dataset.variable(level)
        answer = self._ask(self._request(level, ()))
        if answer is None:
            return np.ones(len(variable))
        gone = _gone(answer, level)
        people: Floats = np.maximum(answer.values[:-1].astype(float), TINY)
        if gone.any():
            people[gone] = self._stand_ins(level, people, gone)
        return people

    def _stand_ins(self, level: str, people: Floats, gone: Flags) -> Floats:
        """For areas without a released number: counts of records, public figures of rules, the mean of the others."""
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
        """The answer, or None if there is none."""
        try:
            return self.notebook.ask(request)
        except (BadRequest, Refused):
            return None


def _pairs(size: int, number: int) -> list[tuple[int, int]]:
    """The pairs of one round of a tournament, in order: in size - 1 rounds everybody meets everybody.

    >>> _pairs(4, 0), _pairs(5, 1)
    ([(0, 3), (1, 2)], [(0, 1), (3, 4)])
    """
    even = size + size % 2
    wheel = [0, *((place + number) % (even - 1) + 1 for place in range(even - 1))]
    met = [tuple(sorted((wheel[place], wheel[-1 - place]))) for place in range(even // 2)]
    return sorted((a, b) for a, b in met if b < size)


def _find(places: dict[str, int], code: str, level: str | None) -> int:
    """Where a code stands; one that two levels share is led by its level's name."""
    return places[code] if code in places else places[f"{level}:{code}"]


def _inner(answer: Answer) -> Floats:
    """The numbers without totals; the areas stand first where there are some."""
    cells: Floats = answer.values[(slice(-1),) * answer.values.ndim].astype(float)
    return cells


def _lines(cells: Floats, level: str | None) -> Floats:
    """One line an area; without areas everything is one."""
    return cells[None] if level is None else cells


def _gone(answer: Answer, level: str | None) -> Flags:
    """Which areas are withheld: nothing of them is released."""
    if level is None:
        return np.zeros(1, dtype=np.bool_)
    return np.asarray(answer.missing[:-1].reshape(len(answer.codes[0]) - 1, -1).all(axis=1))


def _wide(line: NDArray[Any], like: Floats) -> NDArray[Any]:
    """One number an area, laid along the first axis of cells."""
    return line.reshape(-1, *(1,) * (like.ndim - 1))


def _added(cells: Floats, parents: NDArray[np.int64], number: int) -> Floats:
    """The sums over the parts of each parent."""
    sums = np.zeros((number, *cells.shape[1:]))
    np.add.at(sums, parents, cells)
    return sums
