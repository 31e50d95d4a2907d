"""The paper's mechanism from end to end: coefficients, integer noise, linear program, rounding, margins.

    c_S + discrete Laplace(Δ/ε) on every integer  ->  non-negative table  ->  integer table  ->  margins.

The scale is the true L1 sensitivity over ε; `as_published` takes the paper's, which for Efron-Stein can be too small for
variables with more than two categories, so that ε is larger than stated. Everything after the noise is post-processing.

Source: Barak et al. (2007); Yang, Fienberg & Rinaldo (2012), Tables 1 and 2, Theorems 1-3.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TooManyCells
from discreet.margins import bases
from discreet.margins.bases import EfronSteinTransform, FourierTransform
from discreet.margins.integer_noise import IntegerNoise, LaplaceSum, NoiseSource, laplace_noise
from discreet.margins.linear_program import fit_table
from discreet.margins.margin_set import Axes, MarginSet, margin_table, subsets
from discreet.margins.sensitivity import (
    Basis,
    coefficient_scaling,
    paper_epsilon,
    paper_sensitivity,
    require_neighbours,
    sensitivity,
)
from discreet.privacy.composition import require_budget

#: The linear program needs the full table; larger ones are refused.
MOST_CELLS = 100_000
#: Solvers leave differences of this size: a half is a half within it.
_HALF = 1e-5


@dataclass(frozen=True, eq=False)
class HolisticRelease:
    """The result of the mechanism.

    Args:
        margins: Its wanted margins: consistent, non-negative integers.
        lp_b: The optimum of the linear program, in the paper's units; above 0 if no table fits the noise.
        unfitted: The wanted margins from the noisy coefficients: consistent and unbiased, but real numbers that may be
            negative. Inference should use these.
    """

    table: NDArray[np.int64]
    margins: dict[Axes, NDArray[np.int64]]
    lp_b: float
    unfitted: dict[Axes, NDArray[np.float64]]

    @property
    def sample_size(self) -> int:
        return int(self.table.sum())


@dataclass(frozen=True, slots=True)
class Holistic:
    """A plan: noise on the coefficients of a basis.

    Args:
        basis: "fourier" (binary tables) or "efron-stein".
        neighbours: The relation that the true sensitivity is computed for.
        as_published: Take the paper's scale.
    """

    wanted: MarginSet
    basis: Basis
    epsilon: float
    neighbours: str = "add-remove"
    as_published: bool = False

    def __post_init__(self) -> None:
        require_budget(self.epsilon, 0.0)
        require_neighbours(self.neighbours)
        if self.basis == "fourier":
            bases.require_binary(self.wanted)

    @property
    def coefficients(self) -> int:
        """The number of integers with noise: |B|, or N."""
        fourier = self.basis == "fourier"
        return len(self.wanted.closure) if fourier else bases.number_of_coefficients(self.wanted)

    @property
    def sensitivity(self) -> float:
        """The L1 sensitivity that the noise is scaled to, in the paper's units."""
        published = paper_sensitivity(self.wanted, self.basis)
        return published if self.as_published else sensitivity(self.wanted, self.basis, self.neighbours)

    @property
    def scale(self) -> float:
        """The Laplace scale of a coefficient, in the paper's units."""
        return self.sensitivity / self.epsilon

    @property
    def scales(self) -> dict[Axes, float]:
        return dict.fromkeys(self.wanted.margins, self.scale)

    @property
    def true_epsilon(self) -> float:
        """The ε that the noise really gives: as requested, or that of the published scale."""
        if not self.as_published:
            return self.epsilon
        return paper_epsilon(self.wanted, self.basis, self.neighbours, self.epsilon)

    @property
    def noise(self) -> IntegerNoise:
        return laplace_noise(self.scale * coefficient_scaling(self.wanted, self.basis))

    @property
    def cut_delta(self) -> float:
        """The addition to δ by the cut of the noise tables, at most."""
        return (1 + math.exp(self.epsilon)) * self.coefficients * self.noise.cut

    def noisy(
        self, exact: Mapping[Axes, NDArray[np.int64]], source: NoiseSource
    ) -> dict[Axes, NDArray[np.int64]]:
        """The integer coefficients with integer noise, one for each (S, x_S)."""
        noise = self.noise
        if self.basis == "fourier":
            plain = {part: np.array(c) for part, c in bases.fourier_coefficients(exact, self.wanted).items()}
        else:
            plain = bases.efron_stein_coefficients(exact, self.wanted)
        return {
            part: c + noise.draw(source, f"{self.basis} {self.wanted.label(part)}", c.size).reshape(c.shape)
            for part, c in plain.items()
        }

    def unfitted(self, noisy: Mapping[Axes, NDArray[np.int64]]) -> dict[Axes, NDArray[np.float64]]:
        """The wanted margins that the noisy coefficients describe, without program or rounding."""
        if self.basis == "fourier":
            values = {part: float(c) for part, c in noisy.items()}
            return {margin: bases.margin_from_fourier(values, margin) for margin in self.wanted.margins}
        return {m: bases.margin_from_efron_stein(noisy, self.wanted, m) for m in self.wanted.margins}

    def release(self, exact: Mapping[Axes, NDArray[np.int64]], source: NoiseSource) -> HolisticRelease:
        """The whole mechanism, once."""
        if self.wanted.table_cells > MOST_CELLS:
            raise TooManyCells(
                f"The linear program would have {self.wanted.table_cells:,} cells of at most {MOST_CELLS:,}.",
                "Take the method optimum, which needs the margins only.",
            )
        noisy = self.noisy(exact, source)
        make = FourierTransform if self.basis == "fourier" else EfronSteinTransform
        vector = np.concatenate([c.ravel() for c in noisy.values()]).astype(np.float64)
        fitted = fit_table(make(self.wanted), vector / coefficient_scaling(self.wanted, self.basis))
        table = round_half_up(fitted.table)
        margins = {margin: margin_table(table, margin) for margin in self.wanted.margins}
        return HolisticRelease(table, margins, fitted.b, self.unfitted(noisy))

    def expected_error(self, margin: Axes) -> float:
        """E|unfitted - true| of any cell of a margin; the effect of the program depends on the data."""
        return self.error_distribution(margin).mean_absolute()

    def error_distribution(self, margin: Axes) -> LaplaceSum:
        """The error distribution of a cell of the unfitted margin.

        Fourier: 2^(-|α|) times a sum of 2^|α| noises. Efron-Stein: every noise of S ⊆ α enters with
        Π_{j∈S}(1[x_j = y_j] - 1/k_j) / Π_{j∈α} k_j.
        """
        scale = self.noise.scale
        cells = self.wanted.cells(margin)
        if self.basis == "fourier":
            return LaplaceSum.of([(1 / cells, cells, scale)])
        terms = []
        for shape in map(self.wanted.margin_shape, subsets(margin)):
            for pairs in product(*(((True, k), (False, k)) for k in shape)):
                weight = math.prod(a - 1 / k for a, k in pairs) / cells
                terms.append((weight, math.prod(k - 1 for a, k in pairs if not a), scale))
        return LaplaceSum.of(terms)

    def accuracy_bound(self, margin: Axes, failure: float) -> float:
        """The paper's bound on the L1 error of a margin, with probability 1 - failure.

        Theorem 1: 2^|α| · 8 |B|/ε · log(|B|/δ) + |B|.
        Theorem 3: (Π_α k) · Σ_S 2/(ε Π_{j∉S} k_j) · log(N/δ) + N.
        Both are proved for the paper's scale and for a program with b = 0.
        """
        count = self.coefficients
        spread = 8 * count if self.basis == "fourier" else paper_sensitivity(self.wanted, self.basis)
        return self.wanted.cells(margin) * (spread / self.epsilon) * math.log(count / failure) + count


def round_half_up(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Every cell to its nearest integer, halves upward (step 6): a sparse table of small cells loses people.

    >>> round_half_up(np.array([0.49, 0.5, 1.2])).tolist()
    [0, 1, 1]
    """
    return np.floor(table + 0.5 + _HALF).astype(np.int64)
