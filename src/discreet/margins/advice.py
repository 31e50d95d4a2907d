"""Advice before spending: what each method's error will be, which to take, and why.

Every figure is a function of the wanted margins, the budget and the neighbours; no count is looked at, so
asking costs nothing. For Fourier and Efron-Stein the figure is that of the unbiased margins before the linear
program and rounding, whose effect depends on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from discreet.errors import BadRequest
from discreet.margins.holistic import Holistic
from discreet.margins.importance import margin_weights
from discreet.margins.independent import independent
from discreet.margins.optimum import optimum
from discreet.margins.residual_basis import GaussianOptimum
from discreet.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.margins.closure import Axes, MarginSet
    from discreet.margins.least_squares import MeasuredMargins

    MarginMethod = Holistic | MeasuredMargins | GaussianOptimum

Method = Literal["fourier", "efron-stein", "independent", "independent-consistent", "optimum"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Advice:
    """The expected errors of all methods that fit the table.

    Args:
        by_margin: Method to margin to mean absolute error of a cell.
        overall: Method to the weighted mean over margins.
        recommended: The method with the least.
        why: One sentence.
    """

    by_margin: Mapping[str, Mapping[Axes, float]]
    overall: Mapping[str, float]
    recommended: str
    why: str


def plan_of(
    method: str,
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
    as_published: bool = False,
) -> MarginMethod:
    """The plan of a method at a budget.

    Fourier and Efron-Stein noise is pure ε whatever the δ; "independent" and "optimum" use the δ if it helps.
    """
    if method not in METHODS:
        raise BadRequest(f'The method "{method}" is not known.', nearest(method, METHODS))
    if method == "fourier":
        return Holistic(wanted, "fourier", epsilon, neighbours, as_published)
    if method == "efron-stein":
        return Holistic(wanted, "efron-stein", epsilon, neighbours, as_published)
    if as_published:
        raise BadRequest(
            f'"{method}" is not a method of the paper.', "--as-published goes with fourier or efron-stein."
        )
    if method == "optimum":
        return optimum(wanted, epsilon, delta, neighbours=neighbours, weights=weights)
    consistent = method == "independent-consistent"
    return independent(wanted, epsilon, delta, neighbours=neighbours, consistent=consistent)


def advise(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> Advice:
    """Compare all methods that fit the table.

    >>> from discreet.margins.closure import parse_margins
    >>> advise(parse_margins("AB,BC,CD", "ABCD", (2, 2, 2, 2)), 1.0).recommended
    'optimum'
    """
    methods = [method for method in METHODS if method != "fourier" or wanted.is_binary]
    share = dict(zip(wanted.margins, margin_weights(wanted, weights).tolist(), strict=True))
    plans = {
        method: plan_of(method, wanted, epsilon, delta, neighbours=neighbours, weights=weights)
        for method in methods
    }
    by_margin = {
        method: {margin: plan.expected_error(margin) for margin in wanted.margins}
        for method, plan in plans.items()
    }
    overall = {
        method: math.fsum(share[margin] * error for margin, error in errors.items())
        for method, errors in by_margin.items()
    }
    best = min(reversed(METHODS), key=lambda method: round(overall.get(method, math.inf), 9))
    return Advice(by_margin, overall, best, _why(best, plans, overall))


def _why(best: str, plans: Mapping[str, MarginMethod], overall: Mapping[str, float]) -> str:
    """One sentence for the custodian."""
    plain = overall["independent"]
    saved = f"{100 * (1 - overall[best] / plain):.0f} %" if plain else "0 %"
    plan = plans[best]
    if best == "independent":
        return "No method has a smaller expected error than independent noise on each margin."
    if isinstance(plan, Holistic):
        return f"Few coefficients describe these margins: the error is {saved} below independent noise."
    if isinstance(plan, GaussianOptimum):
        return (
            f"Gaussian noise on each margin's own part uses what the margins share and the delta: "
            f"the expected error is {saved} below independent noise, and the margins agree."
        )
    if not plan.consistent:
        return "The noise is below one count: whole numbers from independent noise beat averages."
    return (
        f"Sharing epsilon by what each margin needs, then least squares: "
        f"the expected error is {saved} below independent noise, and the margins agree."
    )
