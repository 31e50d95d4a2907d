"""Tests of weighted tables: Pearson's X² with a second-order Rao-Scott correction by published constants.

With x the noisy counts (released people over the average weight), m their fit under a log-linear model, and P the projection
on what the model leaves of x / √m, after weighted least squares,

    X²  =  Σ (x - m)² / m
    M0  =  P diag(m)^-½ C diag(m)^-½ P        C the covariance of counts drawn one by one, within strata of public weight
    Mn  =  P diag(V / m) P                    V the variance of the noise of each number
    λ ν =  E tr M0 + tr Mn                    ν the degrees of freedom of the model
    Σλ² =  E² (1 + a²) tr M0² + 2 E tr M0 Mn + tr Mn²
    F   =  X² / (λ ν)   on   ν' = (λ ν)² / Σλ²   and   ν' (clusters - strata)   degrees of freedom

or X² ν' / (λ ν) as a chi-square on ν' without clusters. E is the effect of clusters on the interactions that the model
leaves out, and a² the relative variance of the eigenvalues behind it: for a pair of variables those that the load published
(`survey/published_constants.py`), for a single variable its D with a² = 0. Without clusters E = 1 and a² = 0. A rung is 1.25
times its constant on average, and a² is .1 more; both are taken off. A given distribution of categories is also subject to
the bias that the load lets through, as printed errors are: its τ² D (K - 1) m adds to V, except where all weights are equal.

Source: Rao & Scott (1981, 1984); Thomas & Rao (1987) for F; Satterthwaite (1946); docs/methods/noise-aware-tests.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.cramers_v import CramersV
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    SURVEY_MODEL,
    LikelihoodRatio,
    NaiveTest,
    chi_square,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.model.hierarchy import groupings
from discreet.model.messages.text import message
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release
from discreet.model.survey import PairEffect, Survey
from discreet.survey.generalised import FEWEST_FREEDOM, TAU, Floats, TableErrors

#: The largest table that is tested: its cells have a covariance matrix.
MOST_CELLS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class SurveyTable:
    """The cells of a weighted table, and what the distribution of their numbers depends on.

    Args:
        noisy: The noisy counts, with the strata of public weight on the last axis.
        noise: The variance of the noise of each number, in people squared.
        weights: The weight of each stratum.
        sizes: The records of each stratum.
        unit: What replaces the weight in the variance under `largest-weight`; else None.
        freedom: The degrees of freedom of the design; None without clusters.
    """

    noisy: Floats
    noise: Floats
    weights: Floats
    sizes: Floats
    unit: float | None = None
    freedom: int | None = None


@dataclass(frozen=True, slots=True)
class RaoScott:
    """The corrected test of one table.

    Args:
        pearson: X².
        df: Degrees of freedom of the model.
        scale: λ ν, the mean of X² under the hypothesis; `noise` is the part of the noise.
        effective: ν', the degrees of freedom of the corrected statistic.
        people: The sum of the cells that were tested.
    """

    pearson: float
    df: int
    scale: float
    noise: float
    effective: float
    p_value: float
    people: float

    @property
    def statistic(self) -> float:
        """X² over the mean of λ: to be compared with ν."""
        return self.pearson * self.df / self.scale if self.df else 0.0


def rao_scott(
    table: SurveyTable, model: HierarchicalModel, effect: PairEffect, bias: float = 0.0
) -> RaoScott:
    """Test a log-linear model.

    `effect` is E and a² of the interactions that the model leaves out, not rounded; `bias` is τ² D (K - 1), for a model of
    given chances.

    >>> counts = np.array([[30.0, 20.0], [20.0, 30.0]])[..., None]
    >>> simple = SurveyTable(counts, np.zeros((2, 2)), np.array([1e9]), np.array([100.0]))
    >>> found = rao_scott(simple, HierarchicalModel.of([(0,), (1,)], np.ones((2, 2))), PairEffect())
    >>> found.pearson, found.df, round(found.p_value, 4)
    (4.0, 1, 0.0455)
    """
    average = float(table.weights @ table.sizes / table.sizes.sum())
    values = np.where(model.possible, table.noisy @ table.weights / average, 0.0)
    present = _present(values, model)
    target = np.where(present, values, 0.0)
    df = model.degrees_of_freedom(present) if present.any() else 0
    if df == 0:
        return RaoScott(0.0, 0, 0.0, 0.0, 0.0, 1.0, float(target.sum()))
    fitted = model.fit(target[None], start=np.where(present, model.offset, 0.0))[0]
    mean = fitted[present]
    pearson = float(((target[present] - mean) ** 2 / mean).sum())
    root = np.sqrt(mean)
    scaled = root[:, None] * model.design(present).toarray()
    basis, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]

    def left(matrix: Floats) -> Floats:
        """What the model leaves: P matrix P."""
        matrix = matrix - basis @ (basis.T @ matrix)
        return np.asarray(matrix - (matrix @ basis) @ basis.T)

    drawn = left(_covariance(table, present, mean, average) / np.outer(root, root))
    noise = left(np.diag(table.noise[present] / average**2 / mean))
    fixed = noise + left(np.diag(bias * mean / mean.sum()))
    first = float(np.trace(drawn))
    scale = effect.effect * first + float(np.trace(fixed))
    squares = effect.effect**2 * (1 + effect.variation) * float((drawn * drawn).sum())
    squares += 2 * effect.effect * float((drawn * fixed).sum()) + float((fixed * fixed).sum())
    freedom = scale**2 / squares
    f = pearson / scale
    clusters = table.freedom
    p = chdtrc(freedom, freedom * f) if clusters is None else fdtrc(freedom, freedom * clusters, f)
    return RaoScott(pearson, df, scale, float(np.trace(noise)), freedom, float(p), float(target.sum()))


def _present(values: Floats, model: HierarchicalModel) -> NDArray[np.bool_]:
    """The cells of which every margin of the model is positive; leaving one out can empty another margin."""
    present = model.possible
    while True:
        kept = present
        for generator in model.generators:
            others = tuple(axis for axis in range(values.ndim) if axis not in generator)
            kept = kept & (np.where(present, values, 0).sum(axis=others, keepdims=True) > 0)
        if (kept == present).all():
            return present
        present = kept


def _covariance(table: SurveyTable, present: NDArray[np.bool_], mean: Floats, average: float) -> Floats:
    """C: of counts drawn one by one, by the model, or within strata by their noisy counts."""
    if table.weights.size == 1:
        unit = 1.0 if table.unit is None else table.unit / average
        found = (np.diag(mean) - np.outer(mean, mean) / mean.sum()) * unit
    else:
        inside = np.maximum(table.noisy[present], 0)
        sizes = np.maximum(table.sizes, inside.sum(axis=0))  # a filtered table is not the whole stratum
        found = np.zeros((mean.size, mean.size))
        for weight, size, counts in zip(table.weights, sizes, inside.T, strict=True):
            shares = counts / size
            found += (weight / average) ** 2 * size * (np.diag(shares) - np.outer(shares, shares))
    return np.asarray((1 - 1 / average) * found)


def survey_test(
    release: Release, model: HierarchicalModel, words: str, *, given: bool = False
) -> LikelihoodRatio:
    """Test a log-linear model of the categories of a weighted table; `given` for a model of given chances.

    Raises:
        BadRequest: The table has no errors by published constants, or a constant that the test needs is not published.
    """
    survey, errors = _survey_of(release), release.sampling
    table = _inner_cells(release, errors)
    if table.noisy[..., 0].size > MOST_CELLS:
        raise BadRequest(
            message("The table has {size:,} cells.", size=table.noisy[..., 0].size),
            message(
                "A test of a weighted table takes at most {most_cells:,}: group some.", most_cells=MOST_CELLS
            ),
        )
    effect = _effect(release, survey, model) if survey.clustered else PairEffect()
    bias = 0.0
    if given and survey.form != "largest-weight" and errors.largest > 1:
        bias = TAU**2 * sum(
            float(errors.axes[at].biases[places].max()) for at, places in _places(release, errors)
        )
    found = rao_scott(table, model, effect, bias)
    return _result(found, table, model, words)


def inner_possible(release: Release) -> NDArray[np.bool_]:
    """Which inner cells of a table can occur.

    Raises:
        BadRequest: Some of them are withheld.
    """
    status = release.status[np.ix_(*(dimension.leaves for dimension in release.dimensions))]
    if (status == WITHHELD).any():
        raise BadRequest(
            message("Some cells of the table are withheld."),
            message("Choose categories of which every cell is released."),
        )
    if (status == NOT_APPLICABLE).all():
        raise BadRequest(message("No cell of this table can occur."), message("Choose other categories."))
    return np.asarray(status != NOT_APPLICABLE)


def _survey_of(release: Release) -> Survey:
    survey, errors = release.dataset.survey, release.sampling
    if survey is None or errors is None:
        raise BadRequest(
            message(
                "The errors of this version are not made of published constants, so its tables have no test."
            ),
            message("Ask for a newer version, or for intervals."),
        )
    if errors.freedom is not None and errors.freedom < FEWEST_FREEDOM:
        raise BadRequest(
            message("The survey has too few clusters for a test."), message("Ask for the table alone.")
        )
    if release.unrounded is not None:
        raise BadRequest(
            message("The noise of these cells is shared, so this table has no test."),
            message("Ask for intervals."),
        )
    return survey


def _places(release: Release, errors: TableErrors) -> Iterator[tuple[int, list[int]]]:
    """The axis of the errors for each variable of the table, and the places of its inner categories on it."""
    for dimension in release.dimensions:
        at = errors.names.index(dimension.name)
        yield at, [errors.axes[at].codes.index(dimension.codes[leaf]) for leaf in dimension.leaves]


def _inner_cells(release: Release, errors: TableErrors) -> SurveyTable:
    order, places = zip(*_places(release, errors), strict=True)
    others = [at for at in range(len(errors.axes)) if at not in order]  # filters, with one place each
    index = np.ix_(*places, *([0] for _ in others))
    shape = tuple(len(own) for own in places)
    noise = errors.noise.transpose([*order, *others])[index].reshape(shape)
    if np.isnan(noise).any():
        raise BadRequest(
            message("Some numbers were changed so that the table adds up."),
            message("Ask for additivity=independent."),
        )
    noisy = errors.noisy.transpose([*order, *others, len(errors.axes)])[index].reshape(*shape, -1)
    survey = release.dataset.survey
    unit = None
    if errors.unit is not None and survey is not None:  # E contains how much weights vary between categories
        unit = survey.constants.mean_square if survey.clustered else float(errors.unit.max())
    return SurveyTable(noisy, noise, errors.weights, errors.sizes, unit, errors.freedom)


def _effect(release: Release, survey: Survey, model: HierarchicalModel) -> PairEffect:
    """E and a² of what a model leaves out: the largest of its interactions."""
    if release.request.filters:
        raise BadRequest(
            message(
                "The constants of clusters are those of the whole survey, and the table is of a part of it."
            ),
            message("Ask for the table without filters."),
        )
    dp, found = release.dataset.protection.is_dp, [PairEffect()]
    axes = range(len(release.dimensions))
    subsets = [set(part) for size in (3, 2, 1) for part in combinations(axes, size)]
    for part in (part for part in subsets if not any(part <= set(own) for own in model.generators)):
        if len(part) > 2:
            raise BadRequest(
                message("A survey of clusters has no constants for three variables together."),
                message("Test two variables at a time."),
            )
        levels = [_level(release, at) for at in sorted(part)]
        known: PairEffect | None
        if len(levels) == 1:
            known = PairEffect(max(survey.constants.effect(levels[0]).cluster, 1.0))
        else:
            known = survey.constants.pair(levels[0], levels[1])
        if known is None:
            raise BadRequest(
                message(
                    "The survey has clusters, and no constant is published for {one} by {other}.",
                    one=levels[0],
                    other=levels[1],
                ),
                message(
                    'A custodian declares tests = [["{one}", "{other}"]] under [survey] and loads again.',
                    one=levels[0],
                    other=levels[1],
                ),
            )
        found.append(known if dp else known.before_rounding())
    return PairEffect(max(each.effect for each in found), max(each.variation for each in found))


def _level(release: Release, at: int) -> str:
    """The level or variable whose categories the inner ones of a dimension are, all of them."""
    dimension = release.dimensions[at]
    members = dimension.members()
    shown = {frozenset(members[leaf]) for leaf in dimension.leaves}
    levels = {
        name: {frozenset(group.members) for group in groups}
        for name, groups in groupings(release.dataset, dimension.name).items()
    }
    levels[dimension.name] = {
        frozenset([place]) for place in range(len(release.dataset.variable(dimension.name)))
    }
    for name, groups in levels.items():
        if groups == shown:
            return name
    raise BadRequest(
        message(
            'The constants of clusters are those of all categories of a level, not of some of "{name}".',
            name=dimension.name,
        ),
        message("Ask for the table with all categories of a level, and without groups of them."),
    )


def _result(found: RaoScott, table: SurveyTable, model: HierarchicalModel, words: str) -> LikelihoodRatio:
    average = float(table.weights @ table.sizes / table.sizes.sum())
    if found.df == 0:
        notes: tuple[str, ...] = (
            message("Nothing is left to test (df 0): too few rows or columns have people in them."),
        )
    elif table.freedom is None:
        notes = (
            message(
                "X² has the mean {scale:.2f} under the hypothesis, in place of {df}; the corrected statistic counts "
                "as a chi-square with {freedom:.2f} degrees of freedom.",
                scale=found.scale,
                df=found.df,
                freedom=found.effective,
            ),
        )
    else:
        notes = (
            message(
                "X² has the mean {scale:.2f} under the hypothesis, in place of {df}; divided by it, it counts as an F "
                "with {freedom:.2f} and {clusters:.0f} degrees of freedom.",
                scale=found.scale,
                df=found.df,
                freedom=found.effective,
                clusters=found.effective * table.freedom,
            ),
        )
    strength = None
    if model.generators == ((0,), (1,)) and model.possible.all() and found.df:
        most = found.people * (min(model.shape) - 1)
        strength = CramersV(
            sqrt(min(max(found.pearson - found.noise, 0.0) / most, 1.0)),
            sqrt(min(found.pearson / most, 1.0)),
            found.noise,
        )
    return LikelihoodRatio(
        hypothesis=words,
        statistic=found.statistic,
        df=found.df,
        p_value=found.p_value,
        naive=NaiveTest(found.pearson, found.df, float(chi_square(found.pearson, found.df))),
        model=SURVEY_MODEL,
        method="rao-scott",
        converged=True,
        spread=sqrt(float(table.noise.max())) / average,
        notes=notes,
        cramers_v=strength,
    )
