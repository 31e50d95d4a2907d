"""What a noise row does on average: bias, variance, entropy, the chance of an exact value, support.

    bias = sum v p(v),  variance = sum v^2 p(v) - bias^2,  entropy = -sum p ln p (nats),  P(exact) = p(0)

Bias, variance and P(exact) are fractions; entropy is a float, being a sum of logarithms.

Source: Fraser & Wooton (2005); Rinott et al. (2018), section 5.

What a custodian should know before using a noise table: one sentence a problem, rows named.

Source: Rinott et al. (2018), sections 4.3-4.5 (zeros, negative counts, delta against 1/N).

The exact audit: what the integers of a noise table promise, whoever designed them.

    delta(epsilon) = max over neighbouring counts a, a + 1 and both directions of
                     sum over outputs y of max(0, P_a(y) - e^epsilon P_(a+1)(y))

The claim is about one counting query under the stated neighbours. It is said twice: for all counts, and for
counts above D (the largest change), because a table that keeps zeros or avoids small counts has a large
delta at the smallest counts by design. Nothing is sampled and no float decides.

Source: Sadeghi & Chien (2022), section III-B; Rinott et al. (2018), section 4, eq. 4.5.

The exact audit as a document: what `discreet audit --json` prints and a dataset's methodology holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from discreet.errors import BadRequest
from discreet.model.messages.text import one_line
from discreet.noise.files.document import plain
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.composition import compose
from discreet.privacy.hockey_stick import Exponential, Frontier, Pair, frontiers, profiles


@dataclass(frozen=True, slots=True)
class RowMoments:
    """The moments of the row of one count."""

    count: int
    bias: Fraction
    variance: Fraction
    entropy: float
    p_exact: Fraction
    support: tuple[int, ...]

    def __repr__(self) -> str:
        return one_line(
            self,
            f"of the count {self.count}: bias {float(self.bias):.4g}, variance {float(self.variance):.4g}",
        )


def row_moments(row: NoiseRow, count: int) -> RowMoments:
    """The moments of one row.

    >>> from discreet.noise.table import NoiseRow
    >>> row_moments(NoiseRow((-1, 0, 1), (1, 3, 4)), 5).variance
    Fraction(1, 2)
    """
    law = row.probabilities()
    entropy = math.fsum(-float(p) * math.log(p) for p in law.values())
    p_exact = law.get(0, Fraction(0))
    return RowMoments(count, row.mean(), row.variance(), abs(entropy), p_exact, row.values)


def table_moments(table: NoiseTable) -> tuple[RowMoments, ...]:
    """The moments of every row; the last row's describe large counts."""
    return tuple(row_moments(row, count) for count, row in enumerate(table.rows))


NAMED_ROWS = 8
LARGEST_SEARCH = 100_000
#: A table rounded to its modulus is off by less than this; a designed bias is larger.
BIAS_WORTH_SAYING = 1e-6


def find_problems(
    rows: Sequence[RowMoments],
    delta: Fraction,
    *,
    epsilon: float,
    asked: float | Fraction | None,
    population: int | None,
) -> tuple[str, ...]:
    """All that is worth a warning; an empty tuple means nothing was found."""
    found = [
        _no_epsilon(delta, epsilon, asked),
        _above_one_in_population(delta, epsilon, population),
        _bias(rows),
        _no_noise(rows),
    ]
    return tuple(sentence for sentence in found if sentence)


def find_notes(table: NoiseTable, rows: Sequence[RowMoments]) -> tuple[str, ...]:
    """What a reader of the numbers should know, though it is meant to be so."""
    return tuple(sentence for sentence in (_zeros(rows[0], rows), _negative(table)) if sentence)


def _no_epsilon(delta: Fraction, epsilon: float, asked: float | Fraction | None) -> str:
    if asked is None or math.isfinite(epsilon):
        return ""
    return (
        f"No epsilon reaches delta {float(asked):.6g}: outputs that one of two neighbouring counts can never "
        f"make have probability {float(delta):.6g}."
    )


def _above_one_in_population(delta: Fraction, epsilon: float, population: int | None) -> str:
    if population is None or delta * population <= 1:
        return ""
    return (
        f"Delta is {float(delta):.3g} at epsilon {epsilon:.6g}, above 1/N for N = {population}: "
        "the promise allows that someone's presence is revealed outright."
    )


