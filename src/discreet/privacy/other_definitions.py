"""The same integers under other definitions of privacy.

P and Q are the releases of two neighbouring counts, over all pairs and in both directions. Outputs that only one of them can
make are proof of which it was; their probability is `proof`, delta(infinity). A finite mu or rho therefore needs a table
without proof; of any other table the figures hold up to `proof`.

    total variation            TV = delta(0)
    Gaussian dp (mu)           mu = max over best events of z(A - proof) - z(B),  A = P(E), B = Q(E), z normal quantile
    Renyi, of order alpha      D_alpha = ln sum P'^alpha Q'^(1 - alpha) / (alpha - 1),   P', Q' given common outputs
    zCDP (rho)                 rho = max over alpha > 1 of D_alpha / alpha
    posterior for a prior pi   pi P(y) / (pi P(y) + (1 - pi) Q(y)), the largest over outputs that both make
    best guess for a prior pi  max over events of pi P(E) + (1 - pi) (1 - Q(E))
    one attribute              one cell loses the person and another gains them: replace-one neighbours
    policy (Blowfish)          an ordered attribute moves by at most s classes: 2 cells, or s cumulative cells

The trade-off of a table is piecewise linear and that of two Gaussians is convex, so mu is decided at the corners.
D_alpha does not fall with alpha, so D_b / a bounds D / alpha on [a, b]: the search for rho splits intervals until the
bound is within 0.1 % of a value that is attained, and states the bound. mu and the Renyi divergences are floats, rounded
up by 1e-9; all else is exact.

Source: Dong, Roth & Su (2022), Definition 4; Bun & Steinke (2016), Definitions 1.1 and 8.1; Mironov (2017); Kasiviswanathan
& Smith (2014) for posteriors; Kifer & Machanavajjhala (2011) for attributes; He, Machanavajjhala & Ding (2014) for policies;
Bailie (2020), sections 3.6 and 5.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.noise.table import NoiseTable
from discreet.privacy.accounting import distance_to_ideal, ideal_rho
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.audit import neighbour_frontiers
from discreet.privacy.hockey_stick import Frontier, masses_by_pair

ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
PRIORS = (0.01, 0.1, 0.5)
#: The relative error of floats, upward.
_UP = 1 + 1e-9
_RHO_GAP = 1 + 1e-3
_NEGLIGIBLE = 1e-12


class Posterior(NamedTuple):
    """What a reader with a prior probability that the person is counted can come to believe from one release."""

    prior: float
    smallest: float
    largest: float
    best_guess: float


@dataclass(frozen=True, slots=True)
class Policy:
    """An ordered attribute whose value may move by at most `step` classes.

    A histogram loses the person in one cell and gains them in another. A cumulative table ("at most 17", "at most 34", ...)
    changes in the `step` cells between.
    """

    classes: int
    step: int = 1
    cumulative: bool = False

    def __post_init__(self) -> None:
        if self.classes < 2 or not 1 <= self.step < self.classes:
            raise BadRequest(
                f"A policy of {self.step} steps in {self.classes} classes.",
                "Give at least 2 classes, and a step from 1 to one less than the classes.",
            )

    def change(self, step: int | None = None) -> tuple[str, int]:
        """The neighbours and the changed cells of a move by up to so many classes, as `delta` takes them."""
        return ("add-remove", step or self.step) if self.cumulative else ("replace-one", 1)


@dataclass(frozen=True, slots=True)
class Definitions:
    """One counted cell under other definitions; `mu` and `rho` are infinite for a table with proof."""

    proof: Fraction
    total_variation: Fraction
    mu: float
    mu_up_to_proof: float
    rho: float
    rho_up_to_proof: float
    renyi: tuple[tuple[float, float], ...]
    ideal_rho: Fraction | None
    distance_to_ideal: Fraction | None
    posteriors: tuple[Posterior, ...]


def other_definitions(table: NoiseTable, priors: Sequence[float] = PRIORS) -> Definitions:
    """One counted cell of a noise table, add-remove neighbours.

    >>> from discreet.noise import laplace
    >>> found = other_definitions(laplace(epsilon=1.0, m=10, modulus=2**64))
    >>> round(found.rho_up_to_proof, 4), round(found.mu_up_to_proof, 4), found.mu
    (0.4626, 1.232, inf)
    """
    for prior in priors:
        if not 0 < prior < 1:
            raise BadRequest(f"A prior is {prior}.", "Give a probability between 0 and 1.")
    both, _ = neighbour_frontiers(table, "add-remove")
    proof = max(Fraction(each.vertices[0][0] if each.vertices[0][1] == 0 else 0, each.total) for each in both)
    pairs = _pairs(table)
    mu, rho = max(_mu(each, proof) for each in both), _largest_rho(pairs)
    return Definitions(
        proof=proof,
        total_variation=max(Fraction(max(a - b for a, b in each.vertices), each.total) for each in both),
        mu=math.inf if proof else mu,
        mu_up_to_proof=mu,
        rho=math.inf if proof else rho,
        rho_up_to_proof=rho,
        renyi=tuple((order, max(_renyi(*pair, order) for pair in pairs) * _UP) for order in ORDERS),
        ideal_rho=ideal_rho(table),
        distance_to_ideal=distance_to_ideal(table),
        posteriors=tuple(_posterior(table, both, prior) for prior in priors),
    )


def _mu(frontier: Frontier, proof: Fraction) -> float:
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, and no table needs it

    def quantile(p: Fraction) -> float:
        return float(ndtri(float(p))) if p <= Fraction(1, 2) else -float(ndtri(float(1 - p)))

    corners = (
        (Fraction(a, frontier.total) - proof, Fraction(b, frontier.total)) for a, b in frontier.vertices
    )
    steps = [quantile(a) - quantile(b) for a, b in corners if b > 0 and a > b]
    return max([0.0, *steps]) * _UP


_Logs = tuple[NDArray[np.float64], NDArray[np.float64]]


def _pairs(table: NoiseTable) -> list[_Logs]:
    """Ln P' and ln Q' of every pair of neighbouring counts, both ways, given outputs that both can make."""
    found: list[_Logs] = []
    for _, masses in masses_by_pair(table, 0, 1):
        common = [(p, q) for p, q in masses if p and q]
        if common:
            logs = [np.array([math.log(x) for x in side]) for side in zip(*common, strict=True)]
            p, q = (
                each - math.log(sum(side)) for each, side in zip(logs, zip(*common, strict=True), strict=True)
            )
            found += [(p, q), (q, p)]
    return found or [(np.zeros(1), np.zeros(1))]


def _renyi(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """D_alpha in nats; the Kullback-Leibler divergence at 1."""
    if order == 1:
        return max(0.0, float(np.sum(np.exp(p) * (p - q))))
    terms = order * p + (1 - order) * q
    top = float(terms.max())
    return max(0.0, (top + math.log(float(np.exp(terms - top).sum()))) / (order - 1))


def _largest_rho(pairs: Sequence[_Logs]) -> float:
    """An upper bound on D_alpha / alpha over alpha > 1, at most 0.1 % above a value that is attained."""
    best = max(_NEGLIGIBLE, *(_renyi(*pair, 1.0) for pair in pairs))
    bounds: list[tuple[float, float, float, int]] = []
    for number, pair in enumerate(pairs):
        low = 1.0
        # Beyond `low` the largest loss over `low` is a bound.
        while float((pair[0] - pair[1]).max()) / low > best:
            loss = _renyi(*pair, 2 * low)
            best = max(best, loss / (2 * low))
            bounds.append((-loss / low, low, 2 * low, number))
            low *= 2
    heapq.heapify(bounds)
    while bounds and -bounds[0][0] > best * _RHO_GAP:
        _, low, high, number = heapq.heappop(bounds)
        middle = math.sqrt(low * high)
        there, end = (_renyi(*pairs[number], each) for each in (middle, high))
        best = max(best, there / middle)
        heapq.heappush(bounds, (-there / low, low, middle, number))
        heapq.heappush(bounds, (-end / middle, middle, high, number))
    return best * _RHO_GAP * _UP


def _posterior(table: NoiseTable, both: tuple[Frontier, Frontier], prior: float) -> Posterior:
    """The smaller count is a person missing, the larger one a person counted."""
    pi = Fraction(prior)
    missing, counted = both
    odds = [Fraction(q, p) for _, masses in masses_by_pair(table, 0, 1) for p, q in masses if p and q]
    ends = (min(odds, default=Fraction(1)), max(odds, default=Fraction(1)))
    smallest, largest = (float(pi * ratio / (pi * ratio + 1 - pi)) for ratio in ends)
    # Right with pi P(E) + (1 - pi) (1 - Q(E)) if an event E means "counted", or the complement of one that means "missing".
    right = [
        mine * Fraction(a, way.total) + (1 - mine) * (1 - Fraction(b, way.total))
        for mine, way in ((pi, counted), (1 - pi, missing))
        for a, b in way.vertices
    ]
    return Posterior(prior, smallest, largest, float(max(pi, 1 - pi, *right)))


def policy_guarantee(table: NoiseTable, policy: Policy, epsilon: float) -> dict[str, Any]:
    """The guarantee for the moves that a policy allows, and for any change of the attribute."""
    found: dict[str, Any] = {"classes": policy.classes, "step": policy.step, "cumulative": policy.cumulative}
    for name, step in (("policy", policy.step), ("any_value", policy.classes - 1)):
        neighbours, cells = policy.change(step)
        found[name] = attribute_guarantee(table, epsilon, neighbours, cells)
    return found


def attribute_guarantee(
    table: NoiseTable, epsilon: float, neighbours: str = "replace-one", cells: int = 1
) -> dict[str, Any]:
    """Where one attribute changes: delta at an epsilon, its least value, and the smallest epsilon that has it."""
    floor = exact_delta(table, epsilon=math.inf, neighbours=neighbours, cells=cells)
    pure = exact_epsilon(table, delta=floor, neighbours=neighbours, cells=cells)
    at = exact_delta(table, epsilon=epsilon, neighbours=neighbours, cells=cells)
    return {
        "neighbours": neighbours,
        "cells": cells,
        "delta": float(at),
        "least_delta": float(floor),
        "epsilon": pure,
    }


def definitions_document(found: Definitions) -> dict[str, Any]:
    """The figures as JSON; infinity is null."""

    def number(value: float | Fraction | None) -> float | None:
        return None if value is None or not math.isfinite(value) else float(value)

    return {
        "proof": number(found.proof),
        "total_variation": number(found.total_variation),
        "mu": number(found.mu),
        "mu_up_to_proof": number(found.mu_up_to_proof),
        "rho": number(found.rho),
        "rho_up_to_proof": number(found.rho_up_to_proof),
        "renyi": [{"order": order, "divergence": divergence} for order, divergence in found.renyi],
        "ideal_rho": number(found.ideal_rho),
        "distance_to_ideal": number(found.distance_to_ideal),
        "posteriors": [each._asdict() for each in found.posteriors],
    }
