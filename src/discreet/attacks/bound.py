"""Bounds on every attack that follow from epsilon and delta alone, and the optimal attack against known noise.

    distinguish two neighbours, even odds: success <= (1 + A)/2,  A = (e^eps - 1 + 2 delta)/(e^eps + 1)
    name a count exactly:                  P <= (1 + 2 sum_j e^(-j eps) delta_j)/(1 + 2 sum_j e^(-j eps)), any J terms,
                                           which is tanh(eps/2) for delta 0; delta_j is that of j persons
    root mean squared error of a count:    >= sqrt(2 e^-eps)/(1 - e^-eps), that of the geometric mechanism

Proofs: docs/methods/attack-bob.md and docs/methods/attack-averaging.md.

Source: Kairouz, Oh & Viswanath (2015) for A; Ghosh, Roughgarden & Sundararajan (2012) for the last.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from discreet.noise.table import NoiseRow
from discreet.privacy.claim import group_delta

_ROUNDED = 9
_NEGLIGIBLE = 1e-15
_MOST_STEPS = 200


def success_bound(epsilon: float, delta: float = 0.0) -> float:
    """The largest share of right answers about one of two equally likely neighbours.

    >>> round(success_bound(1.0), 4), success_bound(0.0)
    (0.7311, 0.5)
    """
    advantage = math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)
    return min(1.0, (1 + advantage) / 2)


def exact_bound(epsilon: float, delta: float = 0.0) -> float:
    """The largest probability with which every count can be named exactly.

    If every count is hit with probability P, then at count n the j-th neighbour is named with probability at
    least e^(-j eps) (P - delta_j), on both sides, and all these add up to at most 1.

    >>> round(exact_bound(1.0), 4), round(math.tanh(0.5), 4), exact_bound(1.0, 0.01) > exact_bound(1.0)
    (0.4621, 0.4621, True)
    """
    best, weights, failures = 1.0, 1.0, 1.0
    for steps in range(1, _MOST_STEPS + 1):
        weight = math.exp(-steps * epsilon)
        weights += 2 * weight
        failures += 2 * weight * group_delta(delta, epsilon, steps)
        best = min(best, failures / weights)
    return best


def error_bound(epsilon: float) -> float:
    """The smallest root mean squared error of a count without prior knowledge of it.

    >>> round(error_bound(1.0), 3)
    1.357
    """
    return math.sqrt(2 * math.exp(-epsilon)) / -math.expm1(-epsilon)


def optimum(rows: Sequence[NoiseRow]) -> float:
    """The success rate of the best attack on cells that hold Bob or no one, two for each noise row.

    One of the two cells holds Bob if the answer is yes, the other if it is no. The best attack adds up the evidence of
    all cells; the exact distribution of that sum gives its success rate.

    >>> from discreet.noise import laplace
    >>> round(optimum([laplace(epsilon=0.5).rows[0]]), 6) == round(1 / (1 + math.exp(-0.5)), 6)
    True
    """
    total: dict[float, float] = {0.0: 1.0}
    for row in rows:
        for law in (_evidence_distribution(row, 1), _evidence_distribution(row, 0)):
            total = _convolve(total, law)
    return sum(mass for value, mass in total.items() if value > 0) + total.get(0.0, 0.0) / 2


def _evidence_distribution(row: NoiseRow, count: int) -> dict[float, float]:
    """The distribution of the evidence of the cell with Bob (count 1), or of the other (count 0), if the answer is yes."""
    masses = dict(zip(row.values, row.masses(), strict=True))
    found: dict[float, float] = defaultdict(float)
    for value, mass in masses.items():
        released = value + count
        yes, no = masses.get(released - 1, 0), masses.get(released, 0)
        ratio = math.inf if no == 0 else -math.inf if yes == 0 else math.log(yes / no)
        found[round(ratio if count else -ratio, _ROUNDED)] += mass / row.modulus
    return found


def _convolve(left: dict[float, float], right: dict[float, float]) -> dict[float, float]:
    found: dict[float, float] = defaultdict(float)
    for value, mass in left.items():
        for other, weight in right.items():
            if mass * weight > _NEGLIGIBLE:
                found[round(value + other, _ROUNDED)] += mass * weight
    return found
