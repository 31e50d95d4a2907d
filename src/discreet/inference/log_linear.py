"""The likelihood-ratio test of any hierarchical log-linear model of a released table, noise included.

    statistic = 2 (max over all mu of log L(mu) - max over the model's mu of log L(mu)),
    L(mu) = product over cells of  sum over n of  Poisson(n; mu) P(x | n),

or its multinomial form where the true total is public. Both maxima are found with the noise in the
likelihood: the unrestricted one is not at mu = x. Degrees of freedom leave out cells that cannot occur and
cells that vanish in the extended estimate. Many tables are tested at once.

Comes from: a `Release`, or an array with its noise (by cell). Goes to: `independence`, `goodness_of_fit`.
Source: Rinott et al. (2018), eqs 6.1-6.2, for any hierarchical model and any noise table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from discreet.errors import BadRequest, nearest
from discreet.inference.bootstrap import REPLICATES, SEED, bootstrap_p_value, simulated
from discreet.inference.centring import centred, moments_by_cell
from discreet.inference.channel import channel_of, with_sure_zeros
from discreet.inference.expectation_maximisation import maximise
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.likelihood_ratio import LikelihoodRatio, NaiveTest, chi_square, spread_of
from discreet.inference.multinomial_likelihood import MultinomialLikelihood
from discreet.inference.noise_by_cell import NoiseByCell, by_cell
from discreet.inference.observed import observed
from discreet.inference.plain_fit import plain_fit
from discreet.inference.poisson_likelihood import PoissonLikelihood
from discreet.inference.wide_poisson import WidePoisson
from discreet.model.release import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw
    from discreet.noise.table import NoiseTable

    Floats = NDArray[np.float64]
    Totals = int | NDArray[np.int64]

MODELS = ("poisson", "multinomial")
METHODS = ("auto", "chi-square", "bootstrap", "moments")
#: The chi-square law is left when the statistic's own mean or variance differ from its by more than this part.
_OFF = 0.05
#: Cochran's rule: the chi-square law holds when no mean is below 1 and at most a fifth are below 5.
_LEAST_MEAN, _SMALL_MEAN, _SMALL_SHARE = 1.0, 5.0, 0.2
#: Numbers held at a time, and numbers that a bootstrap may look at without being asked for.
_ROOM = 4_000_000
_PATIENCE = {"poisson": 3_000_000, "multinomial": 100_000}
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

    @property
    def p_value(self) -> Floats:
        """From the chi-square law."""
        return chi_square(self.statistic, self.df)


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
    step = max(1, _ROOM // (model.offset.size * _width(looked_at, given=total is not None)))
    parts = []
    for at in range(0, len(tables), step):
        totals = None if total is None else np.broadcast_to(total, len(tables))[at : at + step]
        parts.append(_ratios(_likelihood(tables[at : at + step], looked_at, model, totals), model))
    columns = zip(*((p.statistic, p.df, p.converged, p.means, p.present) for p in parts), strict=True)
    return Ratios(*(np.concatenate(column) for column in columns))


def _width(noise: NoiseTable | NoiseByCell, *, given: bool = False) -> int:
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
            f"The multinomial model of {cells:,} cells with noise that spans {width:,} is too large.",
            "Use the Poisson model: with so much noise a known total changes little.",
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
    freedom = np.array([model.degrees_of_freedom(present) for present in fit.present], dtype=np.int64)
    return Ratios(statistic, freedom, fit.converged & found, fit.means, fit.present)


def naive_ratios(tables: NDArray[np.int64], model: HierarchicalModel) -> tuple[Floats, NDArray[np.int64]]:
    """G2 of each table as if its counts were exact (those below zero as zero), and its degrees of freedom.

    Where a fit did not reach its margins in time, G2 is that of the last cycle: its error is of second order, and
    a test is not refused because of the number beside it.
    """
    fit = plain_fit(np.where(model.possible, np.maximum(tables, 0), 0).astype(np.float64), model)
    freedom = np.array([model.degrees_of_freedom(present) for present in fit.present], dtype=np.int64)
    return fit.g_squared(), freedom


def log_linear_test(
    table: Release | ArrayLike,
    generators: Sequence[Sequence[int | str]],
    noise: CellLaw | NoiseByCell | None = None,
    *,
    model: str = "poisson",
    total: int | None = None,
    method: str = "auto",
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> LikelihoodRatio:
    """Test a hierarchical log-linear model against no restriction at all.

    Args:
        table: A release, or an array of released counts without totals.
        generators: The largest sets of variables that interact, by axis, or by name for a release.
        noise: The noise table of an array, or the laws of its cells.
        model: `poisson`, or `multinomial` where the true total is public.
        total: The public total, for `multinomial`.
        method: `chi-square`, `moments`, `bootstrap`, or `auto`: the bootstrap when fitted means are small.
        replicates: Draws of the bootstrap.
        seed: Seed of the bootstrap.

    >>> from discreet.noise import laplace
    >>> found = log_linear_test([[31, 20], [18, 33]], [(0,), (1,)], laplace(epsilon=2.0, m=5))
    >>> found.df, found.p_value < found.naive.p_value
    (1, False)
    """
    seen = observed(table, noise)
    axes = _axes(table, generators) if isinstance(table, Release) else generators
    hypothesis = HierarchicalModel.of(axes, seen.possible.astype(np.float64))  # type: ignore[arg-type]
    words = "the log-linear model " + "".join(f"[{','.join(map(str, g))}]" for g in generators)
    return run_test(
        seen.batch, seen.noise, hypothesis, words,
        model=model, total=total, method=method, replicates=replicates, seed=seed,
    )  # fmt: skip


def run_test(
    batch: NDArray[np.int64],
    noise: NoiseTable | NoiseByCell,
    hypothesis: HierarchicalModel,
    words: str,
    *,
    model: str,
    total: int | None,
    method: str,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> LikelihoodRatio:
    """Test one table (a batch of one), with the naive test beside it."""
    _check(model, total, method, replicates)
    noise = by_cell(noise, hypothesis.shape)
    found = ratios(batch, noise, hypothesis, total)
    naive, naive_df = naive_ratios(batch, hypothesis)
    by_law, off = law_p_values(found, hypothesis, noise)
    if found.df[0]:
        width = _width(noise, given=total is not None)
        chosen, notes = _method(found, hypothesis, method, model, replicates, width, off=bool(off[0]))
    else:
        chosen, notes = "chi-square", (_nothing_left(hypothesis),)
    if chosen == "bootstrap":
        drawn = simulated(found.means[0], noise, replicates, seed, total)
        again = ratios(drawn, noise, hypothesis, total)
        seen, others = (centred(r.statistic, r.means, hypothesis.possible, noise) for r in (found, again))
        p_value = bootstrap_p_value(float(seen[0]), others)
    else:
        p_value = float(by_law[0] if chosen == "moments" else found.p_value[0])
    return LikelihoodRatio(
        hypothesis=words,
        statistic=float(found.statistic[0]),
        df=int(found.df[0]),
        p_value=p_value,
        naive=NaiveTest(float(naive[0]), int(naive_df[0]), float(chi_square(naive[0], naive_df[0]))),
        model=model,
        method=chosen,
        converged=bool(found.converged[0]),
        spread=spread_of(noise),
        notes=notes,
        fitted=found.means[0],
    )


def _nothing_left(hypothesis: HierarchicalModel) -> str:
    """Why there are no degrees of freedom: the model restricts nothing, or too few cells have people."""
    if hypothesis.degrees_of_freedom(hypothesis.possible) == 0:
        return "Nothing is left to test (df 0): the model fits every table."
    return (
        "Nothing is left to test (df 0): the released people stand in one row or one column, and all others may "
        "be empty. Take a larger group or coarser categories."
    )


def _check(model: str, total: int | None, method: str, replicates: int) -> None:
    for name, value, known in (("model", model, MODELS), ("method", method, METHODS)):
        if value not in known:
            raise BadRequest(f'The {name} is "{value}".', nearest(value, known))
    if (model == "multinomial") != (total is not None):
        raise BadRequest(
            "The multinomial model needs the true total, and only it takes one.",
            "Give the public total of the table's inner cells, or use the Poisson model without one.",
        )
    if not 1 <= replicates <= 100_000:
        raise BadRequest(f"{replicates} replicates.", "Choose 1 to 100,000.")


def law_p_values(
    found: Ratios, hypothesis: HierarchicalModel, noise: NoiseTable | NoiseByCell
) -> tuple[Floats, NDArray[np.bool_]]:
    """The p-values by the law c chi-square(f) that has the statistic's own mean and variance; where it is another.

    Under noise that is not normal and outweighs the counts' own spread, a cell's part of the statistic is no
    chi-square of one degree: Laplace noise gives it the mean 2. With e and v the sums of its mean and variance
    over n cells and p fitted parameters, mean = e - p and variance = v (n - p) / n. Where these are those of the
    plain chi-square law, and for a noise table of few keys, that law holds.
    """
    plain = found.p_value
    if not isinstance(noise, NoiseByCell):
        return plain, np.zeros(len(plain), dtype=np.bool_)
    sums = moments_by_cell(found.means, hypothesis.possible, noise)
    cells, freedom = int(hypothesis.possible.sum()), np.maximum(found.df, 1)
    fitted = found.present.reshape(len(plain), -1).sum(axis=1) - found.df
    mean = np.maximum(sums[0] - fitted, 1e-9)
    variance = np.maximum(sums[1] * (cells - fitted) / cells, 1e-12)
    off = (np.abs(mean / freedom - 1) > _OFF / np.sqrt(freedom)) | (np.abs(variance / freedom - 2) > 2 * _OFF)
    off &= found.df > 0
    matched = chdtrc(2 * mean**2 / variance, found.statistic * 2 * mean / variance)
    return np.where(off, matched, plain), off


def _method(
    found: Ratios,
    hypothesis: HierarchicalModel,
    method: str,
    model: str,
    replicates: int,
    width: int,
    *,
    off: bool,
) -> tuple[str, tuple[str, ...]]:
    """Where the p-value comes from, and what the reader is told about it."""
    means = found.means[0][hypothesis.possible]
    small = bool(means.min() < _LEAST_MEAN) or bool((means < _SMALL_MEAN).mean() > _SMALL_SHARE)
    notes = () if found.converged[0] else ("The maximum of the likelihood was not reached in time.",)
    if method == "bootstrap" or not (small or off):
        return ("bootstrap" if method == "bootstrap" else "chi-square"), notes
    why = "The noise outweighs the counts" if off else "Expected counts are small"
    if method == "chi-square":
        return method, (*notes, f"{why}: the bootstrap is safer.")
    if method == "moments" or means.size * width * replicates > _PATIENCE[model]:
        return ("moments" if off else "chi-square"), (
            *notes,
            f"{why}: the bootstrap is safer, and takes its time.",
        )
    drawn = f"{why}: the p-value comes from {replicates} tables drawn from the hypothesis."
    return "bootstrap", (*notes, drawn)


def _axes(release: Release, generators: Sequence[Sequence[int | str]]) -> list[list[int]]:
    names = [dimension.name for dimension in release.dimensions]
    unknown = [v for g in generators for v in g if isinstance(v, str) and v not in names]
    if unknown:
        raise BadRequest(f'The table has no variable "{unknown[0]}".', nearest(unknown[0], names))
    return [[names.index(v) if isinstance(v, str) else v for v in g] for g in generators]
