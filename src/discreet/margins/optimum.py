"""The optimum at a budget: the best of the Laplace and Gaussian optimum, never worse than equal splits.

Pure ε (δ = 0) allows Laplace noise only. With a δ Gaussian noise wins once a person is in several margins;
for one or two margins Laplace noise is often better, and it is allowed there too. Where the noise is below
one count, whole numbers that need not agree beat least squares, whose answers are fractions; then plain
independent noise is the optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.margins.importance import overall_error
from discreet.margins.independent import independent
from discreet.margins.laplace_optimum import laplace_optimum
from discreet.margins.residual_basis import gaussian_optimum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.margins.closure import Axes, MarginSet
    from discreet.margins.least_squares import MeasuredMargins
    from discreet.margins.residual_basis import GaussianOptimum


def optimum(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> MeasuredMargins | GaussianOptimum:
    """The plan with the least weighted mean absolute error at (ε, δ).

    >>> from discreet.margins.closure import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (0, 2), (1, 2)))
    >>> round(overall_error(optimum(wanted, 1.0)), 2) < 2.95  # independent noise: 2.95
    True
    """
    plans: list[MeasuredMargins | GaussianOptimum] = [
        laplace_optimum(wanted, epsilon, neighbours=neighbours, weights=weights),
        independent(wanted, epsilon, neighbours=neighbours, consistent=True),
        independent(wanted, epsilon, delta, neighbours=neighbours),
    ]
    if delta > 0:
        plans.append(gaussian_optimum(wanted, epsilon, delta, neighbours=neighbours, weights=weights))
    return min(plans, key=lambda plan: overall_error(plan, weights))
