"""Estimates made of several cells of a weighted table: sums, differences, shares and ratios, with error and interval.

An estimate is linear in released numbers, or a quotient of two such sums to first order. With c_k the coefficient of cell k,
p_k its released share, and the constants of `generalised.py`,

    Var  =  (1 - f) Σ_h w_h² n_h (Var_p(c) + Σ_v (D_v - 1) Var_p(E[c | v]) + Σ_uv (D_uv - 1) (interaction part of u and v))
          + Σ_v τ_v² D_v (K_v - 1)/n Σ_{l of v} (Σ_{k in l} c_k X_k)²
          + Σ (coefficient of a released number)² · (variance of its noise)

    share or ratio A / B    c = (1_A - R 1_B) / B;  logit or log scale
    sum, difference         c = 1;  1_A - 1_B;  the terms of β² for the largest weight and for κ² are added

Its cells are made of the outputs that contain no other; where it uses totals of a variable only, the variable is left out.

Source: docs/methods/survey-weights.md; Korn & Graubard (1998) for share intervals; Woodruff (1971).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import message
from discreet.survey.generalised import TAU, Axis, Floats, Place, TableErrors, pair_effect, score_limits


class Estimate(NamedTuple):
    """An estimate with its standard error and limits."""

    value: float
    error: float
    low: float
    high: float


def total(errors: TableErrors, places: Mapping[Place, float], level: float) -> Estimate:
    """A sum or difference of released numbers, by the coefficient of each."""
    if list(places.values()) == [1.0]:  # a single cell has the error that is printed
        (place,) = places
        low, high = errors.limits(level)
        own = float(errors.cells().standard[place]) if errors.values[place] > 0 else float("nan")
        return Estimate(float(errors.values[place]), own, float(low[place]), float(high[place]))
    value = sum(factor * float(errors.values[place]) for place, factor in places.items())
    single = (errors.single * max(map(abs, places.values()))) ** 2
    error = sqrt(_variance(errors, places) + single + errors.calibration * value**2)
    reach = errors.quantile(level) * error
    if min(places.values()) < 0:
        return Estimate(value, error, value - reach, value + reach)
    noise = sum(factor**2 * float(errors.noise[place]) for place, factor in places.items())
    people = max(value, errors.average)
    inside = people * (1 - people / errors.population)
    bias = (_bias_of(errors, places) + single) / people**2 + errors.calibration
    slope = max(_sampling(errors, places), 0) / inside if inside > 0 else 0.0
    at, b, beta, v = (np.array(each) for each in (max(value, 0.0), slope, bias, noise))
    low, high = score_limits(at, b, beta, v, errors.population, errors.quantile(level))
    if errors.calibration == 0:
        low, high = np.minimum(low, errors.population), np.minimum(high, errors.population)
    return Estimate(value, error, float(low), float(high))


def share_of_population(errors: TableErrors, part: Sequence[Place], level: float) -> Estimate:
    """The share of cells in the whole population, which is known."""
    known = replace(errors, calibration=0.0)
    found = total(known, dict.fromkeys(part, 1.0), level)
    return Estimate(*(each / errors.population for each in found))


def difference_of_shares(
    errors: TableErrors,
    one: tuple[Sequence[Place], Sequence[Place]],
    two: tuple[Sequence[Place], Sequence[Place]],
    level: float,
) -> Estimate:
    """The difference of two shares, each a part and its whole."""
    factors: dict[Place, float] = {}
    value = 0.0
    for sign, (part, whole) in ((1, one), (-1, two)):
        above, below = _sum(errors, part), _sum(errors, whole)
        value += sign * above / below
        for place, factor in quotient_coefficients(part, whole, above / below, below).items():
            factors[place] = factors.get(place, 0.0) + sign * factor
    error = sqrt(_variance(errors, factors))
    reach = errors.quantile(level) * error
    return Estimate(value, error, max(value - reach, -1.0), min(value + reach, 1.0))


def _sum(errors: TableErrors, places: Sequence[Place]) -> float:
    return float(sum(errors.values[place] for place in places))


def quotient(
    errors: TableErrors, part: Sequence[Place], base: Sequence[Place], level: float, *, share: bool
) -> Estimate:
    """The ratio of two sums of released numbers; a share is between 0 and 1."""
    above, below = _sum(errors, part), _sum(errors, base)
    ratio = max(above, 0.0) / below
    error = sqrt(_variance(errors, quotient_coefficients(part, base, ratio, below)))
    reach = errors.quantile(level) * error
    if ratio <= 0 or (share and ratio >= 1):
        return Estimate(min(ratio, 1.0) if share else ratio, error, max(ratio - reach, 0.0), ratio + reach)
    if share:
        odds, reach = log(ratio / (1 - ratio)), reach / (ratio * (1 - ratio))
        return Estimate(ratio, error, 1 / (1 + exp(reach - odds)), 1 / (1 + exp(-reach - odds)))
    return Estimate(ratio, error, ratio * exp(-reach / ratio), ratio * exp(reach / ratio))


def _variance(errors: TableErrors, places: Mapping[Place, float]) -> float:
    """The variance of a linear estimate, with noise and the bias that the load lets through."""
    noise = sum(factor**2 * float(errors.noise[place]) for place, factor in places.items())
    return max(_sampling(errors, places), 0.0) + noise + _bias_of(errors, places)


def _sampling(errors: TableErrors, places: Mapping[Place, float]) -> float:
    cells = _cells_of(errors, places)
    p, c = cells.shares, cells.coefficients[..., None]
    last = p.ndim - 1
    mean = (p * c).sum(axis=tuple(range(last)))
    within = np.asarray((p * c**2).sum(axis=tuple(range(last))) - mean**2)
    between: dict[tuple[int, ...], Floats] = {}
    for size in (1, 2):
        for axes in combinations(range(last), size):
            others = tuple(at for at in range(last) if at not in axes)
            share, sums = cells.margin(axes), (p * c).sum(axis=others)
            found = np.asarray(
                (sums**2 / np.where(share > 0, share, 1)).sum(axis=tuple(range(size))) - mean**2
            )
            between[axes] = found
            effect = cells.effects[axes[0]]
            if size == 2:
                found = np.maximum(found - between[axes[:1]] - between[axes[1:]], 0)
                two = (cells.constant[axes[0]], cells.constant[axes[1]])
                effect = pair_effect(effect, cells.effects[axes[1]], errors.per_cluster, two)
            within = within + (effect - 1) * found
    unit = 1.0 if errors.unit is None else max(float(errors.unit[at]) for at in places) / errors.average
    inside = float(unit * (errors.weights**2 * errors.sizes) @ np.maximum(within, 0))
    return (1 - 1 / errors.average) * (
        inside + float(errors.between(np.broadcast_to(mean, errors.sizes.shape)))
    )


def _bias_of(errors: TableErrors, places: Mapping[Place, float]) -> float:
    if errors.mean_square:
        return 0.0
    cells, bias = _cells_of(errors, places), 0.0
    people: Floats = cells.coefficients * (cells.counts @ errors.weights)
    for at, own in enumerate(cells.biases):
        others = tuple(axis for axis in range(people.ndim) if axis != at)
        bias += TAU**2 * own / float(errors.sizes.sum()) * float((people.sum(axis=others) ** 2).sum())
    return bias


def _cells_of(errors: TableErrors, places: Mapping[Place, float]) -> _Cells:
    """The smallest shown cells that the places are made of, without variables of which all places are totals."""
    margins, effects, biases, indicators = [], [], [], []
    counts: NDArray[Any] = errors.noisy
    kept: list[int] = []
    complete = True
    for at, axis in enumerate(errors.axes):
        totals, used = axis.totals(), {place[at] for place in places}
        now = len(kept)
        if all(totals[each] for each in used):
            counts = counts.take([min(used)], axis=now).squeeze(now)
            continue
        kept.append(at)
        parts = axis.parts()
        inside = [frozenset(axis.members[part]) for part in parts]
        split = counts.take(parts, axis=now)
        margin = axis.margin[parts]
        whole = np.flatnonzero(totals)
        rest = frozenset(range(axis.everything)).difference(*inside)
        if rest and whole.size:
            left = counts.take(whole[:1], axis=now) - split.sum(axis=now, keepdims=True)
            counts, inside = np.concatenate([split, left], axis=now), [*inside, rest]
            margin = np.concatenate([margin, errors.sizes[None] - margin.sum(axis=0, keepdims=True)])
        else:
            counts, complete = split, complete and not rest
        indicators.append({each: _inside(axis, each, inside) for each in used})
        margins.append(margin)
        effects.append(float(axis.effects[parts].max()))
        biases.append(float(axis.biases[parts].max()))
    coefficients = np.zeros(counts.shape[:-1])
    for place, factor in places.items():
        term = np.asarray(float(factor))
        for at, own_axis in zip(kept, indicators, strict=True):
            term = np.multiply.outer(term, own_axis[place[at]])
        coefficients = coefficients + term
    pairs = {
        (kept.index(one), kept.index(two)): errors.pairs[one, two][
            np.ix_(errors.axes[one].parts(), errors.axes[two].parts())
        ]
        for one, two in errors.pairs
        if not complete and one in kept and two in kept
    }
    positive = np.maximum(counts, 0)
    mass = positive.sum(axis=tuple(range(len(kept))))
    whole_mass = np.maximum(mass, 1) if complete else np.maximum(mass, errors.sizes)
    shares = positive / whole_mass
    known: dict[Place, Floats] = {axes: each / errors.sizes for axes, each in pairs.items() if len(kept) > 2}
    if not complete:
        known |= {(at,): each / errors.sizes for at, each in enumerate(margins)}
    constant = tuple(errors.axes[at].constant for at in kept)
    return _Cells(counts, shares, coefficients, tuple(effects), tuple(biases), constant, known)


class _Cells(NamedTuple):
    """Disjoint cells with the coefficients of an estimate; `known` has released shares of categories, where others exist."""

    counts: Floats
    shares: Floats
    coefficients: Floats
    effects: tuple[float, ...]
    biases: tuple[float, ...]
    constant: tuple[bool, ...]
    known: Mapping[tuple[int, ...], Floats]

    def margin(self, axes: tuple[int, ...]) -> Floats:
        others = tuple(at for at in range(self.coefficients.ndim) if at not in axes)
        own = np.asarray(self.shares.sum(axis=others))
        given = self.known.get(axes)
        return own if given is None or given.shape != own.shape else np.maximum(given, own)


def _inside(axis: Axis, at: int, parts: Sequence[frozenset[int]]) -> Floats:
    """Which parts of an axis an output is made of."""
    members = frozenset(axis.members[at])
    chosen = [part <= members for part in parts]
    if frozenset().union(*(part for part, yes in zip(parts, chosen, strict=True) if yes)) != members:
        raise BadRequest(
            message('The table does not contain the parts of "{code}".', code=axis.codes[at]),
            message("Choose a table with these categories, or without overlapping groups."),
        )
    return np.array(chosen, dtype=np.float64)


def quotient_coefficients(
    part: Sequence[Place], base: Sequence[Place], ratio: float, below: float
) -> dict[Place, float]:
    """The coefficients of a quotient, to first order."""
    factors = dict.fromkeys(base, -ratio / below)
    for place in part:
        factors[place] = factors.get(place, 0.0) + 1 / below
    return factors
