"""What the paper proves, checked: the vectors of Example 3, and the scale of Theorem 2.

Source: Yang, Fienberg & Rinaldo (2012), section 3.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.margins.bases import efron_stein_coefficients
from discreet.margins.margin_set import MarginSet, margin_tables, parse_margins
from discreet.margins.sensitivity import coefficient_scaling, paper_epsilon, sensitivity
from discreet_studies.exhibit import Effort, Exhibit, Finding, drawn
from discreet_studies.yang2012.runs import dataset


def example_3(_effort: Effort) -> Exhibit:
    """The vectors f^{S,x} of S = {3} in a 2 × 2 × 2 table, entry by entry."""
    wanted = parse_margins("C", "ABC", (2, 2, 2))
    printed = np.where(np.arange(8) % 2 == 0, 0.125, -0.125)
    findings = []
    for category, sign in ((0, 1), (1, -1)):
        for cell, entry in enumerate(sign * printed):
            unit = np.zeros(8, dtype=np.int64)
            unit[cell] = 1
            exact = margin_tables(unit.reshape(2, 2, 2), wanted)
            ours = efron_stein_coefficients(exact, wanted)[2,][category] / coefficient_scaling(
                wanted, "efron-stein"
            )
            findings.append(Finding(f"f^{{3}},{category} entry {cell + 1}", float(entry), float(ours)))
    return Exhibit("example 3", "Efron-Stein vectors of a 2 × 2 × 2 table", tuple(findings))


def theorem_2(_effort: Effort) -> Exhibit:
    """Where Theorem 2's scale is too small: by hand for journey, and for k × k tables."""
    journey = dataset("journey").wanted
    why = (
        "The proof takes every entry of f^{S,x} for ±1/Πk; where the person is at x it is Π_{S}(k_j - 1) times "
        "that. At 1.32/ε the release is not ε-DP (table 8)."
    )
    findings = [
        Finding(f"Journey: L1 sensitivity, {way}", 1.32, sensitivity(journey, "efron-stein", way), 0.005, why)
        for way in ("add-remove", "replace-one")
    ]
    findings.append(Finding("Journey: largest entry of f^{S,x}", 1 / 256, _largest_entry(journey), 0.0, why))
    records: list[dict[str, Any]] = [
        {
            "k": k,
            "neighbours": neighbours,
            "epsilon": paper_epsilon(_square(k), "efron-stein", neighbours, 1.0),
        }
        for k in range(2, 13)
        for neighbours in ("add-remove", "replace-one")
    ]
    enough = max(r["k"] for r in records if r["neighbours"] == "add-remove" and r["epsilon"] <= 1)
    findings.append(
        Finding("one k × k margin, add-remove: largest k for which Theorem 2 holds", None, enough)
    )
    return Exhibit(
        "theorem 2",
        "The scale of Theorem 2 and the scale that is needed",
        tuple(findings),
        picture=drawn("yang2012", "real_epsilon", records),
        note=(
            "A factor of two to spare hides the error for few categories: for a single k × k margin the published "
            f"scale is ε-DP (add-remove) up to k = {enough}."
        ),
        extra={"curves": records},
    )


def _square(k: int) -> MarginSet:
    return MarginSet(("A", "B"), (k, k), ((0, 1),))


def _largest_entry(wanted: MarginSet) -> float:
    """The largest |entry| of f^{S,x}: the coefficients of a table with one person."""
    unit = np.zeros(wanted.shape, dtype=np.int64)
    unit[(0,) * unit.ndim] = 1
    coefficients = efron_stein_coefficients(margin_tables(unit, wanted), wanted)
    largest = max(int(np.abs(c).max()) for c in coefficients.values())
    return largest / coefficient_scaling(wanted, "efron-stein")
