"""Allocation of a privacy budget to margins: equal, by importance, or optimised for a workload.

    equal        share = E / d
    importance   share = E w / sum of w           (weights 5, 5, 1 x 5 give Rinott's 1/3, 1/3, 1/15)
    optimised    share ~ C^(1/(p+1)),  C = sum over the tables that a margin answers of weight x error at unit budget

where an error falls with the p-th power of the budget: in epsilon (Laplace noise) the variance with p = 2 and the expected
absolute error with p = 1, in rho (Gaussian noise) with p = 1 and 1/2. A table may be answered by its own margin or as
a sum of cells of a larger one, whichever is better; a margin that answers nothing is not released.

Source: Rinott et al. (2018), section 7, whose standard deviations are `margin_advice`.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, BadRequest
from discreet.model.dataset import Dataset
from discreet.model.privacy_budget import Terms
from discreet.model.universe import Margin, Universe, contains, margin_cells
from discreet.privacy.accounting import rho_at, rho_for
from discreet.privacy.claim import float_down

#: An error and the cost of each margin; a margin without cost is not released.
_Settled = tuple[float, NDArray[np.float64]]

#: The part of delta that a plan in rho reserves for the distance of the shipped tables from the ideal distribution.
RESERVED_FOR_DISTANCE = 0.01
#: The search takes seconds for some hundred margins and would take hours for thousands.
MOST_OPTIMISED = 600
#: Up to this many margins every choice is tried.
ALL_CHOICES = 10
#: The search continues from this many of the best starts.
TRIED = 4
#: Shares of the optimum are rounded down to this part of the budget.
GRAIN = 10**9


class Query(NamedTuple):
    """One table of a workload and the weight of its error."""

    margin: Margin
    weight: float


def allocate_by_importance(weights: Mapping[Margin, Fraction], budget: Fraction) -> dict[Margin, Fraction]:
    """In proportion to stated weights.

    >>> weights = {("ses",): Fraction(5), ("all",): Fraction(5)} | {(str(n),): Fraction(1) for n in range(5)}
    >>> [str(share) for share in allocate_by_importance(weights, Fraction(1)).values()][:3]
    ['1/3', '1/3', '1/15']
    """
    total = sum(weights.values(), Fraction(0))
    return {margin: budget * weight / total for margin, weight in weights.items()}


def shares_of(dataset: Dataset, universe: Universe, terms: Terms, currency: str) -> dict[Margin, Fraction]:
    """The share of each released margin, in epsilon or rho; they sum to the whole budget."""
    whole = _whole(terms, currency)
    if terms.spread != "optimised":
        equal = terms.spread == "equal"
        weights = {m: Fraction(1) if equal else universe.weight(m) for m in universe.margins}
        return allocate_by_importance(weights, whole)
    workload = [Query(margin, float(universe.weight(margin))) for margin in universe.noisy]
    return allocate_for_workload(
        workload, universe.margins, dataset, whole, measure=terms.measure, currency=currency
    )


def _whole(terms: Terms, currency: str) -> Fraction:
    if currency == "epsilon":
        return terms.epsilon
    if terms.delta == 0:
        raise BadDescription(
            "Noise that is scaled by rho cannot promise delta 0.",
            "Give a delta, or use a family scaled by epsilon.",
        )
    if terms.composition == "zcdp":
        return rho_at(terms.epsilon, terms.delta)
    delta = float(terms.delta) * (1 - RESERVED_FOR_DISTANCE)
    return Fraction(rho_for(float_down(terms.epsilon), delta))


def allocate_for_workload(
    workload: Sequence[Query],
    margins: Sequence[Margin],
    dataset: Dataset,
    budget: Fraction,
    *,
    measure: str = "variance",
    currency: str = "epsilon",
) -> dict[Margin, Fraction]:
    """The allocation with a small weighted error of a workload; margins that answer nothing are left out.

    Which margin answers which table is a concave problem with many corners. The search descends from many starts
    and then opens or closes one margin at a time; it finds the optimum of every small case that the tests enumerate,
    and for large ones is a descent: never worse than its best start, and not proved to be the best of all.
    """
    if len(margins) > MOST_OPTIMISED:
        raise BadRequest(
            f"The universe has {len(margins):,} tables; the optimum is searched for up to {MOST_OPTIMISED:,}.",
            "Spread by importance, or declare fewer tables.",
        )
    # Weight times unit error of each query (rows) answered by each margin (columns); infinite if it cannot.
    sizes = [margin_cells(margin, dataset) for margin in margins]
    costs = np.full((len(workload), len(margins)), np.inf)
    for place, query in enumerate(workload):
        cells = margin_cells(query.margin, dataset)
        for column, margin in enumerate(margins):
            if contains(margin, query.margin, dataset):
                costs[place, column] = query.weight * unit_error(sizes[column] / cells, measure, currency)
        if not np.isfinite(costs[place]).any():
            raise BadRequest(
                f"No released table contains {' x '.join(query.margin) or 'the total'} of the workload.",
                "Declare it, or take it out of the workload.",
            )
    power = error_power(measure, currency)
    able = np.isfinite(costs)
    starts = _starts(able)
    settled = [_settle(costs, start, power) for start in starts if able[:, start].any(axis=1).all()]
    settled.sort(key=lambda each: each[0])
    totals = min((_toggle(costs, each, power) for each in settled[:TRIED]), key=lambda each: each[0])[1]
    roots = totals ** (1 / (power + 1))
    shares = {m: float(r) for m, r in zip(margins, roots / roots.sum(), strict=True) if r > 0}
    return _in_grains(shares, budget)


def error_power(measure: str, currency: str) -> float:
    """The power p of the budget by which an error falls."""
    powers = {"epsilon": {"variance": 2.0, "absolute": 1.0}, "rho": {"variance": 1.0, "absolute": 0.5}}
    if currency not in powers or measure not in powers[currency]:
        raise BadRequest(f'There is no measure of error "{measure}".', "Use variance or absolute.")
    return powers[currency][measure]


def unit_error(terms: float, measure: str, currency: str) -> float:
    """The error of a sum of `terms` noises at budget 1, in the limit of small budgets.

    Epsilon (Laplace noise): variance 2K; absolute 2 Gamma(K + 1/2) / (sqrt(pi) Gamma(K)).
    Rho (Gaussian noise, sigma^2 = 1/2): K/2, sqrt(K/pi).

    >>> round(unit_error(1, "absolute", "epsilon"), 12)
    1.0
    """
    if currency == "epsilon":
        if measure == "variance":
            return 2 * terms
        return 2 / math.sqrt(math.pi) * math.exp(math.lgamma(terms + 0.5) - math.lgamma(terms))
    return terms / 2 if measure == "variance" else math.sqrt(terms / math.pi)


def _starts(able: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """The margins that are open at the start: every choice of a few; otherwise all, the needed, and those with one more."""
    margins = able.shape[1]
    if margins <= ALL_CHOICES:
        return [np.array(each, dtype=np.bool_) for each in product((False, True), repeat=margins)]
    needed = able[able.sum(axis=1) == 1].any(axis=0)
    return [
        np.ones(margins, dtype=np.bool_),
        needed,
        *(needed | one for one in np.eye(margins, dtype=np.bool_)),
    ]


def _settle(costs: NDArray[np.float64], opened: NDArray[np.bool_], power: float) -> _Settled:
    """From the cheapest answers of the open margins, descend until no change of answers helps.

    For given answers the best allocation is C^(1/(p+1)) and the error (sum of C^(1/(p+1)))^(p+1), by Hoelder's inequality.
    """
    answers = np.where(opened, costs, np.inf).argmin(axis=1)
    error = _error(_totals(costs, answers), power)
    while True:
        other = _one_move(costs, _all_moves(costs, answers, power), power)
        lower = _error(_totals(costs, other), power)
        if lower >= error * (1 - 1e-12):
            return error, _totals(costs, answers)
        error, answers = lower, other


def _totals(costs: NDArray[np.float64], answers: NDArray[np.intp]) -> NDArray[np.float64]:
    chosen = costs[np.arange(len(costs)), answers]
    return np.bincount(answers, weights=chosen, minlength=costs.shape[1]).astype(np.float64)


def _error(totals: NDArray[np.float64], power: float) -> float:
    return float((totals ** (1 / (power + 1))).sum() ** (power + 1))


def _all_moves(costs: NDArray[np.float64], answers: NDArray[np.intp], power: float) -> NDArray[np.intp]:
    """Move every query to its cheapest margin under the best allocation for the present answers."""
    roots = _totals(costs, answers) ** (1 / (power + 1))
    shares = np.where(roots > 0, roots, 1.0)
    other: NDArray[np.intp] = np.where(roots > 0, costs / shares**power, np.inf).argmin(axis=1)
    better = _error(_totals(costs, other), power) < _error(_totals(costs, answers), power)
    return other if better else answers


def _one_move(costs: NDArray[np.float64], answers: NDArray[np.intp], power: float) -> NDArray[np.intp]:
    """Move the single query whose move to another margin, open or not, helps most."""
    exponent, places = 1 / (power + 1), np.arange(len(costs))
    totals, own = _totals(costs, answers), costs[np.arange(len(costs)), answers]
    left = np.maximum(totals[answers] - own, 0.0) ** exponent - totals[answers] ** exponent
    gained = (totals + np.where(np.isfinite(costs), costs, 0.0)) ** exponent - totals**exponent
    change = np.where(np.isfinite(costs), left[:, None] + gained, np.inf)
    change[places, answers] = 0.0
    query, margin = np.unravel_index(change.argmin(), change.shape)
    moved = answers.copy()
    moved[query] = margin
    return moved


def _toggle(costs: NDArray[np.float64], start: _Settled, power: float) -> _Settled:
    best, improved = start, True
    while improved:
        improved = False
        for place in range(costs.shape[1]):
            opened = best[1] > 0
            opened[place] = not opened[place]
            if not np.isfinite(costs[:, opened]).any(axis=1).all():
                continue
            other = _settle(costs, opened, power)
            if other[0] < best[0] * (1 - 1e-12):
                best, improved = other, True
    return best


def _in_grains(shares: Mapping[Margin, float], budget: Fraction) -> dict[Margin, Fraction]:
    """Shares as fractions that sum to the budget exactly: rounded down, the rest to the largest."""
    grains = {margin: max(1, math.floor(share * GRAIN)) for margin, share in shares.items()}
    largest = max(grains, key=lambda margin: grains[margin])
    grains[largest] += GRAIN - sum(grains.values())
    return {margin: budget * Fraction(grain, GRAIN) for margin, grain in sorted(grains.items())}


class MarginAdvice(NamedTuple):
    """The standard deviation of the cells of all margins of one order, for three ways of releasing them.

    Noise on interior cells only, whose sums are the margins; on these margins only; or on every table.
    """

    sums: float
    own: float
    everything: float


def margin_advice(
    lengths: Sequence[int], order: int, *, epsilon: float = 1.0, total_noised: bool = True, changes: int = 1
) -> MarginAdvice:
    """Rinott's comparison for the margins of some order of a table.

    Args:
        lengths: The number of categories of each variable.
        order: The number of variables of the margins.
        epsilon: The whole budget.
        total_noised: Whether the grand total is one of the noisy tables; the paper leaves it out.
        changes: The number of cells of a table that a record affects: 2 for replace-one neighbours.

    >>> found = margin_advice([10] * 4, 2, total_noised=False)
    >>> round(found.sums, 1), round(found.own, 1), round(found.everything, 1)
    (14.1, 8.5, 21.2)
    """
    variables = len(lengths)
    if not 0 <= order <= variables:
        raise BadRequest(f"Margins of {order} of {variables} variables do not exist.", "Give fewer.")
    unit = math.sqrt(2) * changes / epsilon
    tables = 2**variables - (0 if total_noised else 1)
    # Averaged over all margins of this order: the elementary symmetric polynomial of the summed variables' lengths.
    symmetric = [1] + [0] * (variables - order)
    for length in lengths:
        for place in range(variables - order, 0, -1):
            symmetric[place] += symmetric[place - 1] * length
    terms = symmetric[-1] / math.comb(variables, order)
    return MarginAdvice(unit * math.sqrt(terms), unit * math.comb(variables, order), unit * tables)
