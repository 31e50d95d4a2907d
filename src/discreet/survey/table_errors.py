"""From a weighted table and the constants of its survey to `TableErrors`.

The errors of a table depend on the released counts of its categories, one variable at a time, and with clusters on those of
its pairs of categories. A variable of a filter counts like one of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings
from discreet.model.shape import Dimension, Output, TableShape
from discreet.model.survey import Survey
from discreet.survey.gate import charged_bias
from discreet.survey.generalised import SHOWN_ZERO, TAU, Axis, Floats, TableErrors
from discreet.survey.sample_sums import survey_of

#: Released counts by some dimensions, without the filters of a table, with the strata on the last axis.
Counts = Callable[..., Floats]


def in_strata(figures: NDArray[Any], dimensions: Sequence[Dimension], stratum: str) -> NDArray[Any]:
    """Figures by dimensions but that of the strata, with all strata on the last axis: in its shape, 0 outside a stratum."""
    for at, dimension in enumerate(dimensions):
        if dimension.name == stratum:
            inside = np.zeros((dimension.length, len(dimension.base)), dtype=np.bool_)
            for place, members in enumerate(dimension.members()):
                inside[place, list(members)] = True
            lengths = [len(inside) if axis == at else 1 for axis in range(len(dimensions))]
            figures = np.expand_dims(figures, at) * inside.reshape([*lengths, -1])
    return figures


def build_errors(
    dataset: Dataset,
    shape: TableShape,
    counts: Counts,
    noisy: Floats,
    noise: Floats,
    weights: Floats | None = None,
    places: tuple[NDArray[np.int64], ...] | None = None,
) -> TableErrors:
    """All that the errors of a table depend on.

    `noisy` are the noisy counts, or steps, and `noise` the variances of their noise, with the strata on the last axis;
    `weights` are the public weights of the strata of `public-strata`. `places` are those of cells that are listed.
    """
    survey = survey_of(dataset)
    average, largest = float(survey.population_size) / survey.sample_size, float(survey.largest_weight)
    step = largest / average if survey.only_weights else 1.0
    dimensions = [
        *shape.dimensions,
        *(_filter_dimension(dataset, each.name, each.members) for each in shape.filters),
    ]
    sizes = np.array([float(survey.sample_size)]) if weights is None else np.maximum(counts()[...], 1.0)
    axes = tuple(_axis(dataset, survey, each, counts, sizes) for each in dimensions)
    length = (*shape.lengths, *(1 for _ in shape.filters), sizes.size)
    if places is not None:
        length = (noisy.shape[0], sizes.size)
        places = (*places, *(np.zeros(length[0], dtype=np.int64) for _ in shape.filters))
    constants, pairs = survey.constants, {}
    if len(axes) > 2 and any((axis.effects != 1).any() for axis in axes):
        pairs = {
            (one, two): counts(dimensions[one], dimensions[two])
            for one, two in combinations(range(len(axes)), 2)
        }
    if weights is None:
        people = noise * (largest if survey.only_weights else average) ** 2
        if survey.only_weights:  # rounding to steps: uniform, and conservative for weights near one step
            people = people + largest**2 / 4
        public = np.array([average])
    else:
        public = weights
        people = (np.where(noisy > 0, noise, np.where(noise > 0, SHOWN_ZERO, 0)) * weights**2).sum(axis=-1)
    return TableErrors(
        axes,
        pairs,
        (noisy * step).reshape(length).astype(np.float64),
        people.reshape(length[:-1]),
        public,
        sizes,
        constants.mean_square if survey.only_weights else 0.0,
        constants.per_cluster,
        constants.freedom,
        largest / average,
        0.0 if survey.calibrated else constants.calibration,
        float(survey.error_limit),
        0.0 if weights is None else _strata_effect(survey, dataset),
        places,
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


def _axis(dataset: Dataset, survey: Survey, dimension: Dimension, counts: Counts, sizes: Floats) -> Axis:
    members, everything = dimension.members(), len(dimension.base)
    levels = [_level(dataset, dimension.name, own) for own in members]
    effects = [survey.constants.effect(level) for level, _ in levels]
    of_strata = dataset.variable(dimension.name).column == survey.design.strata
    fixed = of_strata or (survey.only_weights and dimension.name in survey.calibrated_to)
    cluster = np.array([0.0 if fixed else each.cluster for each in effects])
    own_level = [(dimension.name, size) for _, size in levels]
    biases = [
        charged_bias(dataset, survey, level, 0.0 if of_strata else each.cluster, sizes)
        for level, each in zip(own_level, effects, strict=True)
    ]
    margin = counts(dimension)
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
        cluster,
        np.array(biases) / TAU**2,
        margin,
        None if clusters is None else np.array(clusters, dtype=np.float64),
        any(each.constant for each in effects),
        np.array(
            [
                0.0 if len(set(own)) == everything else each.extra_spread
                for own, each in zip(members, effects, strict=True)
            ]
        )
        if survey.only_weights
        else None,
    )


def _level(dataset: Dataset, name: str, members: tuple[int, ...]) -> tuple[str, int]:
    """The level that has a category with these members, and how many it has; a free group counts as of the finest."""
    if len(members) > 1:
        for level, groups in groupings(dataset, name).items():
            if any(group.members == members for group in groups):
                return level, len(groups)
    return name, len(dataset.variable(name))
