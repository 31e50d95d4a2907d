"""Counts from weights: combine count, weighted count and sampling error of the same cells.

Tables of both measures are queried. The same cell in two tables is one unknown. The attack uses, in this order:

    quotients            the released pair gives the true weighted count W for each possible count n (`Reader`)
    known totals         calibrated surveys add up to published populations: W is known
    common denominators  people of one weighting class have one weight w: n w = W in all its cells, so w divides them
                         all, unless it is known anyway; then n = W / w must be whole
    addition             parts add up to totals in counts and in weights, over all tables (`message_passing`)
    errors               evidence of errors and noise shares about counts, which the caller knows

With ñ the released count, R the released weighted count (rounded to whole people) and w̄ the average weight:

    cell-average                R = ñ W/n            W = n R/ñ: the quotient is the exact mean weight
    overall-average             R = W + (ñ - n) w̄    W = R - (ñ - n) w̄
    largest-weight-with-counts  R = g (t + ñ - n)    W = R - (ñ - n) g, to half a step g either side
    any other form              a function of noisy counts and public weights: 0 < W < n times the largest weight

`largest-weight` as served releases noisy steps and no count: P(R | n) is that of the noise on round(W/g) steps, with W
between n times the smallest and n times the largest weight.

Source: docs/methods/attack-weights.md, docs/methods/survey-weights.md; Shlomo, Krenzke & Li (2019), eqs 3-5.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import Interface, QueryCache
from discreet.attacks.message_passing import Line, Unknown, believe, strike_out
from discreet.model.request import TableRequest
from discreet.model.survey import Survey
from discreet.model.variable import TOTAL
from discreet.noise.table import NoiseTable

CELL_AVERAGE, OVERALL_AVERAGE = "cell-average", "overall-average"
SHARED_STEPS, STEPS = "largest-weight-with-counts", "largest-weight"
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Rounding to whole people, and to the last decimal of a weight before it.
HALF = 0.501


@dataclass(frozen=True, eq=False)
class Reader:
    """Public knowledge about a form of weighted counts: its name, the survey's constants and the noise table."""

    form: str
    survey: Survey
    distribution: NoiseTable

    @property
    def average(self) -> float:
        """The average weight, N/n."""
        return float(self.survey.population_size / self.survey.sample_size)

    @property
    def step(self) -> float:
        """The largest weight: the step of `largest-weight`."""
        return float(self.survey.largest_weight)

    def by_counts(self, shown: int) -> Unknown:
        """A cell of which only the released count is known."""
        counts, likelihood = possible_counts(self.distribution, shown)
        return Unknown(counts, likelihood, np.zeros(counts.size), counts.astype(np.float64) * self.step)

    def read(self, shown: int, weighted: int) -> Unknown:
        """A cell of which the released count and weighted count are known."""
        cell = self.by_counts(shown)
        interval = self._interval(cell.counts, shown, weighted)
        if interval is not None:
            cell.low, cell.high = interval
            cell.strike((cell.high >= 0) & (cell.low <= cell.counts * self.step + HALF))

            def fits(counts: Counts, low: Floats, high: Floats) -> Floats:
                """For a total: whether the weight of the parts lies in the interval of the release."""
                ends = self._interval(counts, shown, weighted) or (low, high)
                return np.asarray(((low <= ends[1]) & (high >= ends[0])).astype(float))

            cell.fits = fits
        return cell

    def read_steps(self, weighted: int, least: float, most: float) -> Unknown:
        """A cell of which only the noisy weighted count is known; weights lie between two values."""
        shown = round(weighted / self.step)
        steps, likelihood = possible_counts(self.distribution, shown)
        top = int(np.ceil((steps[-1] + 1) * self.step / least))
        counts = np.arange(int(max(0, (steps[0] - 1) * self.step / most)), top + 1)
        low, high = (counts.astype(np.float64) * weight for weight in (least, most))

        def fits(_counts: Counts, low: Floats, high: Floats) -> Floats:
            return _mean_between(likelihood, int(steps[0]), low / self.step, high / self.step)

        return Unknown(counts, fits(counts, low, high), low, high, fits)

    def _interval(self, counts: Counts, shown: int, weighted: int) -> tuple[Floats, Floats] | None:
        """The smallest and largest weighted count for each count; None where nothing is known."""
        forms = {OVERALL_AVERAGE: (self.average, HALF), SHARED_STEPS: (self.step, self.step / 2 + HALF)}
        if shown <= 0 or weighted <= 0:
            return None
        people = counts.astype(np.float64)
        if self.form == CELL_AVERAGE:
            return people * ((weighted - HALF) / shown), people * ((weighted + HALF) / shown)
        if self.form not in forms:
            return None
        weight, slack = forms[self.form]
        middle = weighted - (shown - people) * weight
        return middle - slack, middle + slack


