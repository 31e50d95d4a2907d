"""The constants of tests of weighted tables: how clusters act on the interactions of two variables.

For two declared variables, with x the sample's counts in the form's weights, m = n p q their fit under independence, V the
design's covariance of x (ultimate clusters in strata, or replicates), M0 that of records drawn one by one, both scaled by
1 / √m and projected on interactions, and f the clusters less the strata,

    E   =  tr V / tr M0
    a²  =  (t / (tr V)²) / (tr M0² / (tr M0)²) - 1,       t = f² (tr V² - (tr V)² / f) / ((f - 1) (f + 2))

t is tr V² without what the error of an estimated V adds. E is rounded up like every constant of `published_constants.py`, a²
by chance to the first or second multiple of .1 above it. Both are published for the pairs that the custodian declares. E of
other pairs says which variables are constant within clusters.

Source: Rao & Scott (1984); docs/methods/noise-aware-tests.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import BadDescription
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings
from discreet.model.messages.text import nearest
from discreet.model.survey import VARIATION_STEP, PairEffect, Survey
from discreet.records.engine import Engine
from discreet.survey.generalised import Floats
from discreet.survey.sample_sums import CategorySums, SampleDesign, category_sums, survey_of
from discreet.survey.variance import fractions

#: The largest table whose constants are measured: its cells have a covariance matrix.
MOST_CELLS = 1_000
#: Categories are put together to so many where only the mean effect of the interactions is asked for.
FOLDED = 8


def step_of_variation(value: float, chance: float) -> float:
    """A multiple of .1 above the value, by chance the first or the second one; `chance` is in (0, 1].

    >>> step_of_variation(0.42, 0.3), step_of_variation(0.42, 0.9)
    (0.5, 0.6)
    """
    return round(ceil(value / VARIATION_STEP + chance) * VARIATION_STEP, 1)


def declared_pairs(dataset: Dataset, engine: Engine) -> Iterator[tuple[tuple[str, str], PairEffect]]:
    """The exact constants of the declared tests; none where records are drawn one by one.

    Raises:
        BadDescription: A name is no variable or level, or a pair has too many cells.
    """
    survey = survey_of(dataset)
    for names in survey.tests:
        (one, first), (other, second) = (_level(dataset, name) for name in names)
        lengths = (len(set(first.tolist()) - {-1}), len(set(second.tolist()) - {-1}))
        if one == other or min(lengths) < 2 or lengths[0] * lengths[1] > MOST_CELLS:
            raise BadDescription(
                f"`tests` of [survey] has {names[0]} by {names[1]}: {lengths[0]} x {lengths[1]} cells.",
                f"Give two different variables with two categories or more each, and at most {MOST_CELLS:,} cells.",
            )
        public = (str(survey.stratum),) if survey.form == "public-strata" else ()
        variables = tuple(dict.fromkeys((one, other, *public)))
        sums = category_sums(engine, dataset, survey, *variables)
        design = SampleDesign(survey, sums)
        if not design.clustered:
            continue
        places = np.unravel_index(sums.category, [len(dataset.variable(name)) for name in variables])
        codes = dict(zip(variables, places, strict=True))
        strata = codes[public[0]] if public else np.zeros(sums.category.size, dtype=np.int64)
        yield names, measured_pair(sums, first[codes[one]], second[codes[other]], strata, survey, design)


def measured_levels(dataset: Dataset, engine: Engine, names: tuple[str, str]) -> PairEffect:
    """The exact constants of two levels of different variables, of counts of records, with categories put together."""
    survey = replace(survey_of(dataset), form="average-weight", stratum=None, stratum_weights=())
    (one, first), (other, second) = (_level(dataset, name) for name in names)
    sums = category_sums(engine, dataset, survey, one, other)
    places = np.unravel_index(sums.category, [len(dataset.variable(name)) for name in (one, other)])
    own = (of[place] for of, place in zip((first, second), places, strict=True))
    left, right = (np.where(each < 0, each, each % FOLDED) for each in own)
    strata = np.zeros(sums.category.size, dtype=np.int64)
    return measured_pair(sums, left, right, strata, survey, SampleDesign(survey, sums))


def _level(dataset: Dataset, level: str) -> tuple[str, NDArray[np.int64]]:
    """The variable of a level, and of each of its categories the place in the level; -1 outside it."""
    names = {variable.name for variable in dataset.variables}
    if level in names:
        return level, np.arange(len(dataset.variable(level)))
    known = list(names)
    for variable in dataset.variables:
        groups = groupings(dataset, variable.name)
        known += groups
        if level in groups:
            places = np.full(len(variable), -1)
            for at, group in enumerate(groups[level]):
                places[list(group.members)] = at
            return variable.name, places
    raise BadDescription(f'`tests` of [survey] names "{level}".', nearest(level, known))


def measured_pair(
    sums: CategorySums,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    strata: NDArray[np.int64],
    survey: Survey,
    design: SampleDesign,
) -> PairEffect:
    """E and a² of two variables, exact: confidential until they are rounded.

    `first` and `second` are the categories of each group of records, negative where it is left out; `strata` are those of
    public weight.
    """
    average = float(survey.population_size) / survey.sample_size
    values = (sums.weight if survey.only_weights else sums.form) / average
    inside = (first >= 0) & (second >= 0) & (values > 0)
    _, rows = np.unique(first[inside], return_inverse=True)
    _, columns = np.unique(second[inside], return_inverse=True)
    if not inside.any() or min(rows.max(), columns.max()) < 1:
        return PairEffect()
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    cell = np.full(first.size, -1)
    cell[inside] = rows * shape[1] + columns
    length = shape[0] * shape[1]
    table = np.bincount(cell[inside], (sums.records * values)[inside], length).reshape(shape)
    p, q = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
    left = np.kron(*(np.eye(each.size) - np.sqrt(np.outer(each, each)) for each in (p, q)))
    left = left / np.sqrt(table.sum() * np.outer(p, q)).ravel()
    drawn = left @ _drawn(sums, cell, length, strata, values, survey, average) @ left.T
    covered = left @ _covariance(sums, cell, length, values, survey, design) @ left.T
    traces = [float(np.trace(each)) for each in (drawn, covered)]
    if min(traces) <= 0:
        return PairEffect()
    squares = [float((each * each).sum()) for each in (drawn, covered)]
    # The estimate of V from few clusters has a larger tr V² than V: the moments of a Wishart matrix take that off.
    freedom = max(design.freedom, 2)
    squares[1] = (squares[1] - traces[1] ** 2 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    uneven = squares[1] / traces[1] ** 2 / (squares[0] / traces[0] ** 2) - 1
    return PairEffect(max(traces[1] / traces[0], 1.0), max(uneven, 0.0))


def _drawn(
    sums: CategorySums,
    cell: NDArray[np.int64],
    length: int,
    strata: NDArray[np.int64],
    values: Floats,
    survey: Survey,
    average: float,
) -> Floats:
    """The covariance of the counts of cells if the records of each stratum of public weight were drawn one by one."""
    used = cell >= 0
    if survey.only_weights:
        total, squares = (float(sums.records @ each) for each in (sums.exact, sums.exact**2))
        people = np.bincount(cell[used], (sums.records * values)[used], length)
        found = (np.diag(people) - np.outer(people, people) / (total / average)) * (squares / total / average)
    else:
        found = np.zeros((length, length))
        for stratum in np.unique(strata):
            here = strata == stratum
            size = float(sums.records[here].sum())
            shares = np.bincount(cell[here & used], sums.records[here & used], length) / size
            found += values[here][0] ** 2 * size * (np.diag(shares) - np.outer(shares, shares))
    return np.asarray((1 - 1 / average) * found)


def _covariance(
    sums: CategorySums,
    cell: NDArray[np.int64],
    length: int,
    values: Floats,
    survey: Survey,
    design: SampleDesign,
) -> Floats:
    """The covariance of the counts of cells by the design."""
    used = cell >= 0
    summed = sums.records * values
    if survey.design.replicates:
        found = np.zeros((length, length))
        whole = np.bincount(cell[used], summed[used], length)
        for coefficient, factor in zip(survey.design.coefficients, sums.factors, strict=True):
            changed = np.bincount(cell[used], (summed * factor)[used], length) - whole
            found += float(coefficient) * np.outer(changed, changed)
        return found
    units = design.units.astype(np.float64)
    fraction = fractions(design.design, units.size)
    several = units > 1
    factor = (1 - fraction) * np.where(several, units / np.where(several, units - 1, 1), 1)
    (strata, _), unit = np.unique(np.stack([sums.stratum, sums.unit])[:, used], axis=1, return_inverse=True)
    by_unit = sparse.csr_array((summed[used], (unit.ravel(), cell[used])), shape=(strata.size, length))
    of_stratum = sparse.csr_array(
        (np.ones(strata.size), (strata, np.arange(strata.size))), shape=(units.size, strata.size)
    )
    totals = (of_stratum @ by_unit).toarray()
    squares = (by_unit.T @ by_unit.multiply(factor[strata][:, None])).toarray()
    taken = np.where(several, factor / np.maximum(units, 1), 0)
    return np.asarray(squares - totals.T @ (taken[:, None] * totals))
