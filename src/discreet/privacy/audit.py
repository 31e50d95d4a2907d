"""The exact audit: the guarantee of a noise table, computed from its integers, whatever designed them.

    delta(epsilon) = max over neighbouring counts a, a + 1 and both directions of
                     sum over outputs y of max(0, P_a(y) - e^epsilon P_(a+1)(y))

It is stated for all counts, and for counts above D (the largest change), because a table that keeps zeros or avoids small
counts has a large delta at the smallest counts by design. Nothing is sampled and no float decides. The audit also has the
moments of every row,

    bias = sum v p(v),  variance = sum v^2 p(v) - bias^2,  entropy = -sum p ln p (nats),  P(exact) = p(0)

and one sentence for each problem that a custodian should know.

Source: Sadeghi & Chien (2022), section III-B; Rinott et al. (2018), sections 4.3-4.5 and 5; Fraser & Wooton (2005).
"""

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
    p_exact = row.probabilities().get(0, Fraction(0))
    return RowMoments(count, row.mean(), row.variance(), row.entropy(), p_exact, row.values)


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
    """Warnings in sentences; empty without problems."""
    found = []
    if asked is not None and not math.isfinite(epsilon):
        found.append(
            f"No epsilon reaches delta {float(asked):.6g}: outputs that one of two neighbouring counts can "
            f"never make have probability {float(delta):.6g}."
        )
    if population is not None and delta * population > 1:
        found.append(
            f"Delta is {float(delta):.3g} at epsilon {epsilon:.6g}, above 1/N for N = {population}: "
            "the promise allows that someone's presence is revealed outright."
        )
    biased = [row for row in rows if abs(row.bias) > BIAS_WORTH_SAYING]
    if biased:
        worst = max(biased, key=lambda row: abs(row.bias))
        found.append(
            f"The mean is not zero for {_count_list(biased, rows)}; the largest bias is "
            f"{float(worst.bias):.6g}, at count {worst.count}."
        )
    # Zero has a separate note, unless nothing is perturbed.
    fixed = [row for row in rows if row.support == (0,) and (row.count > 0 or len(rows) == 1)]
    if fixed:
        found.append(f"No noise at all for {_count_list(fixed, rows)}: released as counted.")
    return tuple(found)


def find_notes(table: NoiseTable, rows: Sequence[RowMoments]) -> tuple[str, ...]:
    """Properties by design that a reader of the numbers should know."""
    stays = table.keeps_zero and any(row.support != (0,) for row in rows)
    # No count of `largest` or more can become negative.
    counts = reversed(range(min(table.largest, LARGEST_SEARCH)))
    below = next((count for count in counts if count + table.row(count).values[0] < 0), None)
    notes = (
        (stays, "Zero stays zero: any other released value proves that the true count is not zero."),
        (
            below is not None,
            f"Counts up to {below} can become negative; clipping them at zero adds bias, never protection.",
        ),
    )
    return tuple(note for holds, note in notes if holds)


def _count_list(some: Sequence[RowMoments], rows: Sequence[RowMoments]) -> str:
    """Counts in words; the last row is named with all larger counts."""
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
    """The guarantee for counts above D, the largest change of the table."""

    D: int
    epsilon: float
    delta: Fraction
    delta_forward: Fraction
    delta_backward: Fraction
    worst_pair: Pair | None


