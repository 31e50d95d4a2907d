"""Bailie (2020): Table 2, an estimate of potato lovers with and without the sample size as an invariant.

    b = Δ/ε,   Δ = N without invariants, N/n with n held fixed;   90 % interval: published ± b ln 10;   E|R| = b.

The published values are single draws and cannot be recomputed; the intervals around them can.

Source: Bailie (2020), sections 3.3 and 4.1, Table 2.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np

from discreet.survey.dp_weights import average_weight
from discreet.survey.weight_forms import SurveyDesign
from discreet_studies.exhibit import Effort, Exhibit, Exhibits, Finding

POPULATION = 1_000_000
SAMPLE = 1500
EPSILON = 1.0
ESTIMATE = 750_000
CONFIDENCE = 0.9
#: What was published, and the printed interval: without invariants, and with the sample size as one.
PUBLISHED = {
    "without invariants": (272_288, (-2_030_297, 2_574_873)),
    "n = 1500": (749_516, (747_981, 751_051)),
}
_DESIGN = SurveyDesign(SAMPLE, POPULATION, 0, POPULATION)


def invariant_sensitivity(design: SurveyDesign, *, table: bool) -> Fraction:
    """How far one person replaced moves the estimate: N/n in one cell, 2N/n in a table (L1)."""
    return design.average_weight * (2 if table else 1)


def free_sensitivity(design: SurveyDesign) -> Fraction:
    """How far one person replaced can move the estimate if nothing is invariant: the population, N."""
    return Fraction(design.weight_total, design.scale)


def laplace_interval(
    published: float, sensitivity: Fraction, epsilon: float, confidence: float = 0.9
) -> tuple[float, float]:
    """The interval for the estimate before the noise, for Laplace noise of scale sensitivity/epsilon.

    >>> low, high = laplace_interval(749_516, Fraction(1_000_000, 1500), 1)
    >>> round(low), round(high)
    (747981, 751051)
    """
    reach = float(sensitivity) / epsilon * log(1 / (1 - confidence))
    return published - reach, published + reach


def table_2(effort: Effort) -> Exhibit:  # noqa: ARG001 - nothing here is simulated
    """Table 2: the same estimate, perturbed with two sensitivities."""
    likers = np.array([SAMPLE * ESTIMATE // POPULATION])
    findings = [Finding("estimate from 1,125 of 1,500", ESTIMATE, float(average_weight(likers, _DESIGN)[0]))]
    for name in PUBLISHED:
        findings += _lines(name)
    return Exhibit(
        "table 2",
        "The number of potato lovers, published with ε = 1",
        tuple(findings),
        picture=_picture,
        note=(
            "Neighbours replace one person. The intervals are about the noise alone, not about sampling. The "
            "published values are one draw each; how likely a draw so far from the estimate is stands beside them."
        ),
    )


def _lines(name: str) -> Iterator[Finding]:
    published, (low, high) = PUBLISHED[name]
    ours = interval(name)
    yield Finding(f"{name}: 90 % interval, low", low, ours[0], 0.5)
    yield Finding(f"{name}: 90 % interval, high", high, ours[1], 0.5)
    scale = float(_sensitivity(name)) / EPSILON
    chance = exp(-abs(published - ESTIMATE) / scale)
    yield Finding(f"{name}: chance of noise as large as the published value's", None, chance)


def _sensitivity(name: str) -> Fraction:
    if name == "without invariants":
        return free_sensitivity(_DESIGN)
    return invariant_sensitivity(_DESIGN, table=False)


def interval(name: str) -> tuple[float, float]:
    """The 90 % interval around a published value.

    >>> [round(end) for end in interval("n = 1500")]
    [747981, 751051]
    """
    return laplace_interval(PUBLISHED[name][0], _sensitivity(name), EPSILON, CONFIDENCE)


def section_4(effort: Effort) -> Exhibit:  # noqa: ARG001
    """Sections 3.3 and 4.1: sensitivities and the mean noise."""
    return Exhibit(
        "section 4",
        "Sensitivity with and without an invariant",
        (
            Finding("likelihood ratio at ε = ln 2", 2.0, exp(log(2)), 1e-12),
            Finding("sensitivity without invariants, N", 1_000_000, float(free_sensitivity(_DESIGN))),
            Finding(
                "mean absolute noise without invariants, N/ε", 1e6, float(free_sensitivity(_DESIGN)) / EPSILON
            ),
            Finding(
                "sensitivity with n = 1500, N/1500",
                POPULATION / 1500,
                float(invariant_sensitivity(_DESIGN, table=False)),
            ),
            Finding(
                "sensitivity (L1) of a table with n = 1500",
                None,
                float(invariant_sensitivity(_DESIGN, table=True)),
            ),
        ),
        note="A person replaced moves two cells of a table: its noise must cover 2N/n.",
    )


def _picture() -> Any:
    from discreet_studies.pictures.bailie2020 import two_intervals  # noqa: PLC0415 - pictures are an extra

    names = {"without invariants": "Without invariants", "n = 1500": "Sample size n = 1,500 as an invariant"}
    return two_intervals(
        [
            {"name": names[name], "published": value, "low": interval(name)[0], "high": interval(name)[1]}
            for name, (value, _) in PUBLISHED.items()
        ],
        ESTIMATE,
    )


EXHIBITS: Exhibits = {"table 2": table_2, "section 4": section_4}
