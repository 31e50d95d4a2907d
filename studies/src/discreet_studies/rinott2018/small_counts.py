"""Table 2 and the numbers in the text of sections 2, 4 and 5: distributions that need no simulation.

    P(|b - a| ≤ k) with negative b set to zero,   δ = p(m),   E|b - a|.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), Table 2 and sections 2.1, 4.1, 5.1, 5.2, 5.6.
"""

from itertools import product
from math import comb, exp, log
from typing import Any

from discreet.noise.design_report import within
from discreet.noise.families import laplace as discrete_laplace
from discreet.noise.families import normal as truncated_normal
from discreet.noise.families.hellinger import ideal_hellinger
from discreet.noise.ideal_distribution import IdealRow
from discreet_studies.exhibit import Effort, Exhibit, Finding

_LARGER = "5 and over"
_COUNTS = ("0", "1", "2", "3", "4", _LARGER)
#: Table 2 as printed: by distribution, epsilon and m, the rows of the original values 0..5 over the ranges 0..4.
PRINTED: dict[tuple[str, float, int], tuple[tuple[float, ...], ...]] = {
    ("Laplace", 1.5, 7): (
        (0.82, 0.96, 0.99, 1.00, 1.00),
        (0.64, 0.96, 0.99, 1.00, 1.00),
        (0.64, 0.92, 0.99, 1.00, 1.00),
        (0.64, 0.92, 0.98, 1.00, 1.00),
        (0.64, 0.92, 0.98, 1.00, 1.00),
        (0.64, 0.92, 0.98, 1.00, 1.00),
    ),
    ("Laplace", 0.5, 7): (
        (0.63, 0.78, 0.87, 0.93, 0.96),
        (0.25, 0.78, 0.87, 0.93, 0.96),
        (0.25, 0.55, 0.87, 0.93, 0.96),
        (0.25, 0.55, 0.74, 0.93, 0.96),
        (0.25, 0.55, 0.74, 0.85, 0.96),
        (0.25, 0.55, 0.74, 0.85, 0.92),
    ),
    ("Normal", 1.5, 12): (
        (0.57, 0.70, 0.81, 0.89, 0.94),
        (0.14, 0.70, 0.81, 0.89, 0.94),
        (0.14, 0.40, 0.81, 0.89, 0.94),
        (0.14, 0.40, 0.62, 0.89, 0.94),
        (0.14, 0.40, 0.62, 0.78, 0.94),
        (0.14, 0.40, 0.62, 0.78, 0.88),
    ),
    ("Normal", 0.5, 10): (
        (0.54, 0.63, 0.71, 0.78, 0.84),
        (0.09, 0.63, 0.71, 0.78, 0.84),
        (0.09, 0.26, 0.71, 0.78, 0.84),
        (0.09, 0.26, 0.42, 0.78, 0.84),
        (0.09, 0.26, 0.42, 0.57, 0.84),
        (0.09, 0.26, 0.42, 0.57, 0.69),
    ),
}


def table_2(effort: Effort) -> Exhibit:  # noqa: ARG001 - nothing here is simulated
    """Table 2: how near to a small count its release is."""
    return Exhibit(
        "table 2",
        "Probability that the release lies within a range of the count, negative values set to zero",
        (*_table_2_cells(), *_table_2_text()),
        picture=_picture,
        note="Exact: nothing is simulated. Clipping at zero never lowers the worst case.",
    )


def _row(distribution: str, epsilon: float, m: int) -> IdealRow:
    design = discrete_laplace.ideal_laplace if distribution == "Laplace" else truncated_normal.ideal_normal
    return design(epsilon, m).last


def _table_2_cells() -> list[Finding]:
    return [
        Finding(
            f"{distribution} m = {m}, ε = {epsilon}: {_COUNTS[count]} within ±{k}",
            PRINTED[distribution, epsilon, m][count][k],
            within(_row(distribution, epsilon, m), count, k),
            0.005,
        )
        for (distribution, epsilon, m), count, k in product(PRINTED, range(6), range(5))
    ]


