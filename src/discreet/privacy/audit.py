"""The exact audit: what the integers of a noise table promise, whoever designed them.

    delta(epsilon) = max over neighbouring counts a, a + 1 and both directions of
                     sum over outputs y of max(0, P_a(y) - e^epsilon P_(a+1)(y))

The claim is about one counting query under the stated neighbours. It is said twice: for all counts, and for
counts above D (the largest change), because a table that keeps zeros or avoids small counts has a large
delta at the smallest counts by design. Nothing is sampled and no float decides.

Source: Sadeghi & Chien (2022), section III-B; Rinott et al. (2018), section 4, eq. 4.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from discreet.errors import BadRequest
from discreet.model.one_line import one_line
from discreet.privacy.composition import compose
from discreet.privacy.e_to_epsilon import Exponential
from discreet.privacy.frontier import Frontier, Pair, frontiers, profiles
from discreet.privacy.moments import RowMoments, table_moments
from discreet.privacy.problems import find_notes, find_problems

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from discreet.noise.table import NoiseTable

Neighbours = Literal["add-remove", "replace-one"]
DEFAULT_EPSILON = 1.0


class CurvePoint(NamedTuple):
    """One point of the delta-epsilon curve."""

    epsilon: float
    delta: Fraction
    delta_forward: Fraction
    delta_backward: Fraction
    worst_pair: Pair | None

    def __repr__(self) -> str:
        return one_line(self, f"epsilon {self.epsilon:.4g}, delta {float(self.delta):.4g}")


class AboveD(NamedTuple):
    """The same promise for counts above D, the largest change that the table can make."""

    D: int
    epsilon: float
    delta: Fraction
    delta_forward: Fraction
    delta_backward: Fraction
    worst_pair: Pair | None


class _Change(NamedTuple):
    neighbours: str
    cells: int
    group: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What a noise table promises at one epsilon, and what it does to a count.

    `bias`, `variance`, `entropy`, `p_exact` and `support` describe the last row, which serves large counts;
    `rows` has them for every count. `delta_probabilistic` is the delta of Rinott 4.5, for one
    count and one person, never below `delta`.
    """

    neighbours: str
    cells: int
    group: int
    epsilon: float
    delta: Fraction
    delta_forward: Fraction
    delta_backward: Fraction
    worst_pair: Pair | None
    exact: bool
    above_D: AboveD  # noqa: N815  D is the papers' own name
    delta_probabilistic: Fraction | None
    delta_infinite: Fraction
    bias: Fraction
    variance: Fraction
    entropy: float
    p_exact: Fraction
    row_sums_ok: bool
    support: tuple[int, ...]
    rows: tuple[RowMoments, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return one_line(self, f"{self.neighbours}: epsilon {self.epsilon:.4g}, delta {float(self.delta):.4g}")


def delta(
    table: NoiseTable,
    *,
    epsilon: float | Fraction | Decimal,
    neighbours: str = "add-remove",
    cells: int = 1,
    group: int = 1,
) -> Fraction:
    """The smallest delta for which the table is (epsilon, delta)-DP; errs upward by less than 1e-30 of it.

    Args:
        table: Any noise table.
        epsilon: From 0 to infinity.
        neighbours: "add-remove" changes a person's cells by one; "replace-one" lowers as many others too.
        cells: In how many overlapping cells a person is counted.
        group: How many people may come or go together in a cell.

    >>> from discreet.noise.table import NoiseRow, NoiseTable
    >>> delta(NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),)), epsilon=math.inf)
    Fraction(1, 4)
    """
    exponential = Exponential.of(epsilon)
    both, _ = _both(table, neighbours, cells, group)
    return max(each.delta(exponential)[0] for each in both)


def epsilon(
    table: NoiseTable,
    *,
    delta: float | Fraction,
    neighbours: str = "add-remove",
    cells: int = 1,
    group: int = 1,
) -> float:
    """The smallest epsilon with delta(epsilon) <= delta; errs upward by one float, inf where there is none.

    >>> from discreet.noise.table import NoiseRow, NoiseTable
    >>> table = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
    >>> epsilon(table, delta=0.25) >= math.log(2), epsilon(table, delta=0.2)
    (True, inf)
    """
    both, _ = _both(table, neighbours, cells, group)
    return max(each.epsilon(_allowed(delta)) for each in both)


def curve(
    table: NoiseTable,
    epsilons: Iterable[float],
    *,
    neighbours: str = "add-remove",
    cells: int = 1,
    group: int = 1,
) -> list[CurvePoint]:
    """Delta at each epsilon, both directions and the worst pair of counts; the outputs are sorted once."""
    both, _ = _both(table, neighbours, cells, group)
    labelled = _single(neighbours, cells, group)
    return [_point(each, both, labelled=labelled) for each in epsilons]


def probabilistic_delta(table: NoiseTable, *, epsilon: float | Fraction | Decimal) -> Fraction:
    """The smallest delta of (epsilon, delta)-probabilistic DP: P of the outputs of a ratio above e^epsilon.

    It is never below `delta`, and equals it where only unmatched support contributes.
    """
    exponential = Exponential.of(epsilon)
    return max(profile.probability_outside(exponential) for way in profiles(table) for _, profile in way)


def group_bound(delta: Fraction, *, epsilon: float, group: int) -> float:
    """The generic bound for groups of k: at k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1).

    The exact value, `delta(table, epsilon=k * epsilon, group=k)`, is never larger for one count.
    """
    if epsilon == 0:
        return float(delta * group)
    try:
        return float(delta) * math.expm1(group * epsilon) / math.expm1(epsilon)
    except OverflowError:
        return math.inf if delta else 0.0


def audit(
    table: NoiseTable,
    *,
    epsilon: float | None = None,
    delta: float | Fraction | None = None,
    population: int | None = None,
    neighbours: str = "add-remove",
    cells: int = 1,
    group: int = 1,
) -> Audit:
    """Everything that a noise table promises at an epsilon, or at the epsilon that a delta asks for.

    Args:
        table: Any noise table, imported ones included.
        epsilon: The epsilon at which delta is stated; by default that of the design, or 1.
        delta: In place of epsilon: the smallest epsilon with at most this delta is used.
        population: The number of people; a delta above one in that number is a problem.
        neighbours: "add-remove" or "replace-one".
        cells: In how many overlapping cells a person is counted.
        group: How many people may come or go together.

    Raises:
        BadRequest: If both epsilon and delta are given, or one lies outside its range.
    """
    change = _Change(neighbours, cells, group)
    both, exact = _both(table, *change)
    at = _epsilon_at(table, both, epsilon, delta)
    point = _point(at, both, labelled=_single(*change))
    rows = table_moments(table)
    above = _above(table, at, delta, change)
    return Audit(
        neighbours=neighbours,
        cells=cells,
        group=group,
        epsilon=at,
        delta=point.delta,
        delta_forward=point.delta_forward,
        delta_backward=point.delta_backward,
        worst_pair=point.worst_pair,
        exact=exact,
        above_D=above,
        delta_probabilistic=probabilistic_delta(table, epsilon=at) if _one_person(change) else None,
        delta_infinite=max(each.delta(Exponential.of(math.inf))[0] for each in both),
        bias=rows[-1].bias,
        variance=rows[-1].variance,
        entropy=rows[-1].entropy,
        p_exact=rows[-1].p_exact,
        row_sums_ok=all(row.modulus == table.modulus for row in table.rows),
        support=rows[-1].support,
        rows=rows,
        notes=find_notes(table, rows),
        problems=find_problems(rows, point.delta, epsilon=at, asked=delta, population=population),
    )


def _above(table: NoiseTable, at: float, delta: float | Fraction | None, change: _Change) -> AboveD:
    """The promise for counts above D; where a delta was asked for, at the epsilon that these counts need."""
    first = table.largest + 1
    both, _ = _both(table, *change, first=first)
    if delta is not None:
        at = max(each.epsilon(_allowed(delta)) for each in both)
    point = _point(at, both, labelled=_single(*change))
    return AboveD(table.largest, at, point.delta, point.delta_forward, point.delta_backward, point.worst_pair)


def curve_above_largest(table: NoiseTable, epsilons: Iterable[float]) -> list[CurvePoint]:
    """The delta-epsilon curve of counts above D only."""
    both = frontiers(table, table.largest + 1)
    return [_point(each, both, labelled=True) for each in epsilons]


def _point(epsilon: float, both: tuple[Frontier, Frontier], *, labelled: bool) -> CurvePoint:
    exponential = Exponential.of(epsilon)
    (forward, pair), (backward, reverse) = (each.delta(exponential) for each in both)
    worst = pair if forward >= backward else reverse
    return CurvePoint(float(epsilon), max(forward, backward), forward, backward, worst if labelled else None)


def _both(
    table: NoiseTable, neighbours: str, cells: int, group: int, first: int = 0
) -> tuple[tuple[Frontier, Frontier], bool]:
    if neighbours not in get_args(Neighbours):
        raise BadRequest(f'Neighbours are "{neighbours}".', 'Say "add-remove" or "replace-one".')
    if cells < 1 or group < 1:
        raise BadRequest(f"{cells} cells and groups of {group}: both must be at least 1.")
    if neighbours == "add-remove" and cells == 1:
        return frontiers(table, first, group), True
    back = cells if neighbours == "replace-one" else 0
    joint = compose(table, forward=cells, backward=back, first=first, group=group)
    return (joint.forward, joint.backward), joint.exact


def _single(neighbours: str, cells: int, group: int) -> bool:  # noqa: ARG001  a change as it comes
    """Whether one count changes, so that a worst pair of counts has a meaning."""
    return neighbours == "add-remove" and cells == 1


def _one_person(change: _Change) -> bool:
    """Whether the change is one count and one person: what probabilistic DP is computed for."""
    return change == _Change("add-remove", 1, 1)


def _allowed(delta: float | Fraction) -> Fraction:
    if not 0 <= delta <= 1:
        raise BadRequest(f"Delta is {delta}; it is a probability.", "Give a number from 0 to 1.")
    return Fraction(delta)


def _epsilon_at(
    table: NoiseTable,
    both: tuple[Frontier, Frontier],
    epsilon: float | None,
    delta: float | Fraction | None,
) -> float:
    if epsilon is not None and delta is not None:
        raise BadRequest("Both epsilon and delta are given.", "Give one; the audit computes the other.")
    if delta is not None:
        return max(each.epsilon(_allowed(delta)) for each in both)
    if epsilon is not None:
        return epsilon
    designed = table.parameters.get("epsilon")
    return float(designed) if isinstance(designed, int | float) else DEFAULT_EPSILON
