"""Own noise for every table, sums of the largest, or residuals of all? Standard deviations, before anything is spent.

    sd(table) = least over released margins that contain it of  sqrt(cells(margin) / cells(table)) x sd(margin's noise)

A joint universe has one variance a residual, for the least weighted error of all tables (`joint_plan`).
With noise of its own a small table has few terms but shares the budget with all others; as a sum it has many
terms of noise that shares with few. Which is better depends on how many variables are added up.

Source: Rinott et al. (2018), section 7, where it is 14/eps, 8.5/eps and 21/eps (`spread.margin_advice`).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.universe import STYLES, candidates, contains, margin_cells
from discreet.protect.joint_plan import joint_errors
from discreet.protect.plan import shares_of

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin
    from discreet.protect.plan import NoisePlan


def style_advice(plan: NoisePlan, dataset: Dataset) -> dict[str, Any]:
    """The mean standard deviation of the declared tables' cells under each style, and which is smallest."""
    found = {style: _mean_deviation(plan, dataset, style) for style in STYLES if style != "joint"}
    with suppress(BadDescription):  # where the terms do not fit Gaussian residuals
        found["joint"] = _joint_deviation(plan, dataset)
    best = min(found, key=lambda style: (found[style], style))
    here = plan.universe.style
    advice = (
        f'margins = "{here}" has the smaller mean standard deviation.'
        if best == here
        else f'margins = "{best}" would have the smaller mean standard deviation, {found[best]:.3g} for {found[here]:.3g}.'
    )
    return {**found, "advice": advice}


def _joint_deviation(plan: NoisePlan, dataset: Dataset) -> float:
    errors = joint_errors(dataset, plan.universe, plan.terms)
    asked = plan.universe.noisy
    return math.fsum(map(errors.standard_deviation, asked)) / len(asked)


def _mean_deviation(plan: NoisePlan, dataset: Dataset, style: str) -> float:
    universe, terms = plan.universe, plan.terms
    margins = candidates(universe.declared, style, dataset, universe.known)
    shares = shares_of(dataset, replace(universe, style=style, margins=margins), terms, plan.currency)
    asked = universe.noisy
    return math.fsum(_deviation(margin, shares, plan, dataset) for margin in asked) / len(asked)


def _deviation(table: Margin, shares: dict[Margin, Fraction], plan: NoisePlan, dataset: Dataset) -> float:
    """The least standard deviation of a cell of a table, by whichever released margin answers it."""
    cells = margin_cells(table, dataset)
    return min(
        math.sqrt(margin_cells(margin, dataset) / cells) * _noise(float(share), plan)
        for margin, share in shares.items()
        if contains(margin, table, dataset)
    )


def _noise(share: float, plan: NoisePlan) -> float:
    """The standard deviation of one cell's noise at a share of the budget, from the ideal laws."""
    r, changes = plan.terms.records_per_unit, plan.terms.changes
    if plan.currency == "epsilon":
        return 1 / (math.sqrt(2) * math.sinh(share / (2 * changes * r)))
    return math.sqrt(changes * r * r / (2 * share))
