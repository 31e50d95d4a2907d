"""The budget of a joint universe as data: the error of each table, what leaving something out would gain, and the curve.

tables      {variables, epsilon, delta, p_exact, expected_abs_error, standard_deviation}: epsilon is that of the table
            by itself. Together they cost less than the sum: they are made of the same residuals
if_dropped  {variable, d, expected_abs_error, expected_abs_error_now}: a variable or a level of a hierarchy
curve       {epsilon, expected_abs_error}: the mean over all declared tables, at other epsilons and the same delta
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.protect.joint_plan import joint_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin
    from discreet.protect.joint_errors import JointErrors
    from discreet.protect.joint_plan import JointPlan
    from discreet.protect.plan import NoisePlan

#: Where the curve is told, in parts of the epsilon of the terms.
CURVE = tuple(Fraction(eighths, 8) for eighths in (1, 2, 4, 6, 8, 12, 16, 24, 32))


def joint_tables(plan: NoisePlan, joint: JointPlan) -> list[dict[str, Any]]:
    """Each declared table by itself; a public total has no noise and is left out."""
    return [
        {
            "variables": list(margin),
            "epsilon": joint.table_epsilon(margin, plan.terms),
            "delta": float(plan.terms.delta),
            "p_exact": joint.errors.most_exact(margin),
            "expected_abs_error": joint.errors.expected_error(margin),
            "standard_deviation": joint.errors.standard_deviation(margin),
        }
        for margin in plan.universe.noisy
    ]


def joint_dropped(plan: NoisePlan, joint: JointPlan, dataset: Dataset) -> list[dict[str, Any]]:
    """What the tables that remain would gain if a variable, or a level of a hierarchy, were left out."""
    found = []
    for variable in plan.universe.variables:
        rest = plan.universe.without(variable, dataset)
        kept = rest.noisy
        if kept:
            then = joint_errors(dataset, rest, plan.terms)
            found.append(
                {
                    "variable": variable,
                    "d": len(kept),
                    "expected_abs_error": _mean(then, kept),
                    "expected_abs_error_now": _mean(joint.errors, kept),
                }
            )
    return found


def joint_curve(plan: NoisePlan, dataset: Dataset) -> list[dict[str, float]]:
    """The mean expected error of all declared tables at some epsilons."""
    margins, found = plan.universe.noisy, []
    for part in CURVE:
        epsilon = plan.terms.epsilon * part
        with suppress(BadDescription):  # an epsilon that is too large for tables of 2^64 keys at this delta
            error = _mean(_errors_at(plan, dataset, epsilon), margins)
            found.append({"epsilon": float(epsilon), "expected_abs_error": error})
    return found


def _errors_at(plan: NoisePlan, dataset: Dataset, epsilon: Fraction) -> JointErrors:
    terms = replace(plan.terms, epsilon=epsilon, cap_epsilon=max(epsilon, plan.terms.cap_epsilon))
    return joint_errors(dataset, plan.universe, terms)


def _mean(errors: JointErrors, margins: Iterable[Margin]) -> float:
    found = [errors.expected_error(margin) for margin in margins]
    return math.fsum(found) / len(found)
