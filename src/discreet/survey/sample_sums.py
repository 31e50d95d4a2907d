"""The records of a survey by category, sampling unit and weight, and the variance of their sums by the design. Confidential.

Source: docs/methods/survey-weights.md; Wolter (2007), chapters 2-5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.survey import Survey
from discreet.records import storage
from discreet.records.engine import AggregateQuery, Engine
from discreet.survey.generalised import CAP, Floats
from discreet.survey.variance import fractions, replicate_variance, stratum_variance


def survey_of(dataset: Dataset) -> Survey:
    """The survey of a dataset that has one."""
    if dataset.survey is None:
        raise ValueError("constants need a survey that is described")
    return dataset.survey


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CategorySums(Confidential):
    """Groups of records that agree in a variable, their sampling unit and their weight.

    Args:
        category: Of each group, like `stratum` and `unit`, the cluster.
        records: How many there are, as a float.
        exact: The weight of each record, in people; `weight` is at most three times the mean.
        form: The weight that the form gives each record.
        factors: Of each replicate weight, the mean ratio to the weight.
    """

    category: NDArray[np.int64]
    stratum: NDArray[np.int64]
    unit: NDArray[np.int64]
    records: Floats
    exact: Floats
    weight: Floats
    form: Floats
    factors: tuple[Floats, ...]

    def add(self, values: Floats, categories: int) -> Floats:
        """Sums of a figure per record by category."""
        return _add(self.category, self.records * values, categories)


def _add(places: NDArray[np.int64], values: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(places, weights=values, minlength=length), dtype=np.float64)


def category_sums(engine: Engine, dataset: Dataset, survey: Survey, *variables: str) -> CategorySums:
    """Count the records by category, sampling unit and weight; categories of several variables are numbered in C order."""
    replicates = storage.replicate_names(survey.design)
    strata = (
        (survey.stratum,)
        if survey.form == "public-strata" and survey.stratum not in {None, *variables}
        else ()
    )
    query = AggregateQuery(
        (*variables, *map(str, strata), *storage.unit_columns(dataset), storage.WEIGHT), sums=replicates
    )
    found = engine.aggregate(query)
    order = np.lexsort(found.codes)  # engines return groups in any order
    codes = {
        name: each[order].astype(np.int64) for name, each in zip(query.group_by, found.codes, strict=True)
    }
    none, scale = np.zeros(order.size, dtype=np.int64), float(10**dataset.weight_decimals)
    stratum, counts = codes.get(storage.STRATUM, none), found.counts[order].astype(np.float64)
    exact = codes[storage.WEIGHT] / scale
    mean = float(survey.population_size) / survey.sample_size
    weight, form = np.minimum(exact, CAP * mean), np.full(order.size, mean)
    if survey.form == "public-strata":  # what is left is the bias within strata
        of_stratum, listed = codes[str(survey.stratum)], dict(survey.stratum_weights)
        public = np.array([float(listed[code]) for code in dataset.variable(str(survey.stratum)).codes])
        form = public[of_stratum]
        own, people = (_add(of_stratum, counts * each, public.size) for each in (weight, form))
        weight = weight * (people / np.where(own > 0, own, 1))[of_stratum]
    else:  # what the cap takes off is no bias
        weight = weight * (mean * counts.sum() / float(counts @ weight))
    factors = tuple(each[order] / scale / (counts * exact) for each in found.sums)
    lengths = [len(dataset.variable(name)) for name in variables]
    category = np.ravel_multi_index(tuple(codes[name] for name in variables), lengths)
    return CategorySums(
        category, stratum, codes.get(storage.CLUSTER, none), counts, exact, weight, form, factors
    )


class SampleDesign:
    """The declared design with what the records say of it: the units of each stratum. Confidential."""

    def __init__(self, survey: Survey, sums: CategorySums) -> None:
        self.design = survey.design
        strata = int(sums.stratum.max(initial=0)) + 1
        if self.design.clusters:
            pairs = np.unique(np.stack([sums.stratum, sums.unit]), axis=1)
            self.units = np.bincount(pairs[0], minlength=strata)
        else:
            self.units = _add(sums.stratum, sums.records, strata).astype(np.int64)
        self._fractions = fractions(self.design, strata)

    @property
    def clustered(self) -> bool:
        """Whether records are not drawn one by one."""
        return bool(self.design.clusters or self.design.replicates)

    @property
    def freedom(self) -> int:
        """The degrees of freedom of a variance: units less strata, or replicates less one."""
        replicates = len(self.design.replicates)
        return replicates - 1 if replicates else int(self.units.sum()) - self.units.size

    @property
    def clusters(self) -> int:
        """The number of clusters; 0 if none are declared."""
        return int(self.units.sum()) if self.design.clusters else 0

    def variances(self, sums: CategorySums, values: Floats, categories: int) -> Floats:
        """The variance of the sum of a figure per record, by category."""
        if self.design.replicates:
            changed = (sums.add(values * each, categories) for each in sums.factors)
            return replicate_variance(sums.add(values, categories), changed, self.design)
        strata = self.units.size
        place = sums.category * strata + sums.stratum
        totals = _add(place, sums.records * values, categories * strata)
        if self.design.clusters:
            (places, _), where = np.unique(np.stack([place, sums.unit]), axis=1, return_inverse=True)
            by_unit = _add(where.ravel(), sums.records * values, places.size)
            squares = _add(places, by_unit**2, categories * strata)
        else:
            squares = _add(place, sums.records * values**2, categories * strata)
        return self._by_strata(totals, squares, categories)

    def share_variances(self, sums: CategorySums, categories: int) -> Floats:
        """n² times the variance of the share of each category in the records, of clusters or replicates.

        Its residual, 1_k - p_k, leaves out how many records each cluster has.
        """
        ones = np.ones_like(sums.records)
        counts, size = sums.add(ones, categories), float(sums.records.sum())
        if self.design.replicates:
            changed = (
                sums.add(each, categories) * (size / float(sums.records @ each)) for each in sums.factors
            )
            return replicate_variance(counts, changed, self.design)
        strata, p = self.units.size, np.repeat(counts / size, self.units.size)
        length = categories * strata
        (of_stratum, _), unit = np.unique(np.stack([sums.stratum, sums.unit]), axis=1, return_inverse=True)
        whole = _add(unit.ravel(), sums.records, of_stratum.size)
        everybody, squared = (_add(of_stratum, each, strata) for each in (whole, whole**2))
        place = sums.category * of_stratum.size + unit.ravel()
        groups, where = np.unique(place, return_inverse=True)
        own, cluster = _add(where.ravel(), sums.records, groups.size), groups % of_stratum.size
        places = groups // of_stratum.size * strata + of_stratum[cluster]
        totals = _add(places, own, length) - p * np.tile(everybody, categories)
        squares = _add(places, own**2 - 2 * p[places] * own * whole[cluster], length)
        return self._by_strata(totals, squares + p**2 * np.tile(squared, categories), categories)

    def _by_strata(self, totals: Floats, squares: Floats, categories: int) -> Floats:
        shape = (categories, self.units.size)
        parts = stratum_variance(totals.reshape(shape), squares.reshape(shape), self.units, self._fractions)
        return np.asarray(parts.sum(axis=1))


#: A smaller relative variance of the sum of the weights is rounding.
NO_VARIANCE = 1e-10


def sum_variance(survey: Survey, design: SampleDesign, some: CategorySums) -> float:
    """The relative variance of the sum of the weights, before it is rounded; 0 if they are calibrated."""
    everybody = replace(some, category=np.zeros_like(some.category))
    variance = float(design.variances(everybody, some.exact, 1)[0])
    total = float(some.records @ some.exact)
    return 0.0 if survey.calibrated or variance <= NO_VARIANCE * total**2 else variance / total**2
