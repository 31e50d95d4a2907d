"""The constants of `generalised-1` that a load publishes, and the gate that keeps out forms with too much bias.

Published once for each version and rounded up by chance, so that no person changes one for certain:

    D_v   =  max(1, Σ_k V_k / Σ_k n p_k (1 - p_k))      V_k the design's variance of the count of k; 1 without clusters
    DW_v  =  Σ_k V_k(w) / Σ_k (1 - p_k) Σ_{i in k} w²   the same of weighted counts (`largest-weight`)
    γ_v   =  1 + s_v / b                                s_v the standard deviation of Σw²/Σw between categories
    b     =  Σw² / Σw
    κ²    =  V(Σw) / (Σw)²                              0 if the weights are calibrated

    step(x, u)  =  1.25^⌈log(x) / log(1.25) + u⌉        u in (0, 1], keyed by the lineage and the name of the constant

The gate. With ŵ the weights of the form (the average weight, or the public weight of the stratum) and w the records' own,

    bias_v²  =  (Σ_l p_l ((Ŵ_l / W_l - 1)² - D_v (Σw²/W_l² - Σŵ²/Ŵ_l²)))₊  /  (D_v (K_v - 1) / n)

is the squared bias over the sampling variance of a category. A form is refused if it is above τ = .5 for a variable, or if
the largest weight is above five times the mean. Weights are taken as at most three times their mean here.

Source: docs/methods/survey-weights.md; Kish (1965); Wolter (2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.hierarchy import groupings
from discreet.model.survey import Survey, SurveyConstants, VariableEffect
from discreet.records import storage
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.keys import Purpose, Secret
from discreet.survey.generalised import CAP, TAU, Floats
from discreet.survey.variance import fractions, replicate_variance, stratum_variance

#: The ratio of two steps of a published constant.
RATIO = 1.25
#: A form that does not use the records' weights is refused if one of them is larger than this multiple of the mean.
MOST_WEIGHT_RATIO = 5


def step(value: float, chance: float) -> float:
    """A power of 1.25 above the value, by chance the first or the second one; `chance` is in (0, 1].

    >>> round(step(1.9875, 0.37), 6), round(step(2.1702, 0.81), 6), step(1.0, 1.0)
    (2.441406, 3.051758, 1.25)
    """
    return float(RATIO ** ceil(log(value) / log(RATIO) + chance))


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


def category_sums(engine: Engine, dataset: Dataset, survey: Survey, variable: str) -> CategorySums:
    """Count the records by category, sampling unit and weight."""
    replicates = storage.replicate_names(survey.design)
    strata = (
        (survey.stratum,) if survey.form == "public-strata" and survey.stratum not in {None, variable} else ()
    )
    query = AggregateQuery(
        (variable, *map(str, strata), *storage.unit_columns(dataset), storage.WEIGHT), sums=replicates
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
    factors = tuple(each[order] / scale / (counts * exact) for each in found.sums)
    return CategorySums(
        codes[variable], stratum, codes.get(storage.CLUSTER, none), counts, exact, weight, form, factors
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
        shape = (categories, strata)
        parts = stratum_variance(totals.reshape(shape), squares.reshape(shape), self.units, self._fractions)
        return np.asarray(parts.sum(axis=1))


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What the records say of a variable or level, before it is rounded. Confidential, for the custodian.

    Args:
        bias: The bias of the form over the sampling error of a category; above `TAU` the form is refused.
        by_category: The cluster effect of each category; empty without clusters.
    """

    level: str
    effect: VariableEffect
    bias: float
    by_category: tuple[float, ...]


def level_figures(dataset: Dataset, engine: Engine) -> Iterator[LevelFigures]:
    """The figures of every variable, coarser level and code list."""
    survey = survey_of(dataset)
    done: set[str] = set()
    for variable in dataset.variables:
        sums = category_sums(engine, dataset, survey, variable.name)
        design = SampleDesign(survey, sums)
        yield _figures(variable.name, sums, len(variable), design)
        done.add(variable.name)
        for level, groups in groupings(dataset, variable.name).items():
            if level in done or level in {each.name for each in dataset.variables}:
                continue
            place_of = np.full(len(variable), len(groups), dtype=np.int64)
            for place, group in enumerate(groups):
                place_of[list(group.members)] = place
            yield _figures(level, replace(sums, category=place_of[sums.category]), len(groups) + 1, design)
            done.add(level)


def survey_of(dataset: Dataset) -> Survey:
    """The survey of a dataset that has one."""
    if dataset.survey is None:
        raise ValueError("constants need a survey that is described")
    return dataset.survey


