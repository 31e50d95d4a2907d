"""The sampling variance of weighted totals, from the design of the sample. Confidential: for `answer` and `assess`.

With z_hc the weights of the cell's people in unit c of stratum h, n_h units and the sampling fraction f_h:

    linearised    V = Σ_h (1 - f_h) n_h / (n_h - 1) Σ_c (z_hc - mean of stratum h)²
    replicates    V = Σ_r c_r (θ_r - θ)²

The units are the clusters (ultimate clusters: what was drawn within them is in their sums) or else the records,
drawn with replacement. A stratum with a single unit has no spread of its own: its unit counts with its whole square,
as R survey does it for totals under `lonely.psu = "adjust"`. Replicates are centred at the full estimate (`mse`).

Sums are added in the order of cells and strata: the same floats on every machine.

Source: Wolter (2007), eqs 2.4.6, 3.3.4, 4.5.1 and section 5.3; Lumley (2010), chapter 2; Rao & Shao (1999).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.model.sampling_design import SamplingDesign
    from discreet.records.sampled_rows import CellSums


def replicate_variance(
    estimate: NDArray[np.float64], replicates: Iterable[NDArray[np.float64]], design: SamplingDesign
) -> NDArray[np.float64]:
    """The variance of estimates from the same estimates by each replicate weight.

    >>> from discreet.model.sampling_design import sampling_design
    >>> brr = sampling_design({"replicates": "r1..r2", "method": "brr"})
    >>> float(replicate_variance(np.array(10.0), [np.array(8.0), np.array(12.0)], brr))
    4.0
    """
    variance = np.zeros(np.shape(estimate))
    for coefficient, replicate in zip(design.coefficients, replicates, strict=True):
        variance = variance + float(coefficient) * (replicate - estimate) ** 2
    return variance


def stratum_variance(
    totals: NDArray[np.float64],
    squares: NDArray[np.float64],
    units: NDArray[np.int64] | int,
    fraction: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """The part of strata in the variance: (1 - f) n / (n - 1) (Σz² - (Σz)² / n), and Σz² of a lonely unit.

    >>> float(stratum_variance(np.array(30.0), np.array(500.0), 2))
    100.0
    >>> float(stratum_variance(np.array(40.0), np.array(1600.0), 1))
    1600.0
    """
    many = np.asarray(units, dtype=np.float64)
    lonely = many <= 1
    centred = np.maximum(squares - totals**2 / np.maximum(many, 1), 0)
    spread = np.where(lonely, squares, many / np.where(lonely, 1, many - 1) * centred)
    return np.asarray((1 - np.asarray(fraction)) * spread)


def fractions(design: SamplingDesign, strata: int) -> NDArray[np.float64]:
    """The sampling fraction of each stratum, in the order in which they are stored."""
    named = [value for value, _ in design.fpc if value]
    listed = [float(design.fraction_of(named[place] if named else "")) for place in range(strata)]
    return np.array(listed)


def cell_variances(
    sums: CellSums, units: NDArray[np.int64], design: SamplingDesign, lengths: tuple[int, ...]
) -> NDArray[np.float64]:
    """The linearised variance of every cell of a table, in people squared."""
    fraction = fractions(design, units.size)
    parts = stratum_variance(sums.totals, sums.squares, units[sums.stratum], fraction[sums.stratum])
    flat = np.bincount(sums.cell, weights=parts, minlength=int(np.prod(lengths)))
    return np.asarray(flat.reshape(lengths))
