"""The law of a weighted sum of independent Laplace noises: its mean absolute value and its quantiles.

With b_i = |weight_i| · scale_i the characteristic function is φ(t) = Π 1/(1 + b_i² t²), and

    E|X| = (2/π) ∫ (1 - φ(t)) / t² dt,      P(X ≤ x) = 1/2 + (1/π) ∫ φ(t) sin(xt)/t dt     (t from 0 to ∞).

The noise is discrete; its scale is matched to its variance, b = 1/(2 sinh(1/2s)), which overstates E|X| by
a factor of at most cosh(1/2s): 0.03 % at scale s = 20, 0.8 % at 4.

Comes from: the weights of least squares. Goes to: expected errors and intervals.
Source: Gil-Pelaez (1951); von Bahr (1965) for the absolute moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(120)
_GRID = 2**14
_RANGE = 80.0


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """Σ of `times` independent Laplace noises of each scale b.

    >>> one = LaplaceSum(np.array([3.0]), np.array([1.0]))
    >>> round(one.mean_absolute(), 6), round(one.half_width(0.9) / math.log(10), 6)
    (3.0, 3.0)
    """

    scales: NDArray[np.float64]
    times: NDArray[np.float64]

    @property
    def variance(self) -> float:
        """2 Σ times · b²."""
        return 2 * float(self.times @ self.scales**2)

    def _characteristic(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-np.log1p(np.multiply.outer(t**2, self.scales**2)) @ self.times)

    def mean_absolute(self) -> float:
        """E|X|, with t = v/(1-v)/sd: the integrand is then smooth on 0..1."""
        sd = math.sqrt(self.variance)
        if sd == 0:
            return 0.0
        v = (_NODES + 1) / 2
        values = (1 - self._characteristic(v / (1 - v) / sd)) / v**2
        return sd * float(_NODE_WEIGHTS @ values) / math.pi

    def half_width(self, level: float) -> float:
        """The q with P(|X| ≤ q) = level."""
        sd = math.sqrt(self.variance)
        if sd == 0:
            return 0.0
        step = 2 * math.pi / (_RANGE * sd)
        t = step * np.arange(1, _GRID)
        kernel = self._characteristic(t) / t

        def inside(q: float) -> float:
            return float(2 * step / math.pi * (kernel @ np.sin(q * t) + q / 2))

        return float(brentq(lambda q: inside(q) - level, 0.0, 30 * sd, xtol=1e-9 * sd))


def matched_scale(variance: float) -> float:
    """The scale of the continuous Laplace law with a variance: √(variance/2)."""
    return math.sqrt(variance / 2)
