"""Examples 1-3 and figure 3 of the paper: from a wish (0.5, 1e-4) to a distribution, a lookup table, and its audit.

Source: Sadeghi & Chien (2022), Example 1 (eqs 34-35), Example 2 (eq. 41), Example 3 (eq. 47).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

import numpy as np

from discreet.noise.design import least_delta, least_variance
from discreet.noise.families.abs import ideal_abs, iota
from discreet.noise.ideal_distribution import IdealTable
from discreet.noise.quantise import quantisation_report, quantise
from discreet.noise.table import NoiseTable
from discreet.privacy.audit import curve
from discreet_studies.exhibit import Effort, Exhibit, Finding, drawn

EPSILON, DELTA, D = 0.5, 1e-4, 25
KEYS = 2**32
#: Half a unit of the fifteenth decimal, and the last digit of a double where all are printed.
_FIFTEEN, _DOUBLE = 5e-16, 1e-19
#: Eq. 35, as printed.
_PRINTED_DISTRIBUTION = {
    0: 0.056895481243871,
    1: 0.056320120792644,
    2: 0.054628714970934,
    12: 0.016632589297126,
    24: 0.000163117271714,
    25: 0.000099129808160,
}


@lru_cache(maxsize=1)
def _design() -> IdealTable:
    """The guide's answer to (0.5, 1e-4)."""
    return ideal_abs(EPSILON, delta=DELTA)


@lru_cache(maxsize=4)
def _shipped(keys: int = KEYS) -> NoiseTable:
    return quantise(_design(), keys, "ceiling")


def _distribution() -> dict[int, float]:
    row = _design().last
    return dict(zip(row.values, row.probabilities, strict=True))


def example_1(_effort: Effort) -> Exhibit:
    """D*, δ, V and the pmf for ε = 0.5, δ = 1e-4."""
    design, distribution = _design(), _distribution()
    width = int(design.parameters["D"])
    best, narrow = least_delta(EPSILON, width), least_variance(EPSILON, DELTA, width)
    findings = (
        Finding("D*", 25, width),
        Finding("|ι|", 4e-5, iota(EPSILON, width), 5e-6),
        Finding("δ", 9.91e-5, distribution[width], 5e-8),
        Finding("V", 49.00, design.last.variance(), 0.005),
        *(
            Finding(
                f"p({z})" if z == 0 else f"p(±{z})",
                p,
                distribution[z],
                _FIFTEEN,
                _why_distribution(z, p, distribution),
            )
            for z, p in _PRINTED_DISTRIBUTION.items()
        ),
        Finding("least δ for the same D (numerical optimum)", None, best.delta),
        Finding("least V for the same D, ε and δ (numerical optimum)", None, narrow.V),
    )
    note = (
        "Eq. 34 prints |ι| rounded to 4e-5; the decimals of eq. 35 follow from the exact 1/24990. The guide looks "
        "at the end value only: the same support can promise less δ, or the same (ε, δ) with less variance."
    )
    return Exhibit("example 1", "A design for ε = 0.5 and δ = 1e-4", findings, note=note)


def _why_distribution(z: int, printed: float, distribution: dict[int, float]) -> str:
    """Which value is printed in the place of another."""
    other = min(distribution, key=lambda v: (abs(distribution[v] - printed), -v))
    return (
        f"What is printed for ±{z} is p(±{abs(other)}); p(±{z}) = {distribution[z]:.15f}."
        if abs(other) != z
        else ""
    )


def figure_3(_effort: Effort) -> Exhibit:
    """The distribution of example 1."""
    distribution = _distribution()
    records = [{"noise": z, "probability": p} for z, p in distribution.items()]
    findings = (
        Finding("highest probability, p(0)", 0.056895481243871, max(distribution.values()), _FIFTEEN),
        Finding("lowest probability, p(±25) = δ", 0.000099129808160, min(distribution.values()), _FIFTEEN),
    )
    return Exhibit(
        "figure 3",
        "The law of Example 1",
        findings,
        picture=drawn("sadeghi2022", "distribution", records, _design().last.variance()),
        note="The values are those of eq. 35; the figure itself prints none.",
        extra={"curves": records},
    )