def _zeros(zero: RowMoments, rows: Sequence[RowMoments]) -> str:
    if zero.support != (0,) or all(row.support == (0,) for row in rows):
        return ""
    return "Zero stays zero: any other released value proves that the true count is not zero."


def _bias(rows: Sequence[RowMoments]) -> str:
    biased = [row for row in rows if abs(row.bias) > BIAS_WORTH_SAYING]
    if not biased:
        return ""
    worst = max(biased, key=lambda row: abs(row.bias))
    return (
        f"The mean is not zero for {_count_list(biased, rows)}; the largest bias is {float(worst.bias):.6g}, "
        f"at count {worst.count}."
    )


def _no_noise(rows: Sequence[RowMoments]) -> str:
    """Zero has a sentence of its own, unless nothing at all is perturbed."""
    fixed = [row for row in rows if row.support == (0,) and (row.count > 0 or len(rows) == 1)]
    return f"No noise at all for {_count_list(fixed, rows)}: released as counted." if fixed else ""


def _negative(table: NoiseTable) -> str:
    """No count of `largest` or more can: the search stops there."""
    below = next(
        (c for c in reversed(range(min(table.largest, LARGEST_SEARCH))) if c + table.row(c).values[0] < 0),
        None,
    )
    if below is None:
        return ""
    return f"Counts up to {below} can become negative; clipping them at zero adds bias, never protection."


def _count_list(some: Sequence[RowMoments], rows: Sequence[RowMoments]) -> str:
    """Counts in words; the last row is named with all the larger counts that it serves."""
    if len(some) == len(rows):
        return "every count"
    names = [f"{row.count} and above" if row is rows[-1] else str(row.count) for row in some]
    shown = ", ".join(names[:NAMED_ROWS])
    more = f" and {len(names) - NAMED_ROWS} more" if len(names) > NAMED_ROWS else ""
    return f"count{'s' if len(names) > 1 else ''} {shown}{more}"


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
    return max(each.epsilon(_probability(delta)) for each in both)


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
        at = max(each.epsilon(_probability(delta)) for each in both)
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


def _probability(delta: float | Fraction) -> Fraction:
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
        return max(each.epsilon(_probability(delta)) for each in both)
    if epsilon is not None:
        return epsilon
    designed = table.parameters.get("epsilon")
    return float(designed) if isinstance(designed, int | float) else DEFAULT_EPSILON


CURVE_STEPS = 40


def audit_document(result: Audit) -> dict[str, Any]:
    """The audit as JSON: probabilities as floats, an epsilon that does not exist as null."""
    above = result.above_D
    document: dict[str, Any] = plain(
        {
            "neighbours": result.neighbours,
            "epsilon": result.epsilon,
            "delta": result.delta,
            "delta_forward": result.delta_forward,
            "delta_backward": result.delta_backward,
            "worst_pair": result.worst_pair,
            "above_D": above._asdict(),
            "bias": result.bias,
            "variance": result.variance,
            "entropy": result.entropy,
            "p_exact": result.p_exact,
            "row_sums_ok": result.row_sums_ok,
            "support": result.support,
            "cells": result.cells,
            "group": result.group,
            "exact": result.exact,
            "delta_probabilistic": result.delta_probabilistic,
            "delta_infinite": result.delta_infinite,
            "delta_exact": exact_text(result),
            "problems": result.problems,
            "notes": result.notes,
        }
    )
    return document


def exact_text(result: Audit) -> str | None:
    """Delta as a fraction of whole numbers where it is one of moderate size."""
    return str(result.delta) if result.delta.denominator <= 2**64 else None


def curve_document(table: NoiseTable, result: Audit) -> list[dict[str, Any]]:
    """Delta over epsilons from 0 to where the table can do no better."""
    names: dict[str, Any] = {"neighbours": result.neighbours, "cells": result.cells, "group": result.group}
    flat = epsilon(table, delta=result.delta_infinite, **names)
    end = max(1.0, 1.1 * flat)
    epsilons = [end * step / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    points = curve(table, epsilons, **names)
    return [plain(point._asdict()) for point in points]
