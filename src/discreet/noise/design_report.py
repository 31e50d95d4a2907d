"""Reports on designs: the document that `discreet design` prints, and the comparison of families at equal (ε, δ).

The document shows the design's values and probabilities next to the integers that ship: one cumulative threshold per value,
the last equal to the modulus. A value lost in quantisation keeps its place and repeats the threshold before it. `moments`
are those of the integers of the last row.
"""

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from discreet.errors import InfeasibleDesign
from discreet.noise.design import LARGEST_M, require_epsilon, require_width, smallest_width
from discreet.noise.families import families
from discreet.noise.families.laplace import end_probability, ideal_laplace
from discreet.noise.families.staircase import ideal_staircase, lost_mass
from discreet.noise.family import Match
from discreet.noise.files.document import moments, plain
from discreet.noise.ideal_distribution import IdealRow, IdealTable
from discreet.noise.quantise import quantisation_report
from discreet.noise.table import NoiseRow, NoiseTable


def design_document(ideal: IdealTable, table: NoiseTable) -> dict[str, Any]:
    """The document of a designed table, without its privacy block.

    >>> from discreet.noise.families.laplace import ideal_laplace
    >>> from discreet.noise.quantise import quantise
    >>> design = ideal_laplace(1.0, 1)
    >>> design_document(design, quantise(design, 256))["rows"][0]["thresholds"]
    [54, 202, 256]
    """
    report = quantisation_report(ideal, table)
    last, pairs = report.last, zip(ideal.rows, table.rows, strict=True)
    quantisation = {
        "rule": table.parameters.get("quantise"),
        "bias": last.bias,
        "variance_error": last.variance_error,
        "lost": report.lost,
    }
    if len(table.rows) == 1:
        quantisation["paper"] = {"epsilon": last.paper_epsilon, "delta": last.paper_delta}
    return {
        "family": table.family,
        "parameters": {k: value for k, value in table.parameters.items() if k not in {"notes", "quantise"}},
        "modulus": table.modulus,
        "rows": [_row(count, ideal_row, row) for count, (ideal_row, row) in enumerate(pairs)],
        "repeats": table.repeats,
        "moments": moments(table.rows[-1]),
        "quantisation": plain(quantisation),
        "notes": [*ideal.notes, *report.notes()],
    }


def _row(count: int, ideal: IdealRow, row: NoiseRow) -> dict[str, Any]:
    mass = dict(zip(row.values, row.masses(), strict=True))
    return {
        "count": count,
        "values": list(ideal.values),
        "probabilities": list(ideal.probabilities),
        "thresholds": list(accumulate(mass.get(value, 0) for value in ideal.values)),
    }


COUNTS = 6
RANGES = 5


@dataclass(frozen=True, slots=True)
class Side:
    """One family at the common (ε, δ), with the δ of its ideal distribution (p(end), or eq. 21).

    within[count][k] = P(|released - count| ≤ k); the last count represents all larger ones.
    """

    family: str
    parameters: dict[str, object]
    delta: float
    variance: float
    absolute: float
    p_exact: float
    within: tuple[tuple[float, ...], ...]


def compare(
    epsilon: float,
    *,
    delta: float | None = None,
    m: int | None = None,
    match: Match = "closest",
    width: int = 1,
) -> tuple[float, tuple[Side, ...]]:
    """The common δ, and each family that declares `sides` with the least noise that keeps it.

    Source: Rinott, O'Keefe, Shlomo & Skinner (2018), Table 2, for any parameters and more families.

    Args:
        epsilon: The common ε.
        delta: The common δ.
        m: In place of δ: the δ of Laplace noise truncated at m, as in the paper's Table 2 (m = 7).
        match: Which normal truncation matches δ: the closest on the log scale, as in the paper's Table 2,
            or the smallest that keeps it.
        width: The largest change of a cell by one unit. Above 1, Laplace and staircase noise are compared, both with ε and
            δ for a change by `width`.
    """
    require_epsilon(epsilon)
    require_width("width", width)
    if (delta is None) == (m is None):
        raise InfeasibleDesign("A comparison needs delta or the Laplace truncation m, and not both.")
    common = delta if delta is not None else end_probability(epsilon, m or 0)
    if width > 1:
        pair = {
            "laplace": ideal_laplace(epsilon / width, laplace_width(epsilon / width, common, width)),
            "staircase": ideal_staircase(epsilon, width, delta=common),
        }
        return common, tuple(_side(name, ideal, epsilon, width) for name, ideal in pair.items())
    sides = tuple(
        _side(name, ideal, epsilon)
        for family in families()
        if family.sides is not None
        for name, ideal in family.sides(epsilon, common, match).items()
    )
    return common, sides


def laplace_width(epsilon: float, delta: float, change: int) -> int:
    """The smallest truncation of Laplace noise at which a change of the count loses at most δ of mass."""
    wish = f"epsilon = {epsilon} and delta = {delta} for a change by {change}"
    return smallest_width(lambda m: lost_mass(epsilon, 1, 1, m, change) <= delta, limit=LARGEST_M, wish=wish)


def _side(name: str, ideal: IdealTable, epsilon: float, change: int = 1) -> Side:
    row = ideal.last
    return Side(
        family=name,
        parameters={key: value for key, value in ideal.parameters.items() if key not in {"epsilon", "delta"}},
        delta=row_delta(row, epsilon, change),
        variance=row.variance(),
        absolute=math.fsum(abs(z) * p for z, p in zip(row.values, row.probabilities, strict=True)),
        p_exact=row.probabilities[row.values.index(0)],
        within=tuple(tuple(within(row, count, k) for k in range(RANGES)) for count in range(COUNTS)),
    )


def row_delta(row: IdealRow, epsilon: float, change: int = 1) -> float:
    """δ(ε) of a one-row design in floats: Σ max(0, p(z) - e^ε p(z - change)), the worse direction.

    Ratios within 1e-12 of e^ε count as equal: a Laplace distribution meets e^ε exactly, and rounding must not add a
    spurious term. `discreet.privacy` audits the integers exactly.
    """
    chances = dict(zip(row.values, row.probabilities, strict=True))
    bound = math.exp(min(epsilon, 700.0)) * (1 + 1e-12)
    return max(
        math.fsum(max(0.0, p - bound * chances.get(z + step, 0.0)) for z, p in chances.items())
        for step in (-change, change)
    )


def within(row: IdealRow, count: int, k: int) -> float:
    """P(|released - count| ≤ k) if negative releases become zero.

    Σ_{|z| ≤ k} p(z) + [count ≤ k] Σ_{z < -k} p(z)
    """
    return math.fsum(
        p for z, p in zip(row.values, row.probabilities, strict=True) if abs(max(z, -count)) <= k
    )