def _mean_between(likelihood: Floats, start: int, low: Floats, high: Floats) -> Floats:
    """The mean likelihood of the whole steps between two bounds; `likelihood` begins at `start`."""
    below = np.concatenate([[0.0], np.cumsum(likelihood)])
    first, last = (np.floor(each + 0.5).astype(np.int64) - start for each in (low, high))
    at = [np.clip(each, 0, likelihood.size) for each in (first, last + 1)]
    return np.asarray((below[at[1]] - below[at[0]]) / (last - first + 1))


@lru_cache(maxsize=4096)
def possible_counts(distribution: NoiseTable, shown: int) -> tuple[Counts, Floats]:
    """The counts that may have become a released one, as a range, with their probability. Negative numbers become zero."""
    counts = np.arange(max(0, shown - distribution.largest), shown + distribution.largest + 1)
    likelihood = np.array(
        [
            float(sum(p for z, p in distribution.row(n).probabilities().items() if max(0, n + z) == shown))
            for n in counts.tolist()
        ]
    )
    used = np.flatnonzero(likelihood)
    inside = slice(int(used[0]), int(used[-1]) + 1)
    return counts[inside], likelihood[inside]


#: Who is counted: the code of each variable that is not a total.
Cell = frozenset[tuple[str, str]]
Class = tuple[str, ...]
#: How believable each count of a cell is by its errors.
ErrorEvidence = Callable[[Cell, "ReleasedCell", Counts], Floats]

COUNT, WEIGHTED = "count", "weighted"
#: A weight of a class may be off by this: weights are rounded to decimals.
_WEIGHT_ROUNDING = 0.001
#: Calibrated weights add up to their populations to one in a million.
_CALIBRATION = 1e-6


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """Public facts about a survey in addition to its tables.

    Args:
        classes: The weighting variables, and the group of each of their codes: people of the same groups have one weight.
        totals: The populations that the weights were calibrated to.
        weights: The weight of each class where it is known; empty where it is not.
    """

    classes: Mapping[str, Mapping[str, str]]
    totals: Mapping[Cell, float]
    counts: Mapping[Cell, int]
    weights: Mapping[Class, float] = field(default_factory=dict)
    least: float = 1.0

    def bounds(self, cell: Cell, most: float) -> tuple[float, float]:
        """The smallest and largest weight of a person in a cell; `most` where weights are not known."""
        codes = dict(cell)
        wanted = [groups.get(codes.get(name, "")) for name, groups in self.classes.items()]
        weights = [
            weight
            for group, weight in self.weights.items()
            if all(want in {None, own} for want, own in zip(wanted, group, strict=True))
        ] or [self.least, most]
        return min(weights) - _WEIGHT_ROUNDING, max(weights) + _WEIGHT_ROUNDING

    def class_of(self, cell: Cell) -> Class | None:
        """The weighting class of the people in a cell; None where there are several."""
        codes = dict(cell)
        if not self.classes or not set(self.classes) <= set(codes):
            return None
        return tuple(groups[codes[name]] for name, groups in self.classes.items())


