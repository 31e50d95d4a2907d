"""The Laplace optimum: which margin deserves how much of ε, before least squares puts all together.

Measuring centred parts, as the Gaussian optimum does, is worse than naive for Laplace noise: a person changes
every cell of a centred table, and L1 counts them all. So whole margins T of the closure are measured, each
with ε_T, Σ ε_T = ε (replace-one: 2 Σ ε_T = ε, and the total is public), and the sum

    Σ_α weight_α · √(variance of α after least squares)

is minimised over the ε_T, by gradients; margins that deserve nothing are not measured.

Source: Li, Hay, Rastogi, Miklau & McGregor (2010) for the idea of a strategy; the parametrisation is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from discreet.margins.covariance import variance_shares
from discreet.margins.importance import margin_weights
from discreet.margins.integer_noise import laplace_noise
from discreet.margins.least_squares import MeasuredMargins
from discreet.margins.sensitivity import require_neighbours
from discreet.privacy.gaussian import require_budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.margins.closure import Axes, MarginSet
    from discreet.margins.integer_noise import IntegerNoise

#: Margins that deserve less than this share of ε are not measured.
LEAST_SHARE = 1e-3
_START = (-4.0, -1.5)  # the log-share of margins that nobody asked for, to begin with


def laplace_optimum(
    wanted: MarginSet,
    epsilon: float,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> MeasuredMargins:
    """The plan with the least weighted error at pure ε.

    >>> from discreet.margins.closure import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 20), ((0, 1), (0, 2), (1, 2)))
    >>> plan = laplace_optimum(wanted, 1.0)
    >>> round(plan.expected_error((1, 2)), 2) < round(plan.expected_error((0, 1)), 2)
    True
    """
    require_budget(epsilon, 0.0)
    require_neighbours(neighbours)
    weight = margin_weights(wanted, weights)
    public_total = neighbours == "replace-one"
    spent = epsilon / 2 if public_total else epsilon
    objective = _Objective(wanted, weight, spent, public_total=public_total)
    noise: dict[Axes, IntegerNoise | None] = {(): None} if public_total else {}
    for margin, share in objective.best().items():
        noise[margin] = laplace_noise(1 / (share * spent))
    return MeasuredMargins(wanted, noise, "laplace", epsilon, 0.0, neighbours)


class _Objective:
    """Σ weight·sd as a function of log-shares of ε, with its gradient."""

    def __init__(
        self, wanted: MarginSet, weight: NDArray[np.float64], epsilon: float, *, public_total: bool
    ) -> None:
        self.wanted, self.weight, self.epsilon = wanted, weight, epsilon
        first = 1 if public_total else 0
        self.parts = wanted.closure[first:]
        self.shares = variance_shares(wanted)[:, first:]
        self.reach = np.array(
            [
                [1 / wanted.rest(margin, part) if set(part) <= set(margin) else 0.0 for margin in self.parts]
                for part in self.parts
            ]
        )

    def __call__(self, logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        share = _shares(logs)
        each = self.epsilon * share
        precision = self.reach @ (2 * np.sinh(each / 2) ** 2)
        sd = np.sqrt(self.shares @ (1 / precision))
        slope = -((self.weight / (2 * sd)) @ self.shares) / precision**2
        by_share = self.epsilon * np.sinh(each) * (slope @ self.reach)
        return float(self.weight @ sd), share * (by_share - by_share @ share)

    def best(self) -> dict[Axes, float]:
        """The best shares from each start, small ones dropped; the equal split is always a candidate."""
        asked = np.isin(np.arange(len(self.parts)), [self.parts.index(m) for m in self.wanted.margins if m])
        found = [np.where(asked, 0.0, -np.inf)]
        for start in _START:
            solved = minimize(self, np.where(asked, 0.0, start), jac=True, method="TNC")
            found.append(self._without_small(solved.x, asked))
        values = [self(logs)[0] for logs in found]
        best = found[int(np.argmin(values))]
        share = _shares(best)
        return {part: float(s) for part, s in zip(self.parts, share, strict=True) if s > 0}

    def _without_small(self, logs: NDArray[np.float64], asked: NDArray[np.bool_]) -> NDArray[np.float64]:
        share = _shares(logs)
        keep = (share >= LEAST_SHARE) | (asked & ~self._covered(share))
        return np.where(keep, logs, -np.inf)

    def _covered(self, share: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which margins a larger measured margin contains, so that they need no measurement of their own."""
        measured = share >= LEAST_SHARE
        contains = (self.reach > 0) & ~np.eye(len(self.parts), dtype=bool)
        return np.asarray((contains & measured).any(axis=1))


def _shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.exp(logs - logs.max())
    return np.asarray(share / share.sum())
