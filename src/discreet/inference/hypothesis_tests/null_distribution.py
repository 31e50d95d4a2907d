"""The null distribution of the likelihood-ratio statistic, from its mean and variance instead of the chi-square's.

With the moments e, v, e', e'', I, w, k of each cell's part (`cell_moments`) at the fitted means, W = mu^2 I, and s and
h = W s the variance of a fitted log mean and the cell's leverage, sums over cells:

    mean     = sum e  -  sum h  -  1/2 sum e'' mu^2 s
    variance = sum v  -  c' G c  +  max(2 sum h (1 - w) + sum h^2 (k - 2), - sum h v),    c = X' (mu e').

The second term of the mean is the gain of the fit, the number of parameters; the third corrects e for the error mu sqrt(s)
of a fitted mean. The second term of the variance follows the fitted means and is in `mean` already; the third is the loss
from the fit, to second order or, if that is larger, each cell's leverage times its variance. For many people these are df
and 2 df. The p-value is that of a scaled chi-square with this mean and variance. The expansion is unreliable where

    doubt = |1/2 sum e'' mu^2 s|  +  2 sum h^2 max(k - 2, 0)  +  degrees of freedom that vanished

is large relative to the standard deviation. A cautious p-value adds the doubt to the mean.
Source: McCullagh (1986) and Osius & Rojek (1992), sparse tables; Satterthwaite (1946), scaled chi-square; McCullagh & Nelder
(1989), section 12.7.1, leverages.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import chdtrc

from discreet.inference.channel import Floats, NoiseByCell, TruncatedDistribution
from discreet.inference.hypothesis_tests.cell_moments import (
    CellMoments,
    CellParts,
    columns,
    far_moments,
    table_moments,
    wide_moments,
)
from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatios, chi_square
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.noise.table import NoiseTable

#: Added to the scaled X' W X, which is singular since margins overlap; what is computed does not depend on it.
_RIDGE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Leverage:
    """The inverse information G = (X' W X)^-1 of a batch of fitted tables; s(cell) = x' G x, leverage = W s.

    X is the design of the model. Each row has one 1 per generator, so s is a sum of entries of G and X' W X a sum of
    margins.

    Args:
        inverse: G of each table.
        places: For each cell and generator the column of X with its 1.
    """

    inverse: Floats
    places: NDArray[np.int64]

    @classmethod
    def of(cls, model: HierarchicalModel, weights: Floats) -> Self:
        """From the weights W of the cells, tables along the first axis, cells flattened."""
        places, columns = margin_cells(model)
        pairs = (places[:, :, None] * columns + places[:, None, :]).reshape(len(places), -1)
        inner = (_membership(pairs, columns**2) @ weights.T).T.reshape(-1, columns, columns)
        scale = np.sqrt(np.einsum("tii->ti", inner))
        scale = np.where(scale > 0, scale, 1.0)
        unit = scale[:, :, None] * scale[:, None, :]
        return cls(np.linalg.inv(inner / unit + _RIDGE * np.eye(columns)) / unit, places)

    def log_variance(self) -> Floats:
        """s: the variance of each fitted log mean."""
        found = np.zeros((len(self.inverse), len(self.places)))
        for one in self.places.T:
            for other in self.places.T:
                found += self.inverse[:, one, other]
        return found

    def explained(self, covariance: Floats) -> Floats:
        """The variance of a sum over cells that its regression on the parameters' scores explains."""
        total = (_membership(self.places, self.inverse.shape[1]) @ covariance.T).T
        return np.asarray(np.einsum("ti,tij,tj->t", total, self.inverse, total))


def margin_cells(model: HierarchicalModel) -> tuple[NDArray[np.int64], int]:
    """For each cell the column of its margin cell of each generator, and the number of columns."""
    design = model.design(np.ones(model.shape, dtype=np.bool_))
    places = design.indices.reshape(design.shape[0], len(model.generators))
    return places.astype(np.int64), int(design.shape[1])


def _membership(places: NDArray[np.int64], columns: int) -> sparse.csr_array:
    cells = np.repeat(np.arange(len(places)), places.shape[1])
    entries = (np.ones(places.size), (places.ravel(), cells))
    return sparse.csr_array(entries, shape=(columns, len(places)))


#: The chi-square approximation is used within this error of the mean (in standard deviations) and of the variance
#: (relative).
_MEAN_OFF, _VARIANCE_OFF = 0.03, 0.04
#: (Minimum degrees of freedom, maximum doubt in standard deviations) for which the approximation was found to hold, unless
#: more than this part of the cells' freedom goes into the fit.
_RELIABLE, _CROWDED = ((20, 1.25), (5, 0.14)), 0.5
#: Minimum part of the parts' variance that remains.
_LEAST_LEFT = 0.1
#: Above this number of parameters all cells get the same leverage.
_MOST_PARAMETERS = 2_000
_ROOM = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class NullDistribution:
    """The mean and the variance of the statistics of a batch of tables under the hypothesis.

    Args:
        doubt: A rough bound of its error.
        crowded: Whether more than half of the cells' freedom goes into the fit.
    """

    mean: Floats
    doubt: Floats
    variance: Floats
    df: NDArray[np.int64]
    crowded: NDArray[np.bool_]

    @property
    def chi_square_holds(self) -> NDArray[np.bool_]:
        """Where the chi-square distribution has nearly this mean and variance."""
        freedom = np.maximum(self.df, 1)
        near = np.abs(self.mean - freedom) <= _MEAN_OFF * np.sqrt(2 * freedom)
        near &= self.doubt <= _RELIABLE[-1][1] * np.sqrt(self.variance)
        return np.asarray(near & (np.abs(self.variance / freedom - 2) <= 2 * _VARIANCE_OFF))

    @property
    def reliable(self) -> NDArray[np.bool_]:
        """Where the approximation by moments holds; elsewhere use a bootstrap or the cautious p-value."""
        most = np.select(
            [self.df >= least for least, _ in _RELIABLE], [limit for _, limit in _RELIABLE], -1.0
        )
        return np.asarray((self.doubt <= most * np.sqrt(self.variance)) & ~self.crowded)

    def p_values(self, statistic: Floats, *, cautious: bool = False) -> Floats:
        """The upper tail of the scaled chi-square with this mean and variance; 1 without degrees of freedom.

        A cautious one has the doubt added to the mean where it is too large.
        """
        sure = self.doubt <= _RELIABLE[0][1] * np.sqrt(self.variance)
        mean = self.mean + np.where(sure, 0.0, self.doubt) if cautious else self.mean
        tail = chdtrc(2 * mean**2 / self.variance, np.maximum(statistic, 0.0) * 2 * mean / self.variance)
        return np.asarray(np.where(self.df > 0, tail, 1.0))

    def by_distribution(self, statistic: Floats) -> Floats:
        """By the chi-square where it holds, else by the moments, cautiously; needs no bootstrap."""
        return np.where(
            self.chi_square_holds, chi_square(statistic, self.df), self.p_values(statistic, cautious=True)
        )

    def of(self, table: int) -> Self:
        """The null distribution of one table, as a batch of one."""
        return type(self)(*(getattr(self, each.name)[table : table + 1] for each in fields(self)))

    @classmethod
    def of_sum(cls, distributions: Iterable[Self]) -> Self:
        """The null distribution of the sum of the statistics of separate tables."""
        every = zip(
            *([getattr(one, each.name) for each in fields(cls)] for one in distributions), strict=True
        )
        mean, doubt, variance, df, crowded = (np.sum(column, axis=0) for column in every)
        return cls(mean, doubt, variance, df, crowded > 0)


def null_distribution(
    found: LikelihoodRatios, model: HierarchicalModel, noise: NoiseTable | NoiseByCell
) -> NullDistribution:
    """The null distribution of the statistics of fitted tables."""
    cells = model.offset.size
    parameters = margin_cells(model)[1]
    step = max(1, _ROOM // max(cells, min(parameters, _MOST_PARAMETERS) ** 2))
    pieces = [
        _moments(found.means[at : at + step], found.present[at : at + step], model, noise)
        for at in range(0, len(found.df), step)
    ]
    mean, doubt, variance = (np.concatenate(column) for column in zip(*pieces, strict=True))
    whole = model.degrees_of_freedom(model.possible)
    crowded = np.full(len(mean), whole < (1 - _CROWDED) * model.possible.sum())
    return NullDistribution(mean, doubt + whole - found.df, variance, found.df, crowded)


def _moments(
    means: Floats, present: NDArray[np.bool_], model: HierarchicalModel, noise: NoiseTable | NoiseByCell
) -> tuple[Floats, Floats, Floats]:
    tables = len(means)
    mu, seen = means.reshape(tables, -1), present.reshape(tables, -1)
    # A cell that vanishes still has its part of the statistic, but no weight in the fit.
    parts = _parts(means, noise).within(np.broadcast_to(model.possible.ravel(), mu.shape))
    weights = np.where(seen, mu**2 * parts.information, 0.0)
    uncertainty, explained = _uncertainty(model, weights, np.where(seen, mu * parts.slope, 0.0))
    leverage = weights * uncertainty
    shift = -0.5 * np.where(seen, parts.bend * mu**2 * uncertainty, 0.0).sum(axis=1)
    raw = parts.variance.sum(axis=1)
    gain = 2 * leverage * (1 - parts.overlap) + leverage**2 * (parts.kurtosis - 2)
    gain = np.maximum(gain.sum(axis=1), -(leverage * parts.variance).sum(axis=1))
    variance = np.maximum(raw - explained + gain, np.maximum(_LEAST_LEFT * raw, 1e-9))
    mean = parts.expected.sum(axis=1) - leverage.sum(axis=1) + shift
    doubt = np.abs(shift) + 2 * (leverage**2 * np.maximum(parts.kurtosis - 2, 0)).sum(axis=1)
    return np.maximum(mean, 1e-9), doubt, variance


def _uncertainty(model: HierarchicalModel, weights: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """The variance of each fitted log mean, and the variance that the fitted means explain.

    With very many parameters every cell gets the same leverage and nothing is explained, which is cautious.
    """
    columns = margin_cells(model)[1]
    if columns <= _MOST_PARAMETERS:
        found = Leverage.of(model, weights)
        return found.log_variance(), found.explained(slopes)
    seen = weights > 0
    cells = seen.sum(axis=1)
    fitted = cells - np.array([model.degrees_of_freedom(one.reshape(model.shape)) for one in seen])
    leverage = (fitted / np.maximum(cells, 1))[:, None] * seen
    return np.divide(leverage, weights, out=np.zeros_like(weights), where=seen), np.zeros(len(weights))


def _parts(means: Floats, noise: NoiseTable | NoiseByCell) -> CellParts:
    mu = means.reshape(len(means), -1)
    if not isinstance(noise, NoiseByCell):
        return _table_moments(noise).at(mu)
    kinds = noise.kind.ravel()
    whole = [np.zeros_like(mu) for _ in fields(CellParts)]
    for kind in np.unique(kinds):
        here = kinds == kind
        for column, found in zip(
            whole, columns(_distribution_moments(noise.distributions[kind]).at(mu[:, here])), strict=True
        ):
            column[:, here] = found
    return CellParts(*whole)


@lru_cache(maxsize=64)
def _distribution_moments(kept: TruncatedDistribution) -> CellMoments:
    return wide_moments(kept.distribution, kept.variance)


@lru_cache(maxsize=32)
def _table_moments(noise: NoiseTable) -> CellMoments:
    last = TruncatedDistribution.of(
        noise.distributions[int(noise.distribution_index(np.array([len(noise.rows)]))[0])]
    )
    if len(noise.distributions) == 1:
        return _distribution_moments(last)
    near = table_moments(noise)
    if noise.repeats > 1:
        return near
    return near.extend(far_moments(last.distribution, near.noise, float(near.means[-1])))
