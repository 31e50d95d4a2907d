"""The law of a weighted sum of independent discrete Laplace noises: its mean absolute value and quantiles.

With noise of scale s and rate r = 1/s the characteristic function is (cosh r - 1)/(cosh r - cos t), so

    φ(t) = Π (cosh r_i - 1)/(cosh r_i - cos(weight_i t)),
    E|X| = (2/π) ∫ (1 - φ(t)) / t² dt,      P(X ≤ x) = 1/2 + (1/π) ∫ φ(t) sin(xt)/t dt     (t from 0 to ∞).

For scales from 4 on the continuous law of the same variance, 1/(1 + b²t²) with b = 1/(2 sinh(r/2)), stands
in: it is off by a factor of at most cosh(r/2), 0.8 % at scale 4 and 0.03 % at 20.

Source: Gil-Pelaez (1951); von Bahr (1965) for the absolute moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: From this scale on the grid of integers is not seen.
SMOOTH = 4.0
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(120)
_GRID = 2**14
_RANGE = 80.0
_PERIODS = 24


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """Σ of `times` independent noises of scale `scales`, each multiplied by `weights`.

    >>> one = LaplaceSum.of([(1.0, 1, 30.0)])
    >>> round(one.mean_absolute(), 2), round(one.half_width(0.9) / math.log(10), 2)
    (30.0, 30.0)
    >>> round(LaplaceSum.of([(1.0, 1, 1.0)]).mean_absolute(), 3)  # 1/sinh(1)
    0.851
    """

    weights: NDArray[np.float64]
    times: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, terms: Sequence[tuple[float, float, float]]) -> LaplaceSum:
        """From (weight, times, scale) triples; weights of zero are left out."""
        kept = [(abs(weight), times, scale) for weight, times, scale in terms if weight and times]
        return cls(*(np.array([term[i] for term in kept], dtype=np.float64) for i in range(3)))

    @property
    def _matched(self) -> NDArray[np.float64]:
        """Weight · b, where b has the variance of the discrete noise."""
        return np.asarray(self.weights / (2 * np.sinh(0.5 / self.scales)))

    @property
    def variance(self) -> float:
        """2 Σ times · (weight · b)²."""
        return 2 * float(self.times @ self._matched**2)

    def _smooth(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-np.log1p(np.multiply.outer(t**2, self._matched**2)) @ self.times))

    def _discrete(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        # (cosh r - cos x)/(cosh r - 1) = 1 + (1 - cos x)/(cosh r - 1), written without cancellation
        ripple = np.sin(np.multiply.outer(t, self.weights) / 2) ** 2 / np.sinh(0.5 / self.scales) ** 2
        return np.asarray(np.exp(-np.log1p(ripple) @ self.times))

    def mean_absolute(self) -> float:
        """E|X|."""
        if not self.weights.size:
            return 0.0
        felt = self.weights >= 0.01 * self.weights.max()
        return self._smooth_mean() if self.scales[felt].min() >= SMOOTH else self._discrete_mean()

    def _smooth_mean(self) -> float:
        """With t = v/(1-v)/sd the integrand is smooth on 0..1."""
        sd = math.sqrt(self.variance)
        v = (_NODES + 1) / 2
        values = (1 - self._smooth(v / (1 - v) / sd)) / v**2
        return sd * float(_NODE_WEIGHTS @ values) / math.pi

    def _discrete_mean(self) -> float:
        """Simpson's rule over some periods of the largest weight; beyond, φ is taken at its mean."""
        sd = math.sqrt(self.variance)
        end = _PERIODS * 2 * math.pi / float(self.weights.max())
        points = 2 * math.ceil(max(200 * _PERIODS, 20 * end * sd) / 2) + 1
        t = np.linspace(0.0, end, points)[1:]
        characteristic = self._discrete(t)
        values = np.r_[sd**2 / 2, (1 - characteristic) / t**2]
        rule = np.full(points, 2.0)
        rule[1::2] = 4.0
        rule[[0, -1]] = 1.0
        inner = float(rule @ values) * (end / (points - 1)) / 3
        return 2 / math.pi * (inner + (1 - float(characteristic.mean())) / end)

    def half_width(self, level: float) -> float:
        """The q with P(|X| ≤ q) = level, for the continuous law of the same variance."""
        if not self.weights.size:
            return 0.0
        sd = math.sqrt(self.variance)
        step = 2 * math.pi / (_RANGE * sd)
        t = step * np.arange(1.0, _GRID)
        kernel = self._smooth(t) / t

        def inside(q: float) -> float:
            return float(2 * step / math.pi * (kernel @ np.sin(q * t) + q / 2))

        return float(brentq(lambda q: inside(q) - level, 0.0, 30 * sd, xtol=1e-9 * sd))
