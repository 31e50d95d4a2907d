"""The best composition: every argument that applies is made, and the claim is the one with the smallest epsilon.

    basic      always                    sums of exact figures
    exact      few tables of one kind    product of their distributions
    pld        extra installed           privacy-loss distribution of the shipped integers
    zcdp       Laplace, Gaussian         ideal distribution + (1 + e^epsilon) x cells x distance in delta
    gaussian   rounded normal            the same with the Gaussian trade-off
    joint      residuals                 the Gaussian trade-off of the worst-case L2 sensitivity; grid, lattices and
                                         distance in delta

Each holds for one record; a unit of r records follows by group privacy (basic, exact, pld) or by r^2 rho and r mu.
All are valid upper bounds, so the smallest is valid, too.

Source: docs/methods/dp.md has the proofs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from discreet.model.messages.text import message
from discreet.model.privacy_budget import round_up_to_units
from discreet.noise.families import ideal_distribution
from discreet.privacy import accounting
from discreet.privacy.claim import Claim, float_down, float_up, group_delta
from discreet.privacy.composition import gaussian_delta_above, total_mu
from discreet.protect.joint_plan import least_epsilon

if TYPE_CHECKING:
    from discreet.protect.plan import NoisePlan


class Figure(NamedTuple):
    """A valid epsilon and delta by one argument, rounded up to the ledger's units."""

    epsilon: Fraction
    delta: Fraction


def figures(plan: NoisePlan) -> dict[str, Figure]:
    """Every figure that applies to a plan at the delta of its terms; those that cannot reach it are left out."""
    return dict(_figures(replace(plan, claim=None), with_pld=accounting.available()))


@lru_cache(maxsize=64)
def _figures(plan: NoisePlan, *, with_pld: bool) -> dict[str, Figure]:
    delta = plan.terms.delta
    if plan.joint is not None:
        epsilon, reached = plan.joint.epsilon(plan.terms, float_down(delta))
        return {"joint": Figure(*round_up_to_units(epsilon, reached))} if math.isfinite(epsilon) else {}
    found = {
        "basic": basic_figure(plan),
        "exact": _exact(plan),
        "pld": _loss_distribution(plan) if with_pld else None,
        "zcdp": _by_ideal(plan, _zcdp_curve(plan)),
        "gaussian": _by_ideal(plan, _gaussian_curve(plan)),
    }
    return {name: figure for name, figure in found.items() if figure is not None and figure.delta <= delta}


def best_claim(plan: NoisePlan) -> Claim | None:
    """The claim made at load, or the one with the smallest epsilon; None if no argument reaches the delta of the terms."""
    found = {} if plan.claim else figures(plan)
    method = min(found, key=found.__getitem__, default=None)
    return plan.claim if method is None else claim_of(plan, method, found[method])


def with_claim(plan: NoisePlan) -> NoisePlan:
    """The plan with its claim, which does not depend on later installations."""
    return replace(plan, claim=best_claim(plan))


def claim_of(plan: NoisePlan, method: str, figure: Figure) -> Claim:
    """A figure of a plan as a claim."""
    terms = plan.terms
    return Claim(
        figure.epsilon,
        figure.delta,
        method,
        neighbours=terms.neighbours,
        records_per_unit=terms.records_per_unit,
        invariants=terms.invariants,
        cells=plan.d,
        scope=message("All answers from the declared tables of this version together"),
    )


def basic_figure(plan: NoisePlan) -> Figure | None:
    """The sums of exact figures, at their own delta; None for noise scaled by rho."""
    if plan.currency != "epsilon":
        return None
    epsilon, delta = accounting.basic_composition(plan.spent(), plan.terms.changes)
    return _for_units(plan, epsilon, delta)


def _exact(plan: NoisePlan) -> Figure | None:
    delta = _delta_of_a_record(plan)
    epsilon = accounting.same_table_epsilon(plan.spent(), plan.terms.changes, Fraction(delta))
    return None if epsilon is None else _for_units(plan, epsilon, delta)


def _loss_distribution(plan: NoisePlan) -> Figure | None:
    delta = _delta_of_a_record(plan)
    losses = accounting.LossDistribution(Counter(each.noise for each in plan.tables), plan.terms.changes)
    return _for_units(plan, losses.epsilon(delta), delta)


def _delta_of_a_record(plan: NoisePlan) -> float:
    """A delta for one record that gives a unit of r records the delta of the terms, if it costs at most E."""
    r = plan.terms.records_per_unit
    share = float(plan.terms.epsilon) / r
    return float(plan.terms.delta) * (1 - 1e-9) / group_delta(1e-300, share, r) * 1e-300


def _for_units(plan: NoisePlan, epsilon: Fraction | float, delta: Fraction | float) -> Figure | None:
    """The figure of one record as one for a unit; None if it is infinite."""
    if not math.isfinite(epsilon):
        return None
    r, loss = plan.terms.records_per_unit, Fraction(epsilon)
    failure = delta if r == 1 else group_delta(float_up(Fraction(delta)), float_up(loss), r)
    return Figure(*round_up_to_units(r * loss, failure))


def _zcdp_curve(plan: NoisePlan) -> Callable[[float], float] | None:
    rhos = [(accounting.ideal_rho(part.table), part.times) for part in plan.spent()]
    if any(rho is None for rho, _ in rhos):
        return None
    r, changes = plan.terms.records_per_unit, plan.terms.changes
    rho = changes * r * r * float(sum(times * (each or Fraction(0)) for each, times in rhos)) * (1 + 1e-12)
    return lambda epsilon: accounting.zcdp_delta(rho, epsilon)


def _gaussian_curve(plan: NoisePlan) -> Callable[[float], float] | None:
    distributions = [(ideal_distribution(part.table), part) for part in plan.spent()]
    variances = [
        distribution.scale_of(part.table)
        for distribution, part in distributions
        if distribution and distribution.rounded_normal
        for _ in range(part.times)
    ]
    if len(variances) < plan.d:
        return None
    mu = plan.terms.records_per_unit * total_mu(variances, plan.terms.changes) * (1 + 1e-12)
    return lambda epsilon: gaussian_delta_above(mu, epsilon)


def _by_ideal(plan: NoisePlan, curve: Callable[[float], float] | None) -> Figure | None:
    """The smallest epsilon at which the ideal delta plus the distance of the shipped tables stays within delta."""
    distances = [accounting.distance_to_ideal(part.table) for part in plan.spent()]
    if curve is None or any(each is None for each in distances):
        return None
    cells = plan.terms.changes * plan.terms.records_per_unit
    total = sum(
        (part.times * (each or Fraction(0)) for part, each in zip(plan.spent(), distances, strict=True)),
        Fraction(0),
    )

    def delta_at(epsilon: float) -> float:
        return accounting.add_distance(curve(epsilon), epsilon, cells, total)

    epsilon = least_epsilon(delta_at, float_down(plan.terms.delta), doublings=19)
    return Figure(*round_up_to_units(epsilon, delta_at(epsilon))) if math.isfinite(epsilon) else None
