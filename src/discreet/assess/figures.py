"""The pictures of an assessment: the numbers that each one shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.assess.assessment import Assessment, Outcome
from discreet.assess.risk_utility import SMALL
from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import LEVEL
from discreet.model.messages.text import nearest

#: Titles of the box plots by measure.
BOXES = {
    "l1": "Mean absolute error of a cell",
    "hellinger": "Hellinger distance",
    "cramers_v": "Cramér's V, naive (dashed: true)",
    "total_variation": "Total variation of the MLEs",
    "chi_square": "Chi-square statistic (dashed: true)",
    "p_value": "p-value of independence (dashed: true)",
}
#: Axes of the box plots; logarithmic by default.
SCALES = {"p_value": "share", "cramers_v": "plain"}
#: The position of families without an epsilon.
WITHOUT = "no epsilon"


def place_of(outcome: Outcome) -> str:
    """The position of a case on an axis of epsilons."""
    epsilon = outcome.case.epsilon
    return WITHOUT if epsilon is None else f"{epsilon:g}"


def figure(found: Assessment, name: str) -> Any:
    """A picture by its name, as a chart.

    Raises:
        BadRequest: No such picture, or one that this table does not have.
    """
    if name not in FIGURES:
        raise BadRequest(f'There is no picture "{name}".', nearest(name, FIGURES))
    chart = FIGURES[name](found)
    if chart is None:
        raise BadRequest(
            f'This table has no picture "{name}".', "Tests need a table with two sides: rows and columns."
        )
    return chart


def boxes(found: Assessment) -> Any:
    """Box plots by epsilon."""
    from discreet.pictures import assessment_charts as pictures  # noqa: PLC0415 - pictures are an extra

    measures = [m for m in BOXES if any(m in o.simulated for o in found.outcomes) and _telling(found, m)]
    ordered = sorted(found.outcomes, key=lambda o: (o.case.epsilon is None, o.case.epsilon or 0.0))
    records = [box for measure in measures for o in ordered for box in _box(o, measure)]
    truths = [
        {"measure": BOXES[m], "value": value}
        for m in measures
        if (value := getattr(found.truth, m, None)) is not None
    ]
    subtitle = (
        f"{found.reps} simulated releases each: median, quartiles, and lines from the 5 % to the 95 % point"
    )
    return pictures.boxes(_same_families(records, found), truths, subtitle)


def _telling(found: Assessment, measure: str) -> bool:
    """Whether a panel is informative: p-values that are all close to 0 are not."""
    found_p = [o.simulated[measure].high for o in found.outcomes if measure in o.simulated]
    return measure != "p_value" or max(found_p) > LEVEL


def _same_families(records: list[dict[str, Any]], found: Assessment) -> list[dict[str, Any]]:
    """The records with families in the order of the assessment, because the first record of each decides."""
    order = {family: k for k, family in enumerate(dict.fromkeys(o.case.family for o in found.outcomes))}
    places = {place: k for k, place in enumerate(dict.fromkeys(record["place"] for record in records))}
    titles = list(BOXES.values())
    return sorted(records, key=lambda r: (titles.index(r["measure"]), places[r["place"]], order[r["family"]]))


def _box(outcome: Outcome, measure: str) -> list[dict[str, Any]]:
    values = outcome.draws.get(measure)
    if measure not in outcome.simulated or values is None:
        return []
    per_cell = outcome.expected.cells if measure == "l1" else 1
    marks = np.quantile(values[np.isfinite(values)] / per_cell, (0.05, 0.25, 0.5, 0.75, 0.95))
    names = ("low", "lower", "median", "upper", "high")
    return [
        {"measure": BOXES[measure], "family": outcome.case.family, "place": place_of(outcome)}
        | {"scale": SCALES.get(measure, "log")}
        | {name: float(mark) for name, mark in zip(names, marks, strict=True)}
    ]


def risk_utility_map(found: Assessment) -> Any:
    """The risk-utility map; None where RM is undefined."""
    from discreet.pictures import assessment_charts as pictures  # noqa: PLC0415 - pictures are an extra

    unbeaten = {id(outcome) for outcome in found.unbeaten()}
    records = [
        {
            "family": o.case.family,
            "place": "" if o.case.epsilon is None else f"{o.case.epsilon:g}",
            "loss": o.simulated["hellinger"].mean,
            "risk": o.simulated["rm"].mean,
            "order": o.case.epsilon or 0.0,
            "unbeaten": id(o) in unbeaten,
        }
        for o in found.outcomes
        if "rm" in o.simulated
    ]
    subtitle = "Means of the simulated releases; numbers are epsilons. Right and low is best."
    return pictures.risk_utility(records, subtitle) if records else None


def confirmation(found: Assessment) -> Any:
    """Of the cells shown with a small count, the share that has it."""
    from discreet.pictures import assessment_charts as pictures  # noqa: PLC0415 - pictures are an extra

    records = [
        _bar(o, o.expected.confirmation_small, none=f"none shown from 1 to {SMALL}") for o in found.outcomes
    ]
    subtitle = f"Of the cells shown as 1 to {SMALL}, how many are what they show; exact expectations"
    return pictures.shares(
        records,
        "Small counts that a reader can believe",
        "Shown small counts that are true",
        subtitle,
        most=1.0,
    )


def false_zeros(found: Assessment) -> Any:
    """Cells with people that are shown empty."""
    from discreet.pictures import assessment_charts as pictures  # noqa: PLC0415 - pictures are an extra

    records = [_bar(o, o.expected.false_zero_share) for o in found.outcomes]
    occupied = found.outcomes[0].expected.occupied
    subtitle = f"Share of the {occupied:,} cells with people that are shown as zero; exact expectations"
    return pictures.shares(records, "False zeros", "Cells with people shown as zero", subtitle)


def _bar(outcome: Outcome, share: float | None, none: str = "") -> dict[str, Any]:
    note = none if share is None else f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
    return {
        "case": outcome.case.label,
        "family": outcome.case.family,
        "share": share,
        "end": share or 0.0,
        "note": note,
    }


def conclusions(found: Assessment) -> Any:
    """The results of readers' tests; None for a table with one row or column."""
    from discreet.pictures import assessment_charts as pictures  # noqa: PLC0415 - pictures are an extra

    if found.truth.p_value is None:
        return None
    records = [
        {"case": o.case.label, "reader": reader, "share": share}
        for o in found.outcomes
        for reader, share in (("naive", o.same_naive), ("noise-aware", o.same_aware))
        if share is not None
    ]
    verdict = "are associated" if found.truth.associated else "show no association"
    said = [f"{found.sides[0]} and {found.sides[1]} {verdict} in the true table, at 5 %."]
    if found.truth.associated:
        said.append("A naive reader finds an association in noise, too: agreeing is no merit here.")
    return pictures.conclusions(records, said)


FIGURES: dict[str, Callable[[Assessment], Any]] = {
    "map": risk_utility_map,
    "boxes": boxes,
    "confirmation": confirmation,
    "zeros": false_zeros,
    "conclusions": conclusions,
}