@dataclass(frozen=True, slots=True)
class ReleasedCell:
    """The released numbers of one cell; None where not queried."""

    count: int | None = None
    weighted: int | None = None
    error: int | None = None
    noise_share: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The estimate of each cell."""

    cells: tuple[Cell, ...]
    guesses: Counts
    certain: NDArray[np.bool_]
    queries: int


def attack(
    interface: Interface,
    reader: Reader,
    tables: Sequence[TableRequest],
    outside: PublicFacts,
    measures: Sequence[str] = (COUNT, WEIGHTED),
    errors: ErrorEvidence | None = None,
) -> Findings:
    """Query some tables in some measures, and estimate the counts."""
    cache = QueryCache(interface)
    seen, frames = query_tables(cache, tables, measures)
    unknowns = {cell: _unknown_count(reader, outside, cell, each) for cell, each in seen.items()}
    if errors is not None:
        for cell, unknown in unknowns.items():
            unknown.likelihood = unknown.likelihood * errors(cell, seen[cell], unknown.counts)
    _apply_class_weights(reader, outside, unknowns)
    sums = dict.fromkeys(line for frame in frames for line in _lines(frame))
    lines = [Line(unknowns[total], [unknowns[part] for part in parts]) for total, parts in sums]
    strike_out(lines)
    pairs = zip(unknowns.values(), believe(list(unknowns.values()), lines), strict=True)
    guesses = np.array([unknown.counts[int(np.argmax(belief))] for unknown, belief in pairs])
    certain = np.array([unknown.certain for unknown in unknowns.values()])
    return Findings(tuple(unknowns), guesses, certain, cache.queries)


def query_tables(
    cache: QueryCache, tables: Sequence[TableRequest], measures: Sequence[str]
) -> tuple[dict[Cell, ReleasedCell], list[NDArray[Any]]]:
    """Query tables in all measures: the released numbers of each cell, and the cells of each table in their places."""
    seen: dict[Cell, ReleasedCell] = {}
    frames = []
    for table in tables:
        for measure in measures:
            answer = cache.ask(replace(table, measure=measure))
            frame = _frame(table, answer.codes)
            released = (
                {"count": answer.values}
                if measure == COUNT
                else {"weighted": answer.values, "error": answer.errors, "noise_share": answer.noise_shares}
            )
            for place in zip(*np.nonzero(~answer.missing), strict=True):
                cell: Cell = frame[place]
                numbers = {name: int(each[place]) for name, each in released.items() if each is not None}
                seen[cell] = replace(seen.get(cell, ReleasedCell()), **numbers)
        frames.append(frame)
    return seen, frames


def _frame(table: TableRequest, codes: tuple[tuple[str, ...], ...]) -> NDArray[Any]:
    """The cell at each place of a table, filters of one code included."""
    fixed = [(name, chosen[0]) for name, chosen in table.filters if len(chosen) == 1]
    frame = np.empty(tuple(map(len, codes)), dtype=np.object_)
    for place in np.ndindex(*frame.shape):
        here = [(name, axis[at]) for name, axis, at in zip(table.variables, codes, place, strict=True)]
        frame[place] = frozenset(fixed + [(name, code) for name, code in here if code != TOTAL])
    return frame


def _lines(frame: NDArray[Any]) -> Iterator[tuple[Cell, tuple[Cell, ...]]]:
    """Each total of a table with its parts: totals are last."""
    for axis in range(frame.ndim):
        for line in np.moveaxis(frame, axis, -1).reshape(-1, frame.shape[axis]):
            yield line[-1], tuple(line[:-1])


def _unknown_count(reader: Reader, outside: PublicFacts, cell: Cell, seen: ReleasedCell) -> Unknown:
    if seen.count is None:
        unknown = reader.read_steps(seen.weighted or 0, *outside.bounds(cell, reader.step))
    elif seen.weighted is None:
        unknown = reader.by_counts(seen.count)
    else:
        unknown = reader.read(seen.count, seen.weighted)
    if cell in outside.counts:
        unknown.strike(unknown.counts == outside.counts[cell])
    if seen.weighted is not None and cell in outside.totals:
        # Keep the counts that agree with the known weighted count; a noisy one has no further information.
        weight = outside.totals[cell]
        slack = 1 + weight * _CALIBRATION
        possible = (unknown.low <= weight + slack) & (unknown.high >= weight - slack)
        if reader.form == STEPS:
            unknown.likelihood, unknown.fits = possible.astype(float), None
        elif unknown.fits is not None:
            unknown.strike(possible)
            unknown.low = np.full(unknown.counts.size, weight - slack)
            unknown.high = np.full(unknown.counts.size, weight + slack)
    return unknown


def _apply_class_weights(reader: Reader, outside: PublicFacts, unknowns: Mapping[Cell, Unknown]) -> None:
    """Find the weight of each class, or take it as known, and rule out counts that are no multiple of it."""
    classes: dict[Class, list[Unknown]] = defaultdict(list)
    for cell, unknown in unknowns.items():
        group = outside.class_of(cell)
        if group is not None and unknown.fits is not None and reader.form != STEPS:
            classes[group].append(unknown)
    for group, cells in classes.items():
        weight = outside.weights.get(group)
        known = None if weight is None else [(weight - _WEIGHT_ROUNDING, weight + _WEIGHT_ROUNDING)]
        weights = known or common_weights(cells)
        for unknown in cells if weights else ():
            each = np.maximum(unknown.counts, 1)
            low, high = unknown.low / each, unknown.high / each
            met = [(low <= b + _WEIGHT_ROUNDING) & (high >= a - _WEIGHT_ROUNDING) for a, b in weights]
            unknown.strike(np.any(met, axis=0) | (unknown.counts == 0))
            least, most = min(a for a, _ in weights), max(b for _, b in weights)
            unknown.low = np.maximum(unknown.low, unknown.counts * (least - _WEIGHT_ROUNDING))
            unknown.high = np.minimum(unknown.high, unknown.counts * (most + _WEIGHT_ROUNDING))


def common_weights(cells: Sequence[Unknown]) -> list[tuple[float, float]]:
    """The possible weights of one person, as intervals, if all people of these cells have the same weight."""
    found = [(0.0, float("inf"))]
    slack = _WEIGHT_ROUNDING
    for cell in sorted(cells, key=lambda each: -each.counts[-1]):
        at = np.flatnonzero((cell.likelihood > 0) & (cell.counts > 0))
        lows, highs = (ends[at] / cell.counts[at] for ends in (cell.low, cell.high))
        # The weight of one person, for each possible count; each interval once.
        each = sorted(
            set(zip((lows - slack).round(9).tolist(), (highs + slack).round(9).tolist(), strict=True))
        )
        both = ((max(low, a), min(high, b)) for low, high in found for a, b in each)
        found = [(low, high) for low, high in both if low <= high]
    return found
