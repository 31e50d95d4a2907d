"""Least variance for small counts: unbiased rows that keep (epsilon, delta), by linear programming.

    minimise V   subject to, for every count i with the probabilities p_i(y) of the released values y,
        sum p_i = 1,   sum (y - i) p_i(y) = 0,   sum (y - i)^2 p_i(y) <= V,
        sum over y of max(0, p_i(y) - e^epsilon p_(i+1)(y)) <= delta,   and the reverse

Released values are those of the small-count design of `maxent`: not negative, not in 1..js, within D of the count; zero
stays zero. Rows are made for the counts 0..D + js + 1, and the last, symmetric one serves all larger counts. The hockey
stick is convex and piecewise linear, so the programme is linear: no unbiased table of this support, each value with a
probability of at least 1e-7, keeps (epsilon, delta) with a smaller largest variance. Among the optimal tables the one of the
smallest sum of variances is taken. With `negative` one symmetric row on -D..D serves every count.

Delta is lowered beforehand by what quantisation can add, so that the integers keep it.

Source: asked by Sadeghi & Chien (2022), section VI (asymmetric support); Fraser & Wooton (2005) for the support; Ghosh,
Roughgarden & Sundararajan (2012) for mechanisms as linear programmes.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InfeasibleDesign
from discreet.noise.design import require_epsilon, require_width
from discreet.noise.family import EPSILON, Family, Parameter
from discreet.noise.ideal_distribution import IdealRow, IdealTable, row_from_weights
from discreet.noise.quantise import quantise, table_maker

LARGEST_D = 30
#: No value of the support is less likely than this: with every value at hand, whole keys can have mean zero.
LEAST_PROBABILITY = 1e-7
#: The solver's own tolerance, and what a second programme may lose of the first one's goal.
_SOLVER = 1e-7


@dataclass
class _Programme:
    """A linear programme over named variables, made row by row."""

    bounds: list[tuple[float, float | None]] = field(default_factory=list)
    equal: list[tuple[dict[int, float], float]] = field(default_factory=list)
    below: list[tuple[dict[int, float], float]] = field(default_factory=list)

    def variable(self, low: float = 0.0) -> int:
        self.bounds.append((low, None))
        return len(self.bounds) - 1

    def minimise(self, goal: dict[int, float]) -> NDArray[np.float64] | None:
        """The optimal values; None where there are none."""
        from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and no other design needs it
        from scipy.sparse import csr_array  # noqa: PLC0415

        def matrix(rows: list[tuple[dict[int, float], float]]) -> tuple[Any, list[float]]:
            places = [(n, k, x) for n, (row, _) in enumerate(rows) for k, x in row.items()]
            n, k, x = (list(each) for each in zip(*places, strict=True))
            return csr_array((x, (n, k)), shape=(len(rows), len(self.bounds))), [limit for _, limit in rows]

        cost = np.zeros(len(self.bounds))
        cost[list(goal)] = list(goal.values())
        (upper, limits), (same, levels) = matrix(self.below), matrix(self.equal)
        found = linprog(cost, upper, limits, same, levels, self.bounds, method="highs")
        return np.asarray(found.x, dtype=np.float64) if found.status == 0 else None


#: The released values of every row, with the variable of each probability.
_Rows = list[dict[int, int]]


def _tables(D: int, js: int, *, negative: bool) -> tuple[_Programme, _Rows]:
    """The variables of all rows and their sums and means; a symmetric row has one variable for +v and -v."""
    programme, rows = _Programme(), []
    last = 0 if negative else D + (js + 1 if js else 0)
    for i in range(last + 1):
        row: dict[int, int] = {}
        for y in range(i - D, i + D + 1):
            if not negative and (y < 0 or 0 < y <= js or (i == 0 and y > 0)):
                continue
            mirrored = 2 * i - y
            row[y] = row[mirrored] if i == last and mirrored in row else programme.variable(LEAST_PROBABILITY)
        rows.append(row)
        programme.equal += [(_weighted(row, lambda _y: 1.0), 1.0)]
        programme.equal += [(_weighted(row, lambda y, i=i: float(y - i)), 0.0)] if i not in (0, last) else []
    return programme, rows


def _weighted(row: dict[int, int], weight: Any) -> dict[int, float]:
    found: dict[int, float] = {}
    for y, variable in row.items():
        found[variable] = found.get(variable, 0.0) + weight(y)
    return found


def _bound_divergence(programme: _Programme, rows: _Rows, epsilon: float) -> list[dict[int, float]]:
    """For every pair of neighbours and both directions, the sum of the positive parts, each a variable."""
    shifted = {y + 1: variable for y, variable in rows[-1].items()}
    sums = []
    for fewer, more in zip(rows, [*rows[1:], shifted], strict=True):
        for p, q in ((fewer, more), (more, fewer)):
            positive: dict[int, float] = {}
            for y, variable in p.items():
                part = programme.variable()
                row = {variable: 1.0, part: -1.0}
                if y in q:
                    row[q[y]] = row.get(q[y], 0.0) - math.exp(epsilon)
                programme.below.append((row, 0.0))
                positive[part] = 1.0
            sums.append(positive)
    return sums


def least_delta(epsilon: float, D: int, js: int = 0, *, negative: bool = False) -> float:
    """The smallest delta that any unbiased table of the support has at an epsilon.

    >>> round(least_delta(1.0, 5, 2), 6)
    0.166667
    """
    programme, rows = _tables(D, js, negative=negative)
    sums = _bound_divergence(programme, rows, epsilon)
    worst = programme.variable()
    programme.below += [(each | {worst: -1.0}, 0.0) for each in sums]
    found = programme.minimise({worst: 1.0})
    if found is None:
        raise InfeasibleDesign(f"D = {D}, js = {js}: no unbiased noise has this support.", "Take a larger D.")
    return float(found[worst])


def ideal_least_variance(
    epsilon: float,
    delta: float,
    *,
    D: int,
    js: int = 0,
    negative: bool = False,
    modulus: int = 2**32,
) -> IdealTable:
    """The table of the least largest variance.

    Args:
        epsilon: Privacy loss of one cell.
        delta: The largest delta at that epsilon, both directions, all counts.
        D: Largest change.
        js: No released count is 1..js.
        negative: Counts may become negative, zeros are perturbed: one row for every count.
        modulus: The number of keys, for what quantisation adds to delta.

    Raises:
        InfeasibleDesign: No table keeps delta; the least one is named.
    """
    require_epsilon(epsilon)
    require_width("D", D)
    if D > LARGEST_D or not 0 <= js < D or not 0 <= delta < 1 or (negative and js):
        raise InfeasibleDesign(
            f"D = {D}, js = {js}, delta = {delta}.",
            f"Take D up to {LARGEST_D}, js below D (0 with negative counts), and a delta from 0 to 1.",
        )
    # Each mass moves by a step of 2^-30 and a key, and the solver is exact to its tolerance.
    added = (2 * D + 2) * (1 + math.exp(epsilon)) * (1 / modulus + 2**-30) + _SOLVER * (2 * D + 2)
    programme, rows = _tables(D, js, negative=negative)
    sums = _bound_divergence(programme, rows, epsilon)
    programme.below += [(each, delta - added) for each in sums]
    largest = programme.variable()
    variances = [_weighted(row, lambda y, i=i: float((y - i) ** 2)) for i, row in enumerate(rows)]
    programme.below += [(each | {largest: -1.0}, 0.0) for each in variances]
    first = programme.minimise({largest: 1.0}) if delta > added else None
    if first is None:
        raise InfeasibleDesign(
            f"No unbiased noise with D = {D} and js = {js} is ({epsilon:g}, {delta:g})-differentially private.",
            f"The least delta is {least_delta(epsilon, D, js, negative=negative):.6g}, and a little more for the "
            "rounding to keys; a larger D lowers it.",
        )
    programme.bounds[largest] = (0.0, float(first[largest]) * (1 + _SOLVER) + _SOLVER)
    every: dict[int, float] = {}
    for each in variances:
        for variable, weight in each.items():
            every[variable] = every.get(variable, 0.0) + weight
    found = programme.minimise(every)
    found = first if found is None else found
    parameters = {"epsilon": epsilon, "delta": delta, "D": D, "js": js} | (
        {"negative": True} if negative else {}
    )
    ideal = tuple(_row(i, row, found) for i, row in enumerate(rows))
    return IdealTable(ideal, 1, "least-variance", parameters | {"V": float(first[largest])})


def _row(count: int, row: dict[int, int], found: NDArray[np.float64]) -> IdealRow:
    """The probabilities in steps of 2^-30, with mean zero: digits beyond are those of the solver."""
    shown = [max(float(found[variable]), LEAST_PROBABILITY) for variable in row.values()]
    floats = IdealRow(tuple(y - count for y in row), tuple(p / math.fsum(shown) for p in shown))
    steps = quantise(IdealTable((floats,)), 2**30).rows[0]
    return row_from_weights(steps.values, steps.masses())


least_variance = table_maker("least_variance", ideal_least_variance)

FAMILY = Family(
    "least-variance",
    "Unbiased small counts of the least variance at (epsilon, delta), by linear programming.",
    (
        EPSILON,
        Parameter("delta", "the probability that the epsilon may fail", required=True),
        Parameter("D", "largest change", int, required=True),
        Parameter("js", "no released count is 1..js", int),
        Parameter("negative", "counts may become negative, one row for all", bool),
    ),
    ideal_least_variance,
    page="methods/least-variance.md",
    make=least_variance,
    place=95,
    cut_by_keys=True,
    colour="#1B9E77",
)