def _figures(level: str, sums: CategorySums, categories: int, design: SampleDesign) -> LevelFigures:
    ones = np.ones_like(sums.weight)
    n_k, totals, squares = (sums.add(each, categories) for each in (ones, sums.weight, sums.weight**2))
    form, form_squares = (sums.add(each, categories) for each in (sums.form, sums.form**2))
    n, there = float(n_k.sum()), totals > 0
    p = n_k / n
    cluster = weighted = 1.0
    by_category = ones[:0]
    if design.clustered:
        simple, variances = n * p * (1 - p), design.variances(sums, ones, categories)
        cluster = _ratio(variances, simple)
        by_category = variances[there] / np.where(simple > 0, simple, np.inf)[there]
        weighted = _ratio(design.variances(sums, sums.weight, categories), (1 - p) * squares)
    whole = np.where(there, totals, 1)
    mean_square = squares / whole
    overall = float(p @ mean_square)
    chance = float((p * mean_square**2 / np.maximum(n_k, 1)).sum())
    spread = sqrt(max(float(p @ (mean_square - overall) ** 2) - chance, 0.0)) / overall
    shift = np.where(there, form / whole - 1, 0)
    noise = np.where(there, squares / whole**2 - form_squares / np.where(there, form, 1) ** 2, 0)
    error, sampling = float(p @ (shift**2 - cluster * noise)), cluster * (int(there.sum()) - 1) / n
    bias = sqrt(max(error, 0.0) / sampling) if sampling > 0 else 0.0
    return LevelFigures(
        level, VariableEffect(cluster, weighted, 1 + spread), bias, tuple(by_category.tolist())
    )


def _ratio(variances: Floats, simple: Floats) -> float:
    return max(1.0, float(variances.sum() / simple.sum())) if simple.sum() > 0 else 1.0


def refuse_biased_form(survey: Survey, figures: list[LevelFigures]) -> None:
    """Refuse a form that gives people a weight too far from their own; the error has exact figures, for the custodian.

    Raises:
        BadData: It names the variables and the form that fits.
    """
    if survey.only_weights:
        return
    mean = float(survey.population_size) / survey.sample_size
    ratio = float(survey.largest_weight) / mean
    biased = sorted((each for each in figures if each.bias > TAU), key=lambda each: -each.bias)
    if ratio <= MOST_WEIGHT_RATIO and not biased:
        return
    if biased:
        named = ", ".join(f"{each.level} ({each.bias:.2f})" for each in biased[:5])
        what = (
            f'The form "{survey.form}" is biased where weights relate to categories: the bias over the sampling error '
            f"is above {TAU:g} for {named}. (Confidential: these figures are from the records.)"
        )
    else:
        what = (
            f"`largest_weight` of [survey] is {ratio:.1f} times the mean weight: a person of such a weight cannot be "
            f'represented by the form "{survey.form}".'
        )
    if survey.form == "average-weight" and biased and ratio <= MOST_WEIGHT_RATIO:
        advice = (
            f'Use form = "public-strata" with strata of {biased[0].level}, or form = "largest-weight". The strata need '
            "public weights."
        )
    else:
        advice = f'Trim weights at {MOST_WEIGHT_RATIO} times their mean, or use form = "largest-weight".'
    raise BadData(what, advice)


def published_constants(
    dataset: Dataset, engine: Engine, secret: Secret, figures: list[LevelFigures]
) -> SurveyConstants:
    """The constants of a version, rounded up by chances that stay the same for the lineage."""
    survey = survey_of(dataset)

    def up(value: float, name: str) -> float:
        key = secret.derive(Purpose.SURVEY_CONSTANT, dataset.lineage, name)
        return step(value, (int.from_bytes(key[:8], "big") + 1) / 2**64)

    some = category_sums(engine, dataset, survey, dataset.variables[0].name)
    design = SampleDesign(survey, some)
    effects = []
    for each in figures:
        cluster = up(each.effect.cluster, f"cluster {each.level}") if design.clustered else 1.0
        weighted = up(each.effect.weighted, f"weighted {each.level}") if design.clustered else 1.0
        spread = up(each.effect.spread, f"spread {each.level}")
        if survey.only_weights:
            effects.append((each.level, VariableEffect(1.0, weighted, spread)))
        else:
            effects.append((each.level, VariableEffect(cluster)))
    total, squares = (float(some.records @ each) for each in (some.exact, some.exact**2))
    everybody = replace(some, category=np.zeros_like(some.category))
    variance = float(design.variances(everybody, some.exact, 1)[0])
    calibration = (
        0.0
        if survey.calibrated or variance <= NO_VARIANCE * total**2
        else up(variance / total**2, "calibration")
    )
    clusters = int(design.units.sum()) if survey.design.clusters else 0
    replicates = len(survey.design.replicates)
    freedom = clusters - design.units.size if clusters else replicates - 1 if replicates else None
    return SurveyConstants(
        tuple(effects) if design.clustered or survey.only_weights else (),
        survey.sample_size / clusters if clusters else 1.0,
        freedom,
        _two_digits(squares / total) if survey.only_weights else 0.0,
        calibration,
        _stratum_clusters(dataset, survey, engine) if clusters else (),
    )


#: A smaller relative variance of the sum of the weights is rounding.
NO_VARIANCE = 1e-10


def _two_digits(value: float) -> float:
    digit = 10.0 ** (int(np.floor(np.log10(value))) - 1)
    return float(np.ceil(value / digit) * digit)


def _stratum_clusters(dataset: Dataset, survey: Survey, engine: Engine) -> tuple[int, ...]:
    """The clusters in each category of the variable that makes the strata; empty if none does."""
    for variable in dataset.variables:
        if variable.column == survey.design.strata:
            sums = category_sums(engine, dataset, survey, variable.name)
            pairs = np.unique(np.stack([sums.category, sums.stratum, sums.unit]), axis=1)
            return tuple(np.bincount(pairs[0], minlength=len(variable)).tolist())
    return ()
