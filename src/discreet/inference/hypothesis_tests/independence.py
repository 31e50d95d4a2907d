"""Noise-aware likelihood-ratio tests of log-linear models, and of independence in two-way tables.

    H0 of independence: log mu(i, j) = eta + alpha(i) + beta(j),

or quasi-independence where cells cannot occur. Each result also has the naive G2, which takes the released counts as exact:
in a table of 10 x 10 with 60 people per cell and Laplace noise (epsilon 0.1, m 10) it rejects true independence in 87 of 100
tables at 5 %.
Source: Rinott et al. (2018), section 6.1, Table 3 and eqs 6.1-6.2, for any hierarchical model and any noise table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadRequest
from discreet.inference.channel import NoiseByCell, by_cell, observe, whole_numbers
from discreet.inference.hypothesis_tests import likelihood_ratio
from discreet.inference.hypothesis_tests.cramers_v import strength
from discreet.inference.hypothesis_tests.likelihood_ratio import SURVEY_MODEL, LikelihoodRatio, NaiveTest
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import null_distribution
from discreet.inference.hypothesis_tests.p_value import (
    METHODS,
    REPLICATES,
    SEED,
    choose_method,
    p_value,
    reason,
)
from discreet.inference.hypothesis_tests.survey_tests import inner_possible, survey_test
from discreet.model.messages.text import message, nearest, one_line
from discreet.model.noise_distribution import CellDistribution
from discreet.model.release import Release
from discreet.noise.table import NoiseTable

MODELS = ("poisson", "multinomial")


def log_linear_test(
    table: Release | ArrayLike,
    generators: Sequence[Sequence[int | str]],
    noise: CellDistribution | NoiseByCell | None = None,
    *,
    model: str = "poisson",
    total: int | None = None,
    method: str = "auto",
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> LikelihoodRatio:
    """Test a hierarchical log-linear model against the saturated model.

    The generators are the largest sets of variables that interact, by axis, or by name for a release. The other arguments
    are those of `independence_test`.

    >>> from discreet.noise import laplace
    >>> found = log_linear_test([[31, 20], [18, 33]], [(0,), (1,)], laplace(epsilon=2.0, m=5))
    >>> found.df, found.p_value < found.naive.p_value
    (1, False)
    """
    possible = possible_cells(table, noise)
    names = [dimension.name for dimension in table.dimensions] if isinstance(table, Release) else []
    unknown = [v for g in generators for v in g if isinstance(v, str) and v not in names]
    if unknown:
        raise BadRequest(f'The table has no variable "{unknown[0]}".', nearest(unknown[0], names))
    axes = [[names.index(v) if isinstance(v, str) else v for v in g] for g in generators]
    hypothesis = HierarchicalModel.of(axes, possible.astype(np.float64))
    words = "the log-linear model " + "".join(f"[{','.join(map(str, g))}]" for g in generators)
    return run_on_table(
        table, noise, hypothesis, words,
        model=model, total=total, method=method, replicates=replicates, seed=seed,
    )  # fmt: skip


def possible_cells(
    table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None
) -> NDArray[np.bool_]:
    """Which inner cells of a table can occur."""
    if isinstance(table, Release) and table.measure.has_errors:
        return inner_possible(table)
    return observe(table, noise).possible


def run_on_table(
    table: Release | ArrayLike,
    noise: CellDistribution | NoiseByCell | None,
    hypothesis: HierarchicalModel,
    words: str,
    *,
    model: str,
    total: int | None,
    method: str,
    replicates: int,
    seed: int,
    given: bool = False,
) -> LikelihoodRatio:
    """Test the inner cells of a table; a weighted one by its published errors.

    `given` says that the model is a distribution of given chances.
    """
    if isinstance(table, Release) and table.measure.has_errors:
        if (model, total, method) != ("poisson", None, "auto"):
            raise BadRequest(
                "The test of a weighted table has one model and one method.",
                "Leave model, total and method out.",
            )
        return survey_test(table, hypothesis, words, given=given)
    seen = observe(table, noise)
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
    """Test one table (a batch of one), with the naive test."""
    _check(model, total, method, replicates)
    noise = by_cell(noise, hypothesis.shape)
    found = likelihood_ratio.likelihood_ratios(batch, noise, hypothesis, total)
    naive, naive_df = likelihood_ratio.naive_ratios(batch, hypothesis)
    distribution = null_distribution(found, hypothesis, noise)
    notes = () if found.converged[0] else (message("The maximum of the likelihood was not reached in time."),)
    chosen, p = "chi-square", 1.0
    if found.df[0]:
        cells = int(hypothesis.possible.sum())
        chosen, draws = method, replicates
        if method == "auto":
            chosen, draws = choose_method(distribution, noise, cells, replicates, model)
        p = p_value(chosen, found, distribution, hypothesis, noise, total=total, replicates=draws, seed=seed)
        notes = (*notes, reason(chosen, distribution, draws))
    else:
        notes = (*notes, _nothing_left(hypothesis))
    return LikelihoodRatio(
        hypothesis=words,
        statistic=float(found.statistic[0]),
        df=int(found.df[0]),
        p_value=p,
        naive=NaiveTest(
            float(naive[0]), int(naive_df[0]), float(likelihood_ratio.chi_square(naive[0], naive_df[0]))
        ),
        model=model,
        method=chosen,
        converged=bool(found.converged[0]),
        spread=likelihood_ratio.spread_of(noise),
        notes=notes,
        fitted=found.means[0],
    )


def _nothing_left(hypothesis: HierarchicalModel) -> str:
    """Why there are no degrees of freedom: the model is saturated, or too few cells have people."""
    if hypothesis.degrees_of_freedom(hypothesis.possible) == 0:
        return message("Nothing is left to test (df 0): the model fits every table.")
    return message(
        "Nothing is left to test (df 0): the released people are all in one row or one column, and all "
        "others may be empty. Take a larger group or coarser categories."
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


_MAIN_EFFECTS = ((0,), (1,))


@dataclass(frozen=True, slots=True)
class IndependenceTests:
    """Tests of many tables of one shape, without a bootstrap.

    Args:
        p_value: By the chi-square where it holds, else by moments. It errs on the safe side with few degrees of freedom, and
            where the approximation is not reliable.
        reliable: Where the null distribution is known well; elsewhere too few people are expected.
        naive_statistic: G2, the noise ignored.
        naive_p_value: Its p-value by the chi-square.
    """

    statistic: NDArray[np.float64]
    df: NDArray[np.int64]
    p_value: NDArray[np.float64]
    method: NDArray[np.str_]
    reliable: NDArray[np.bool_]
    naive_statistic: NDArray[np.float64]
    naive_p_value: NDArray[np.float64]
    converged: NDArray[np.bool_]

    def __repr__(self) -> str:
        return one_line(self, f"of {self.statistic.size:,} tables")


def independence_test(
    table: Release | ArrayLike,
    noise: CellDistribution | NoiseByCell | None = None,
    *,
    model: str = "poisson",
    total: int | None = None,
    method: str = "auto",
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> LikelihoodRatio:
    """Test whether the two variables of a table are independent.

    Args:
        table: A release of two variables, or a matrix of released counts without totals. A weighted release is tested by
            its published errors (`survey_tests.py`), and takes none of the other arguments.
        noise: The noise table of a matrix, or the noise of its cells.
        model: `poisson`, or `multinomial` where the true total is public.
        total: The public total, for `multinomial`.
        method: `chi-square`, `moments`, `bootstrap`, or `auto` for the first of them that holds.
        replicates: Draws of the bootstrap.
        seed: Seed of the bootstrap.

    Raises:
        BadRequest: The table is not two-way with at least two rows and two columns.

    >>> from discreet.noise import laplace
    >>> found = independence_test([[52, 31], [30, 55]], laplace(epsilon=0.5, m=7))
    >>> found.df, found.method, found.p_value > found.naive.p_value
    (1, 'bootstrap', True)
    """
    possible = possible_cells(table, noise)
    if possible.ndim != 2 or min(possible.shape) < 2:
        raise BadRequest(
            message("The test of independence needs two variables, each with at least two categories."),
            message("Choose one variable for the rows and one for the columns."),
        )
    first: str = message("rows")
    second: str = message("columns")
    if isinstance(table, Release):
        first, second = (dimension.label for dimension in table.dimensions)
    words = message("{first} and {second} are independent", first=first, second=second)
    if not possible.all():
        words = message(
            "{first} and {second} are independent where both can occur", first=first, second=second
        )
    found = run_on_table(
        table, noise, HierarchicalModel.of(_MAIN_EFFECTS, possible.astype(np.float64)), words,
        model=model, total=total, method=method, replicates=replicates, seed=seed,
    )  # fmt: skip
    return found if found.model == SURVEY_MODEL else replace(found, cramers_v=strength(table, noise))


def independence_tests(
    tables: ArrayLike, noise: CellDistribution | NoiseByCell, total: NDArray[np.int64] | None = None
) -> IndependenceTests:
    """Test many two-way tables at once; tables along the first axis.

    >>> from discreet.noise import laplace
    >>> independence_tests(np.full((3, 2, 2), 40), laplace(epsilon=0.5, m=7)).statistic.round(6).tolist()
    [0.0, 0.0, 0.0]
    """
    counts = whole_numbers(tables)
    if counts.ndim != 3 or min(counts.shape[1:]) < 2:
        raise BadRequest(
            message("Many tables are one array of tables x rows x columns."), message("Check its shape.")
        )
    model = HierarchicalModel.of(_MAIN_EFFECTS, np.ones(counts.shape[1:]))
    noise = by_cell(noise, counts.shape[1:])
    found = likelihood_ratio.likelihood_ratios(counts, noise, model, total)
    naive, naive_df = likelihood_ratio.naive_ratios(counts, model)
    distribution = null_distribution(found, model, noise)
    return IndependenceTests(
        found.statistic,
        found.df,
        distribution.by_distribution(found.statistic),
        np.where(distribution.chi_square_holds, "chi-square", "moments"),
        distribution.reliable,
        naive,
        likelihood_ratio.chi_square(naive, naive_df),
        found.converged,
    )
