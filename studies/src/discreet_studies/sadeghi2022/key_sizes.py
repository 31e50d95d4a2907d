"""Figures 4 and 5 of the paper, and the experiments around them: what 2^8, 2^16 and 2^32 keys do to a promise.

D = 10, ε from 0.1 to 2.5 in steps of 0.1, quantised by the paper's ceiling. Its (ε^Q, δ^Q) look at one direction;
beside them stand the exact δ at ε^Q and the exact ε at δ^Q, both directions, from the same integers.

Source: Sadeghi & Chien (2022), section V-C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.noise.families.abs import guide_delta, ideal_abs
from discreet.noise.quantise import RowReport, quantisation_report, quantise
from discreet.privacy.audit import curve
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet_studies.exhibit import Effort, Exhibit, Finding, drawn

D = 10
BITS = (8, 16, 32)
EPSILONS = tuple(k / 10 for k in range(1, 26))
#: The last ε with full support, the bias and the relative error of the variance, as printed for each key size.
_LAST_FULL = {8: 0.6, 16: 1.7, 32: 2.5}
_BIAS = {8: (-0.04, 0.005), 16: (-1.5e-4, 5e-6), 32: (-2.3e-9, 5e-11)}
_VARIANCE = {16: 1e-10, 32: 1e-11}


@dataclass(frozen=True, slots=True)
class Shipped:
    """One design on one key size.

    Args:
        report: What quantisation did, the paper's (ε^Q, δ^Q) included.
        forward: Exact δ at ε^Q of a count against the next; not a number without full support.
        needed: The exact ε at δ^Q, both directions; infinite where there is none.
    """

    bits: int
    epsilon: float
    delta: float
    report: RowReport
    forward: float
    backward: float
    needed: float

    @property
    def full(self) -> bool:
        """Whether every value of the design still has a key."""
        return not self.report.lost


@lru_cache(maxsize=1)
def shipped() -> tuple[Shipped, ...]:
    """All 75 designs, quantised and audited."""
    return tuple(_ship(bits, epsilon) for bits in BITS for epsilon in EPSILONS)


def _ship(bits: int, epsilon: float) -> Shipped:
    design = ideal_abs(epsilon, D)
    table = quantise(design, 2**bits, "ceiling")
    report = quantisation_report(design, table).last
    forward = backward = math.nan
    if not report.lost:
        point = curve(table, [report.paper_epsilon])[0]
        forward, backward = float(point.delta_forward), float(point.delta_backward)
    needed = exact_epsilon(table, delta=report.paper_delta)
    return Shipped(bits, epsilon, guide_delta(epsilon, D), report, forward, backward, needed)


def _of(bits: int, *, full: bool = False) -> list[Shipped]:
    return [each for each in shipped() if each.bits == bits and (each.full or not full)]


def experiments(_effort: Effort) -> Exhibit:
    """Support, bias and variance for three key sizes."""
    findings = [finding for bits in BITS for finding in _experiment(bits)]
    note = (
        "B^Q is -D/KEYSIZE exactly. The printed errors of the variance on 2^16 and 2^32 keys are too small: one key is a "
        "probability of 1.5e-5 and 2.3e-10, and the variance cannot be known much better."
    )
    return Exhibit(
        "experiments",
        "What quantisation does to support, bias and variance (D = 10)",
        tuple(findings),
        note=note,
    )


def _experiment(bits: int) -> list[Finding]:
    on, every, full = f"2^{bits} keys", _of(bits), _of(bits, full=True)
    bias, rounding = _BIAS[bits]
    errors = [abs(each.report.variance_error) for each in every]
    findings = [
        Finding(f"{on}: last ε with full support", _LAST_FULL[bits], full[-1].epsilon),
        Finding(f"{on}: bias B^Q", bias, float(every[0].report.bias), rounding),
    ]
    if bits == BITS[0]:
        largest = max(abs(each.report.variance_error) for each in full)
        what = f"{on}: largest relative error of the variance with full support"
        return [
            *findings,
            Finding(what, 0.01, largest, 0.005),
            Finding(f"{on}: and without", None, max(errors)),
        ]
    printed = _VARIANCE[bits]
    median = float(np.median(errors))
    why = f'"In the order of {printed:g}" does not follow: the median is {median:.2g}, the largest {max(errors):.2g}.'
    what = f"{on}: relative error of the variance, order of"
    # "in the order of": up to half an order of magnitude above the print
    return [*findings, Finding(what, printed, median, (math.sqrt(10) - 1) * printed, why)]


def figure_4(_effort: Effort) -> Exhibit:
    """ε^Q against ε, and the exact ε at δ^Q."""
    findings = [
        *(_words(bits, "ε^Q > ε", lambda each: each.report.paper_epsilon > each.epsilon) for bits in BITS),
        *(_words(bits, "the exact ε at δ^Q exceeds ε^Q", _needs_more) for bits in BITS),
    ]
    note = (
        "ε^Q is drawn where the support is full. As the paper says it exceeds ε on 2^8 keys and is close to it or lower "
        "on 2^16 and 2^32. But it looks at one direction: the ε that both directions need at δ^Q is larger on 2^16 keys."
    )
    title = "ε after quantisation against ε of the design"
    return _figure("figure 4", title, findings, "epsilon_after", note)


def figure_5(_effort: Effort) -> Exhibit:
    """δ^Q against δ, and the exact δ at ε^Q."""
    findings = [
        *(_words(bits, "δ^Q > δ", lambda each: float(each.report.paper_delta) > each.delta) for bits in BITS),
        *(_words(bits, "the reverse exceeds δ^Q at ε^Q", _reverse_is_worse) for bits in BITS),
    ]
    note = (
        "δ^Q is drawn where the support is full. On 2^8 keys it exceeds δ, as the paper says; on 2^16 and 2^32 keys it "
        "exceeds δ too, by less than one key: the ceiling adds to the lower end. At ε^Q the reverse direction can have "
        "twice δ^Q: its largest ratio lies inside the support, where eq. 45 does not look."
    )
    title = "δ after quantisation against δ of the design"
    return _figure("figure 5", title, findings, "delta_after", note)


def _figure(name: str, title: str, findings: list[Finding], picture: str, note: str) -> Exhibit:
    curves = _records()
    return Exhibit(
        name,
        title,
        (*findings, *_worst_case()),
        picture=drawn("sadeghi2022", picture, curves),
        note=note,
        extra={"curves": curves},
    )


def _needs_more(each: Shipped) -> bool:
    return each.needed > each.report.paper_epsilon * (1 + 1e-12)


def _reverse_is_worse(each: Shipped) -> bool:
    return each.backward > float(each.report.paper_delta)


def _words(bits: int, what: str, holds: Any) -> Finding:
    """In how many designs with full support something holds: the paper says it in words."""
    full = _of(bits, full=True)
    return Finding(
        f"2^{bits} keys: designs of {len(full)} where {what}", None, sum(holds(each) for each in full)
    )


def _worst_case() -> tuple[Finding, ...]:
    """2^16 keys at ε = 1.7, the last design with full support: the paper's figures and the exact ones."""
    last = _of(16, full=True)[-1]
    at = f"2^16 keys, design ε = {last.epsilon:g}"
    return (
        Finding(f"{at}: ε^Q (eq. 45)", None, last.report.paper_epsilon),
        Finding(f"{at}: δ^Q (eq. 46)", None, float(last.report.paper_delta)),
        Finding(f"{at}: exact δ at ε^Q, a count against the next", None, last.forward),
        Finding(f"{at}: exact δ at ε^Q, the reverse", None, last.backward),
        Finding(f"{at}: exact ε at δ^Q, both directions", None, last.needed),
    )


def _records() -> list[dict[str, Any]]:
    """One record a design; numbers that do not exist are None, as JSON wants."""
    return [
        {
            "keys": f"2^{each.bits}",
            "epsilon": each.epsilon,
            "delta": each.delta,
            "full_support": each.full,
            "paper_epsilon": each.report.paper_epsilon if each.full else None,
            "paper_delta": float(each.report.paper_delta),
            "delta_forward": each.forward if each.full else None,
            "delta_backward": each.backward if each.full else None,
            "exact_epsilon": each.needed if math.isfinite(each.needed) else None,
        }
        for each in shipped()
    ]