def example_2(_effort: Effort) -> Exhibit:
    """The lookup table on 2^32 keys, and why 2^8 keys are too few."""
    row = _shipped().row(0)
    cumulative = dict(zip(row.values, row.thresholds, strict=True))
    exact = dict(zip(_design().last.values, accumulate(_design().last.exact_weights()), strict=True))
    total = exact[D]
    looked_up = _shipped().noise(np.zeros(2, dtype=np.int64), np.array([2552, 1_200_124], dtype=np.uint64))
    small = _shipped(2**8).row(0)
    first = {
        z: int(sum(m for v, m in zip(small.values, small.masses(), strict=True) if v <= z))
        for z in (-25, -24, -23)
    }
    findings = (
        Finding("c(-25)", 0.000099129808160, exact[-25] / total, _FIFTEEN),
        Finding("c(-24)", 0.0002622470798742925, exact[-24] / total, _DOUBLE),
        Finding("c(-23)", 0.0005252540370388639, exact[-23] / total, _DOUBLE),
        Finding("c^Q(-26)", 0, cumulative.get(-26, 0)),
        Finding("c^Q(-25)", 425_760, cumulative[-25]),
        Finding("c^Q(-24)", 1_126_343, cumulative[-24]),
        Finding("c^Q(-23)", 2_255_949, cumulative[-23]),
        Finding("c^Q(25)", 2**32, cumulative[25]),
        Finding("size of the lookup table", 51, len(cumulative)),
        Finding("noise of key 2552", -25, int(looked_up[0])),
        Finding("noise of key 1200124", -23, int(looked_up[1])),
        *(Finding(f"c^Q({z}) on 2^8 keys", 1, count) for z, count in first.items()),
        Finding("values that 2^8 keys cannot give", None, len(_design().last.values) - len(small.values)),
    )
    return Exhibit("example 2", "The law of Example 1 as a lookup table on 2^32 keys", findings)


def example_3(_effort: Effort) -> Exhibit:
    """What quantisation leaves: bias, variance, the paper's (ε^Q, δ^Q), and the exact audit."""
    report, row = quantisation_report(_design(), _shipped()).last, _shipped().row(0)
    distribution = {z: float(p) for z, p in row.probabilities().items()}
    there, at_design = curve(_shipped(), [report.paper_epsilon, EPSILON])
    delta = 9.9129974842e-5
    findings = (
        Finding("c^Q(24)", 4_294_541_537, row.thresholds[-2]),
        Finding("p^Q(-25)", 0.000099129974842, distribution[-25], _FIFTEEN),
        Finding("p^Q(-24)", 0.000163117190823, distribution[-24], _FIFTEEN),
        Finding("p^Q(-23)", 0.0002630068920552731, distribution[-23], _DOUBLE),
        Finding("p^Q(25)", 0.00009912974201142788, distribution[25], 1e-20),
        Finding("bias B^Q", -5.820766091346741e-9, float(report.bias), 1e-24),
        Finding("variance V^Q", 49.002167175291106, float(report.variance), 1e-14),
        Finding("ε^Q (eq. 45)", 0.498037038323823, report.paper_epsilon, _FIFTEEN),
        Finding("δ^Q (eq. 46)", delta, float(report.paper_delta), 5e-16),
        Finding("exact δ at ε^Q, a count against the next", delta, float(there.delta_forward), 5e-16),
        Finding(
            "exact δ at ε^Q, the reverse",
            delta,
            float(there.delta_backward),
            5e-16,
            why="Eqs 45-46 look at one direction. The ceiling breaks the symmetry, and the reverse needs a little more.",
        ),
        Finding("exact δ at ε = 0.5, a count against the next", None, float(at_design.delta_forward)),
        Finding("exact δ at ε = 0.5, the reverse", None, float(at_design.delta_backward)),
        Finding("bias by the exact rule", None, float(quantise(_design(), KEYS, "exact").row(0).mean())),
    )
    note = (
        "B^Q is -D/KEYSIZE exactly, by the ceiling. At the design's ε = 0.5 the shipped integers have δ below 1e-4 "
        "in both directions, so the promise holds."
    )
    return Exhibit("example 3", "Bias, variance and (ε^Q, δ^Q) after quantisation", findings, note=note)