@dataclass(frozen=True, slots=True)
class Audit:
    """The guarantee of a noise table at one epsilon, and its effect on a count.

    `bias`, `variance`, `entropy`, `p_exact` and `support` describe the last row, which serves large counts; `rows` has them
    for every count. `delta_probabilistic` is the delta of Rinott 4.5, for one count and one person, never below `delta`.
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
        neighbours: "add-remove" changes a person's cells by one; "replace-one" also lowers as many others.
        cells: The number of overlapping cells in which a person is counted.
        group: The number of people that may come or go together in a cell.

    >>> from discreet.noise.table import NoiseRow, NoiseTable
    >>> delta(NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),)), epsilon=math.inf)
    Fraction(1, 4)
    """
    exponential = Exponential.of(epsilon)
    both, _ = neighbour_frontiers(table, neighbours, cells, group)
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
    both, _ = neighbour_frontiers(table, neighbours, cells, group)
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
    both, _ = neighbour_frontiers(table, neighbours, cells, group)
    return [_point(each, both) for each in epsilons]


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
    """The audit of a noise table at an epsilon, by default that of the design or 1, or at the smallest epsilon for a delta.

    A delta above one in `population` is a problem; the other arguments are those of `delta`.

    Raises:
        BadRequest: Both epsilon and delta are given, or one is out of range.
    """
    change = (neighbours, cells, group)
    both, exact = neighbour_frontiers(table, *change)
    at = _epsilon_at(table, both, epsilon, delta)
    point = _point(at, both)
    rows = tuple(row_moments(row, count) for count, row in enumerate(table.rows))
    high, _ = neighbour_frontiers(table, *change, first=table.largest + 1)
    single = change == ("add-remove", 1, 1)
    needed = at if delta is None else max(each.epsilon(_probability(delta)) for each in high)
    above = AboveD(table.largest, *_point(needed, high))
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
        delta_probabilistic=probabilistic_delta(table, epsilon=at) if single else None,
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


def curve_above_largest(table: NoiseTable, epsilons: Iterable[float]) -> list[CurvePoint]:
    """The delta-epsilon curve of counts above D only."""
    both = frontiers(table, table.largest + 1)
    return [_point(each, both) for each in epsilons]


def _point(epsilon: float, both: tuple[Frontier, Frontier]) -> CurvePoint:
    exponential = Exponential.of(epsilon)
    (forward, pair), (backward, reverse) = (each.delta(exponential) for each in both)
    worst = pair if forward >= backward else reverse
    return CurvePoint(float(epsilon), max(forward, backward), forward, backward, worst)


def neighbour_frontiers(
    table: NoiseTable, neighbours: str, cells: int = 1, group: int = 1, first: int = 0
) -> tuple[tuple[Frontier, Frontier], bool]:
    """The frontiers of the smaller count against the larger and of the reverse, and whether they are exact."""
    if neighbours not in get_args(Neighbours):
        raise BadRequest(f'Neighbours are "{neighbours}".', 'Say "add-remove" or "replace-one".')
    if cells < 1 or group < 1:
        raise BadRequest(f"{cells} cells and groups of {group}: both must be at least 1.")
    if neighbours == "add-remove" and cells == 1:
        return frontiers(table, first, group), True
    back = cells if neighbours == "replace-one" else 0
    joint = compose(table, forward=cells, backward=back, first=first, group=group)
    return (joint.forward, joint.backward), joint.exact


def _probability(delta: float | Fraction) -> Fraction:
    if not 0 <= delta <= 1:
        raise BadRequest(f"Delta is {delta}; it is a probability.", "Give a number from 0 to 1.")
    return Fraction(delta)


def _epsilon_at(
    table: NoiseTable, both: tuple[Frontier, Frontier], epsilon: float | None, delta: float | Fraction | None
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
#: The keys of the document, in order.
_DOCUMENTED = (
    *("neighbours", "epsilon", "delta", "delta_forward", "delta_backward", "worst_pair", "above_D"),
    *("bias", "variance", "entropy", "p_exact", "row_sums_ok", "support", "cells", "group", "exact"),
    *("delta_probabilistic", "delta_infinite", "delta_exact", "problems", "notes"),
)


def audit_document(result: Audit) -> dict[str, Any]:
    """The audit as JSON: probabilities as floats, an infinite epsilon as null."""
    values = {name: getattr(result, name, None) for name in _DOCUMENTED}
    exact = str(result.delta) if result.delta.denominator <= 2**64 else None  # of moderate size
    values |= {"above_D": result.above_D._asdict(), "delta_exact": exact}
    document: dict[str, Any] = plain(values)
    return document


def curve_document(table: NoiseTable, result: Audit) -> list[dict[str, Any]]:
    """Delta for epsilons from 0 to the point where the table can do no better."""
    names: dict[str, Any] = {"neighbours": result.neighbours, "cells": result.cells, "group": result.group}
    flat = epsilon(table, delta=result.delta_infinite, **names)
    end = max(1.0, 1.1 * flat)
    epsilons = [end * step / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    points = curve(table, epsilons, **names)
    return [plain(point._asdict()) for point in points]
