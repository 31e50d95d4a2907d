"""The frontier of small counts: the least variance of unbiased noise for each delta, and where known tables lie.

For an epsilon, a largest change D and a threshold js, `noise.families.least_variance` finds the least largest variance of
any unbiased table that keeps delta. The frontier has one such table for each of some deltas; each is quantised, and both of
its figures are those of the integers. Any unbiased table of the same support lies on or above the frontier. Tables with
negative counts have another support and another frontier, of one symmetric row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import DiscreetError
from discreet.noise import families
from discreet.noise.families.least_variance import least_delta
from discreet.noise.table import NoiseTable
from discreet.privacy.audit import delta

#: Deltas of a frontier, as parts of the way from the least delta to 1, evenly in the logarithm.
POINTS = 12
DEFAULT_D, DEFAULT_JS, DEFAULT_V = 5, 2, 3.0


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table's delta at an epsilon, worst of all counts, and its largest variance; from its integers."""

    name: str
    support: str
    delta: float
    variance: float
    large_count_variance: float


#: The two supports: released counts that are never negative, and any.
SMALL_COUNTS, NEGATIVE = "not negative", "may be negative"


def place(name: str, table: NoiseTable, epsilon: float) -> PlacedTable:
    """Where a table lies."""
    lowest = min(count + row.values[0] for count, row in enumerate(table.rows))
    return PlacedTable(
        name=name,
        support=NEGATIVE if lowest < 0 else SMALL_COUNTS,
        delta=float(delta(table, epsilon=epsilon)),
        variance=float(table.variance),
        large_count_variance=float(table.rows[-1].variance()),
    )


def frontier(
    epsilon: float, D: int, js: int = 0, *, negative: bool = False, points: int = POINTS
) -> list[PlacedTable]:
    """The tables of least variance, from just above the least delta on.

    >>> [(round(each.delta, 3), round(each.variance, 2)) for each in frontier(1.0, 5, 2, points=3)]
    [(0.168, 6.35), (0.305, 2.34), (0.552, 2.0)]
    """
    least = least_delta(epsilon, D, js, negative=negative)
    parameters = {"epsilon": epsilon, "D": D} | ({"negative": True} if negative else {"js": js})
    found = []
    for step in range(points):
        wish = least * 1.01 * (1 / (least * 1.01)) ** (step / points)
        try:
            table = families.build("least-variance", parameters | {"delta": wish})
        except DiscreetError:  # quantisation needs more than the least delta leaves
            continue
        found.append(place("least variance", table, epsilon))
    return found


def compared_tables(
    epsilon: float, D: int, js: int, V: float, own: Mapping[str, NoiseTable]
) -> list[PlacedTable]:
    """ABS, maximum entropy and Laplace noise of the same D, and tables of one's own."""
    designs: Sequence[tuple[str, str, dict[str, float]]] = (
        ("abs", "abs", {"epsilon": epsilon, "D": D}),
        (f"maxent, js = {js}", "maxent", {"D": D, "V": V, "js": js}),
        ("laplace", "laplace", {"epsilon": epsilon, "m": D}),
    )
    named = {name: families.build(family, parameters) for name, family, parameters in designs}
    return [place(name, table, epsilon) for name, table in (named | dict(own)).items()]