def _table_2_text() -> list[Finding]:
    """The deltas of its head and what section 5.5 concludes from it."""
    end = discrete_laplace.end_probability
    four = {
        (distribution, epsilon, count): within(_row(distribution, epsilon, m), count, 4)
        for (distribution, epsilon, m), count in product(PRINTED, range(6))
    }
    shortfall = [
        100 * (1 - four["Normal", e, count] / four["Laplace", e, count])
        for e in (1.5, 0.5)
        for count in range(6)
    ]
    steep = ideal_hellinger(1.5, largest=5).rows[5]
    return [
        Finding("head: δ at ε = 1.5, Laplace m = 7", 2e-5, end(1.5, 7), 5e-6),
        Finding("head: δ at ε = 0.5, Laplace m = 7", 0.008, end(0.5, 7), 0.0005),
        Finding("text: all within ±3, Laplace ε = 1.5", 1.0, within(_row("Laplace", 1.5, 7), 5, 3), 0.005),
        Finding("text: within ±4, Laplace ε = 0.5", 0.92, four["Laplace", 0.5, 5], 0.005),
        Finding("text: normal within ±4, least shortfall, %", 6, min(shortfall), 0.5),
        Finding("text: normal within ±4, greatest shortfall, %", 25, max(shortfall), 0.5),
        Finding("text: Hellinger-type, ε = 1.5: 5 within ±4", None, within(steep, 5, 4)),
    ]


def _picture() -> Any:
    from discreet_studies.pictures.rinott2018 import within_ranges  # noqa: PLC0415 - pictures are an extra

    return within_ranges(
        [
            {
                "law": f"{distribution}, m = {m}",
                "epsilon": epsilon,
                "count": _COUNTS[count],
                "range": k,
                "chance": p,
            }
            for (distribution, epsilon, m) in PRINTED
            for count in (0, 1, 5)
            for k in range(5)
            for p in [within(_row(distribution, epsilon, m), count, k)]
        ]
    )


def section_2(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Section 2.1: the number of three-way tables of ten attributes."""
    return Exhibit(
        "section 2",
        "A list of all three-way tables of ten attributes",
        (Finding("three-way tables of a 10-way table", 120, float(comb(10, 3))),),
        note="The paper writes K = 120; K is its number of cells, and 120 is the number of tables.",
    )


def section_4(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Section 4.1: likelihood ratios and what they mean."""
    return Exhibit(
        "section 4",
        "Likelihood ratios and epsilons",
        (
            Finding("likelihood ratio at ε = 0.1", 1.1, exp(0.1), 0.05),
            Finding("ε of limited evidence, a likelihood ratio of 10", 2.3, log(10), 0.05),
        ),
        note="Theorem 4.1's generic exponential mechanism needs half the rate; additive losses need not.",
    )


def section_5(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Sections 5.1, 5.2 and 5.6: delta and expected loss in closed form."""
    laplace, normal = discrete_laplace.end_probability, truncated_normal.end_probability
    lacks = (
        "The printed limit e^-ε/(C(e^-ε - 1)²) lacks the factor 2 that the truncated formula above it has."
    )
    cut = "Cut and not rounded: it is 0.00166, as section 6.2 prints it, and 0.0017 in Table 3."
    return Exhibit(
        "section 5",
        "The delta that a truncation costs, and the expected loss",
        (
            Finding("δ Laplace, ε = 1, m = 10", 2e-5, laplace(1, 10), 5e-6),
            Finding("δ Laplace, ε = 0.5, m = 10", 0.0016, laplace(0.5, 10), 5e-5, cut),
            Finding("δ normal, ε = 1, m = 10", 0.001, normal(1, 10), 0.0005),
            Finding("δ normal, ε = 0.5, m = 10", 0.008, normal(0.5, 10), 0.0005),
            *(
                Finding(
                    f"E|b - a|, untruncated, ε = {e:g}", _printed_limit(e), expected_absolute(e), 1e-12, lacks
                )
                for e in (0.5, 1.0)
            ),
        ),
        note="δ = p(m) is exact for one cell.",
    )


def expected_absolute(epsilon: float) -> float:
    """E|noise| of the untruncated distribution, 2α/(1-α²) with α = e^-ε; the paper's limit lacks the factor 2.

    >>> round(expected_absolute(1.0), 6)
    0.850918
    """
    a = exp(-epsilon)
    return 2 * a / (1 - a * a)


def _printed_limit(epsilon: float) -> float:
    """E|b - a| = e^-ε / (C (e^-ε - 1)²) as the paper prints it."""
    a = exp(-epsilon)
    return a / ((1 + 2 * a / (1 - a)) * (a - 1) ** 2)
