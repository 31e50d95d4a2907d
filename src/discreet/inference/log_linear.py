"""The likelihood-ratio test of any hierarchical log-linear model of a released table, noise included.

The statistic is that of `ratios`, its law that of `null_law`, and `method` says where the p-value comes from. The naive
G2, which takes the released counts for exact, stands beside it.

Source: Rinott et al. (2018), eqs 6.1-6.2, for any hierarchical model and any noise table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.bootstrap import REPLICATES, SEED
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.likelihood_ratio import LikelihoodRatio, NaiveTest, chi_square, spread_of
from discreet.inference.method import METHODS, chosen_method, p_value, reason
from discreet.inference.noise_by_cell import by_cell
from discreet.inference.null_law import null_law
from discreet.inference.observed import observed
from discreet.inference.ratios import naive_ratios, ratios
from discreet.model.nearest import nearest
from discreet.model.release import Release
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.inference.noise_by_cell import NoiseByCell
    from discreet.model.noise_law import CellLaw
    from discreet.noise.table import NoiseTable

MODELS = ("poisson", "multinomial")


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
        method: `chi-square`, `moments`, `bootstrap`, or `auto`, which takes the first of them that holds.
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
    law = null_law(found, hypothesis, noise)
    notes = () if found.converged[0] else (told("The maximum of the likelihood was not reached in time."),)
    chosen, p = "chi-square", 1.0
    if found.df[0]:
        cells = int(hypothesis.possible.sum())
        chosen, draws = method, replicates
        if method == "auto":
            chosen, draws = chosen_method(law, noise, cells, replicates, model)
        p = p_value(chosen, found, law, hypothesis, noise, total=total, replicates=draws, seed=seed)
        notes = (*notes, reason(chosen, law, draws))
    else:
        notes = (*notes, _nothing_left(hypothesis))
    return LikelihoodRatio(
        hypothesis=words,
        statistic=float(found.statistic[0]),
        df=int(found.df[0]),
        p_value=p,
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
        return told("Nothing is left to test (df 0): the model fits every table.")
    return told(
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


def _axes(release: Release, generators: Sequence[Sequence[int | str]]) -> list[list[int]]:
    names = [dimension.name for dimension in release.dimensions]
    unknown = [v for g in generators for v in g if isinstance(v, str) and v not in names]
    if unknown:
        raise BadRequest(f'The table has no variable "{unknown[0]}".', nearest(unknown[0], names))
    return [[names.index(v) if isinstance(v, str) else v for v in g] for g in generators]
