"""A study of one method on a table with known counts: expected errors and advice first, then repeated runs.

Every figure of the advice is a function of the wanted margins, the budget and the neighbours; no count is used. For Fourier
and Efron-Stein it is that of the unbiased margins before the linear program and rounding, whose effect depends on the data.
A study compares released margins with true ones, so it is not a release.

Source: Yang, Fienberg & Rinaldo (2012), section 4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.margins.holistic import Holistic, HolisticRelease
from discreet.margins.integer_noise import SeededNoise
from discreet.margins.least_squares import MeasuredMargins, independent
from discreet.margins.margin_set import Axes, MarginSet, margin_tables, margin_weights, overall_error
from discreet.margins.optimum import GaussianOptimum, optimum
from discreet.margins.sensitivity import Basis
from discreet.model.messages.text import nearest

MarginMethod = Holistic | MeasuredMargins | GaussianOptimum

Method = Literal["fourier", "efron-stein", "independent", "independent-consistent", "optimum"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Advice:
    """The expected errors of all methods that fit the table.

    Args:
        by_margin: Method to margin to mean absolute error of a cell.
        overall: Method to the weighted mean over margins.
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

    Fourier and Efron-Stein noise is pure ε for any δ; "independent" and "optimum" use the δ if it helps.
    """
    if method not in METHODS:
        raise BadRequest(f'The method "{method}" is not known.', nearest(method, METHODS))
    if method in get_args(Basis):
        return Holistic(wanted, cast("Basis", method), epsilon, neighbours, as_published)
    if as_published:
        raise BadRequest(
            f'"{method}" is not a method of the paper.', "--as-published goes with fourier or efron-stein."
        )
    if method == "optimum":
        return optimum(wanted, epsilon, delta, neighbours=neighbours, weights=weights)
    return independent(
        wanted, epsilon, delta, neighbours=neighbours, consistent=method == "independent-consistent"
    )


def advise(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> Advice:
    """Compare all methods that fit the table.

    >>> from discreet.margins.margin_set import parse_margins
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


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a method: the released total, the largest L1 distance of a margin from the truth, and the program's b."""

    sample_size: float
    max_l1: float
    lp_b: float | None
    margins: Mapping[Axes, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Study:
    """A method at a budget on a table: expected errors and runs.

    Args:
        delta: As requested; a pure method guarantees 0.
        expected_error: Of this plan, the published scale included.
        advice: Of all methods at their true scale.
    """

    method: str
    plan: MarginMethod
    delta: float
    expected_error: float
    advice: Advice
    runs: tuple[Run, ...]

    def notes(self) -> tuple[str, ...]:
        """The guarantee, and where the published scale breaks it."""
        plan = self.plan
        delta = 0.0 if isinstance(plan, Holistic) else plan.delta  # pure methods use none
        budget = f"({plan.epsilon:g}, {delta:g})-DP" if delta else f"{plan.epsilon:g}-DP"
        said = [f"{budget} for {plan.neighbours} neighbours."]
        if isinstance(plan, Holistic) and plan.as_published:
            true = plan.true_epsilon
            said = [
                f"As published: not {plan.epsilon:g}-DP. With the paper's scale this is {true:.4g}-DP for "
                f"{plan.neighbours} neighbours, because Theorem 2 understates the sensitivity."
                if true > plan.epsilon * (1 + 1e-12)
                else f"As published: the paper's scale is larger than needed; this is {true:.4g}-DP for "
                f"{plan.neighbours} neighbours."
            ]
        if plan.cut_delta:
            said.append(
                f"The noise tables are cut where their keys end: delta is below {plan.cut_delta:.1e}, not 0."
            )
        return (*said, f"Recommended: {self.advice.recommended}. {self.advice.why}")

    def as_json(self) -> dict[str, Any]:
        """The study with its documented keys; margins are included if there is one run."""
        wanted, shown = self.plan.wanted, len(self.runs) == 1
        scales = {wanted.label(margin): scale for margin, scale in self.plan.scales.items()}
        return {
            "method": self.method,
            "epsilon": self.plan.epsilon,
            "delta": self.delta,
            "neighbours": self.plan.neighbours,
            "cells": wanted.table_cells,
            "coefficients": self.plan.coefficients,
            "sensitivity": self.plan.sensitivity,
            "scale": scales if len(set(scales.values())) > 1 else next(iter(scales.values())),
            "expected_error": {**self.advice.overall, self.method: self.expected_error},
            "recommended": self.advice.recommended,
            "runs": [
                {"sample_size": run.sample_size, "max_l1": run.max_l1, "lp_b": run.lp_b}
                | (
                    {"margins": {wanted.label(m): each.tolist() for m, each in run.margins.items()}}
                    if shown
                    else {}
                )
                for run in self.runs
            ],
        }


def study(
    counts: NDArray[np.int64],
    wanted: MarginSet,
    method: str,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
    as_published: bool = False,
    reps: int = 1,
    seed: int | None = None,
) -> Study:
    """Plan, advise and run a method `reps` times with seeded noise.

    >>> from discreet.margins.margin_set import parse_margins
    >>> from discreet.margins.sensitivity import paper_table
    >>> czech = paper_table("czech")
    >>> wanted = parse_margins("BF,ADE,ABCE", czech.names, czech.shape)
    >>> study(czech.counts, wanted, "fourier", 1.0, as_published=True, reps=2, seed=1).as_json()["scale"]
    5.5
    """
    if reps < 1:
        raise BadRequest(f"--reps is {reps}.", "Give a whole number of at least 1.")
    relation: dict[str, Any] = {"neighbours": neighbours, "weights": weights}
    plan = plan_of(method, wanted, epsilon, delta, as_published=as_published, **relation)
    advice = advise(wanted, epsilon, delta, **relation)
    source, exact = SeededNoise(seed), margin_tables(counts, wanted)
    runs = tuple(_run(plan, exact, source) for _ in range(reps))
    return Study(method, plan, delta, overall_error(plan, weights), advice, runs)


def _run(plan: MarginMethod, exact: Mapping[Axes, NDArray[np.int64]], source: SeededNoise) -> Run:
    released = plan.release(exact, source)
    if isinstance(released, HolisticRelease):
        return Run(released.sample_size, largest_l1(released.margins, exact), released.lp_b, released.margins)
    total = float(released[plan.wanted.margins[0]].sum())
    return Run(total, largest_l1(released, exact), None, released)


def largest_l1(margins: Mapping[Axes, NDArray[Any]], exact: Mapping[Axes, NDArray[np.int64]]) -> float:
    """The largest L1 distance between a released and a true margin (the paper's figure 2)."""
    return max(float(np.abs(table - exact[margin]).sum()) for margin, table in margins.items())
