"""From a weighted table and its survey to `TableErrors`: the released counts and published constants of its errors.

The errors of a table depend on the released counts of its categories, one variable at a time, and with clusters on those of
its pairs of categories. They are the numbers of the tables that anyone may ask for: the same people have the same noise
(cell keys), or the same description has (`dp`). A variable of a filter counts like one of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings
from discreet.model.shape import Dimension, Output, TableShape
from discreet.model.survey import Survey
from discreet.release.checked_request import CheckedRequest, unlock
from discreet.release.verdicts import count_cells
from discreet.survey.generalised import SHOWN_ZERO, Axis, Floats, TableErrors
from discreet.survey.published_constants import declared_biases
from discreet.survey.weight_forms import SurveyDesign


class ReleasedCounts:
    """Released counts of parts of a request: of some of its variables, without its filters.

    Args:
        strata: The variable of the strata if the form counts by stratum, with all its categories and no total.
        per_step: Records of average weight in one step of `largest-weight`; else 1.
    """

    def __init__(self, question: CheckedRequest, strata: Dimension | None, per_step: float) -> None:
        self._question, self._strata, self._per_step = question, strata, per_step

    def of(self, *dimensions: Dimension) -> Floats:
        """The counts by these dimensions, with the strata on the last axis."""
        stored, protector = unlock(self._question)
        own = tuple(d for d in dimensions if self._strata is None or d.name != self._strata.name)
        shape = TableShape(own if self._strata is None else (*own, self._strata))
        cells = protector.stored(shape) or protector.protect(count_cells(stored, shape))
        noisy = cells.noisy * self._per_step
        if self._strata is None:
            return np.asarray(noisy[..., None])
        for at, dimension in enumerate(dimensions):
            if dimension.name == self._strata.name:
                inside = stratum_members(dimension)
                noisy = np.expand_dims(noisy, at) * inside.reshape(
                    [len(inside) if axis == at else 1 for axis in range(len(dimensions))] + [-1]
                )
        return np.asarray(noisy)


def stratum_members(dimension: Dimension) -> NDArray[np.bool_]:
    """Which strata each output of their variable contains."""
    inside = np.zeros((dimension.length, len(dimension.base)), dtype=np.bool_)
    for at, members in enumerate(dimension.members()):
        inside[at, list(members)] = True
    return inside


def table_errors(
    question: CheckedRequest,
    survey: Survey,
    design: SurveyDesign,
    noisy: NDArray[np.int64],
    noise: Floats,
    strata: Dimension | None = None,
    weights: Floats | None = None,
) -> TableErrors:
    """All that the errors of a table depend on.

    `noisy` are the noisy counts, or steps, and `noise` the variances of their noise, with the strata on the last axis.
    `strata` is the variable of the strata of `public-strata`, and `weights` has the public weight of each.
    """
    dataset, shape = question.dataset, question.shape
    average = float(design.average_weight)
    largest = design.largest_weight / design.scale
    step = largest / average if survey.only_weights else 1.0
    dimensions = [
        *shape.dimensions,
        *(_filter_dimension(dataset, each.name, each.members) for each in shape.filters),
    ]
    counts = ReleasedCounts(question, strata, step)
    sizes = np.array([float(survey.sample_size)]) if strata is None else np.maximum(counts.of()[...], 1.0)
    axes = tuple(_axis(dataset, survey, each, counts, sizes) for each in dimensions)
    length = (*shape.lengths, *(1 for _ in shape.filters), sizes.size)
    constants, pairs = survey.constants, {}
    if len(axes) > 2 and any((axis.effects != 1).any() for axis in axes):
        pairs = {
            (one, two): counts.of(dimensions[one], dimensions[two])
            for one, two in combinations(range(len(axes)), 2)
        }
    if strata is None:
        people = noise * (largest if survey.only_weights else average) ** 2
        if survey.only_weights:  # rounding to steps: uniform, and conservative for weights near one step
            people = people + largest**2 / 4
        weights = np.array([average])
    else:
        weights = np.array([]) if weights is None else weights
        people = (np.where(noisy > 0, noise, np.where(noise > 0, SHOWN_ZERO, 0)) * weights**2).sum(axis=-1)
    return TableErrors(
        axes,
        pairs,
        (noisy * step).reshape(length).astype(np.float64),
        people.reshape(length[:-1]),
        weights,
        sizes,
        _unit(survey, dataset, dimensions) if survey.only_weights else None,
        constants.per_cluster,
        constants.freedom,
        largest / average,
        0.0 if survey.calibrated else constants.calibration,
        float(survey.error_limit),
        0.0 if strata is None else _strata_effect(survey, dataset),
    )


def _strata_effect(survey: Survey, dataset: Dataset) -> float:
    """The cluster effect of the variable of the strata; 0 if the design or the calibration fixes their sizes."""
    stratum = dataset.variable(str(survey.stratum))
    fixed = stratum.column == survey.design.strata or stratum.name in survey.calibrated_to
    return 0.0 if fixed else survey.constants.effect(stratum.name).cluster


def _filter_dimension(dataset: Dataset, name: str, members: tuple[int, ...]) -> Dimension:
    variable = dataset.variable(name)
    everything = tuple(range(len(variable)))
    return Dimension(
        name, variable.label, (Output("", "", members),), everything, variable.codes, total=False
    )


def _axis(
    dataset: Dataset, survey: Survey, dimension: Dimension, counts: ReleasedCounts, sizes: Floats
) -> Axis:
    members, everything = dimension.members(), len(dimension.base)
    levels = [_level(dataset, dimension.name, own) for own in members]
    effects = [survey.constants.effect(level) for level, _ in levels]
    of_strata = dataset.variable(dimension.name).column == survey.design.strata
    fixed = of_strata or (survey.only_weights and dimension.name in survey.calibrated_to)
    cluster = np.array([each.weighted if survey.only_weights else each.cluster for each in effects])
    biases = cluster * np.array([size - 1 for _, size in levels])
    if (declared := declared_biases(survey, float(sizes.sum()))) is not None:
        biases = np.full(len(members), declared)
    margin = counts.of(dimension)
    for at, own in enumerate(members):
        if len(set(own)) == everything:
            margin[at] = sizes
    known = survey.constants.stratum_clusters
    clusters = [sum(known[place] for place in own) for own in members] if of_strata and known else None
    return Axis(
        dimension.name,
        dimension.codes,
        tuple(members),
        everything,
        np.zeros(len(members)) if fixed else cluster,
        np.zeros(len(members)) if of_strata else biases,
        margin,
        None if clusters is None else np.array(clusters, dtype=np.float64),
    )


def _level(dataset: Dataset, name: str, members: tuple[int, ...]) -> tuple[str, int]:
    """The level that has a category with these members, and how many it has; a free group counts as of the finest."""
    if len(members) > 1:
        for level, groups in groupings(dataset, name).items():
            if any(group.members == members for group in groups):
                return level, len(groups)
    return name, len(dataset.variable(name))


def _unit(survey: Survey, dataset: Dataset, dimensions: Sequence[Dimension]) -> Floats:
    """B of every cell under `largest-weight`: the mean squared weight, raised by how much it varies between categories."""
    lengths = [dimension.length for dimension in dimensions]
    spread = np.zeros(lengths)
    for at, dimension in enumerate(dimensions):
        own = [
            0.0
            if len(members) == len(dimension.base)
            else survey.constants.effect(_level(dataset, dimension.name, members)[0]).spread - 1
            for members in dimension.members()
        ]
        spread = (
            spread + np.array(own).reshape([-1 if axis == at else 1 for axis in range(len(lengths))]) ** 2
        )
    return np.asarray(survey.constants.mean_square * (1 + np.sqrt(spread)))
