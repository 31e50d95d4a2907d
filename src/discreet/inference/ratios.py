"""The likelihood-ratio statistics of a batch of released tables, noise included.

    statistic = 2 (max over all mu of log L(mu) - max over the model's mu of log L(mu)),
    L(mu) = product over cells of  sum over n of  Poisson(n; mu) P(x | n),

or its multinomial form where the true total is public. Both maxima are found with the noise in the
likelihood: the unrestricted one is not at mu = x. Degrees of freedom leave out cells that cannot occur and
cells that vanish in the extended estimate.

Source: Rinott et al. (2018), eqs 6.1-6.2, for any hierarchical model and any noise table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.channel import channel_of, with_sure_zeros
from discreet.inference.expectation_maximisation import maximise
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.multinomial_likelihood import MultinomialLikelihood
from discreet.inference.noise_by_cell import NoiseByCell, by_cell
from discreet.inference.plain_fit import plain_fit
from discreet.inference.poisson_likelihood import PoissonLikelihood
from discreet.inference.wide_poisson import WidePoisson
from discreet.model.told import told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.noise_law import CellLaw
    from discreet.noise.table import NoiseTable

    Floats = NDArray[np.float64]
    Totals = int | NDArray[np.int64]

#: Numbers held at a time.
_ROOM = 4_000_000
#: Of wide noise about so many counts matter at a time; a public total needs all, for each pair of cells.
_WINDOW, _MOST_GIVEN = 256, 2**23


@dataclass(frozen=True, slots=True)
class Ratios:
    """The statistics of a batch of tables.

    Args:
        statistic: The noise-aware statistic of each table.
        df: Its degrees of freedom.
        converged: Whether both maxima were found.
        means: The fitted means under the hypothesis.
        present: The cells that take part.
    """

    statistic: Floats
    df: NDArray[np.int64]
    converged: NDArray[np.bool_]
    means: Floats
    present: NDArray[np.bool_]


def ratios(
    tables: NDArray[np.int64],
    noise: CellLaw | NoiseByCell,
    model: HierarchicalModel,
    total: Totals | None = None,
) -> Ratios:
    """The noise-aware statistics of a batch of released tables, tables along the first axis.

    Args:
        tables: Released counts.
        noise: Their noise table, or the laws of their cells.
        model: The hypothesis.
        total: The public true total of each table: then the likelihood is multinomial.
    """
    looked_at = by_cell(noise, model.shape)
    step = max(1, _ROOM // (model.offset.size * counts_behind(looked_at, given=total is not None)))
    parts = []
    for at in range(0, len(tables), step):
        totals = None if total is None else np.broadcast_to(total, len(tables))[at : at + step]
        parts.append(_ratios(_likelihood(tables[at : at + step], looked_at, model, totals), model))
    columns = zip(*((p.statistic, p.df, p.converged, p.means, p.present) for p in parts), strict=True)
    return Ratios(*(np.concatenate(column) for column in columns))


def counts_behind(noise: NoiseTable | NoiseByCell, *, given: bool = False) -> int:
    """How many counts behind a released one are looked at."""
    if isinstance(noise, NoiseByCell):
        return noise.width if given else min(noise.width, _WINDOW)
    return channel_of(noise).laws.shape[1]


def _likelihood(
    tables: NDArray[np.int64],
    noise: NoiseTable | NoiseByCell,
    model: HierarchicalModel,
    totals: NDArray[np.int64] | None,
) -> PoissonLikelihood | WidePoisson | MultinomialLikelihood:
    """The likelihood of a batch of tables; cells that cannot occur are known to be empty."""
    if isinstance(noise, NoiseByCell):
        cells, laws = np.where(model.possible, tables, 0), noise.without(~model.possible)
        if totals is None:
            return WidePoisson.of(cells, laws)
        _refuse_large(model.offset.size, laws.width)
        return MultinomialLikelihood.of(laws.evidence(cells), totals)
    evidence = channel_of(noise).evidence(np.where(model.possible, tables, _released_zero(noise)))
    evidence = with_sure_zeros(evidence, np.broadcast_to(~model.possible, evidence.released.shape))
    return PoissonLikelihood.of(evidence) if totals is None else MultinomialLikelihood.of(evidence, totals)


def _released_zero(noise: NoiseTable) -> int:
    """A value that this table can release, for cells of which the value does not matter."""
    return noise.rows[0].values[0]


def _refuse_large(cells: int, width: int) -> None:
    if cells**2 * width > _MOST_GIVEN:
        raise BadRequest(
            told(
                "The multinomial model of {cells:,} cells with noise that spans {width:,} is too large.",
                cells=cells,
                width=width,
            ),
            told("Use the Poisson model: with so much noise a known total changes little."),
        )


def _ratios(
    likelihood: PoissonLikelihood | WidePoisson | MultinomialLikelihood, model: HierarchicalModel
) -> Ratios:
    fit = maximise(likelihood, model)
    if isinstance(likelihood, MultinomialLikelihood):
        every_axis = tuple(range(len(model.shape)))
        free = maximise(likelihood, HierarchicalModel.of([every_axis], model.possible.astype(np.float64)))
        top, found = free.log_likelihood, free.converged
    else:
        top, found = likelihood.unrestricted()[0], np.ones(len(fit.converged), dtype=np.bool_)
    statistic = np.maximum(2 * (top - fit.log_likelihood), 0.0)
    freedom = _freedom(fit.present, model)
    return Ratios(statistic, freedom, fit.converged & found, fit.means, fit.present)


def _freedom(present: NDArray[np.bool_], model: HierarchicalModel) -> NDArray[np.int64]:
    """The degrees of freedom of each table, worked out once for each pattern of cells that take part."""
    packed = np.packbits(present.reshape(len(present), -1), axis=1)
    _, first, back = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    found = [model.degrees_of_freedom(present[table]) for table in first]
    return np.array(found, dtype=np.int64)[back.ravel()]


def naive_ratios(tables: NDArray[np.int64], model: HierarchicalModel) -> tuple[Floats, NDArray[np.int64]]:
    """G2 of each table as if its counts were exact (those below zero as zero), and its degrees of freedom.

    Where a fit did not reach its margins in time, G2 is that of the last cycle: its error is of second order, and
    a test is not refused because of the number beside it.
    """
    fit = plain_fit(np.where(model.possible, np.maximum(tables, 0), 0).astype(np.float64), model)
    freedom = _freedom(fit.present, model)
    return fit.g_squared(), freedom
