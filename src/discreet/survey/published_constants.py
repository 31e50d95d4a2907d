"""The constants of `generalised-1` that a load publishes, and the gate that keeps out forms with too much bias.

Published once for each version and rounded up by chance, so that no person changes one for certain:

    D_v   =  max(1, Σ_k V_k / Σ_k n p_k (1 - p_k))      V_k the design's variance of the count of k; 1 without clusters
    DW_v  =  Σ_k V_k(w) / Σ_k (1 - p_k) Σ_{i in k} w²   the same of weighted counts (`largest-weight`)
    γ_v   =  1 + s_v / b_v                              of Σw²/Σw: the mean over people's categories, and its deviation
    b     =  Σw² / Σw
    κ²    =  V(Σw) / (Σw)²                              0 if the weights are calibrated

    step(x, u)  =  1.25^⌈log(x) / log(1.25) + u⌉        u in (0, 1], keyed by the lineage and the name of the constant

The gate. With ŵ the weights of the form (the average weight, or the public weight of the stratum) and w the records' own,

    bias_v²  =  (Σ_l p_l ((Ŵ_l / W_l - 1)² - D_v (Σw²/W_l² - Σŵ²/Ŵ_l²)))₊  /  (D_v (K_v - 1) / n)

is the squared bias over the sampling variance of a category. A form is refused if it is above τ = .5 for a variable (with a
declared `bias_bound`: if the numerator, the squared relative bias, is above its square), or if the largest weight is above
five times the mean. Weights are taken as at most three times their mean here.

Source: docs/methods/survey-weights.md; Kish (1965); Wolter (2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.hierarchy import groupings
from discreet.model.survey import RUNG, Survey, SurveyConstants, VariableEffect
from discreet.records import storage
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.keys import Purpose, Secret
from discreet.survey.generalised import CAP, FEWEST_CLUSTERS, TAU, Floats
from discreet.survey.variance import fractions, replicate_variance, stratum_variance

#: The ratio of two steps of a published constant.
RATIO = RUNG
#: A form that does not use the records' weights is refused if one of them is larger than this multiple of the mean.
MOST_WEIGHT_RATIO = 5
#: A category whose own cluster effect is above this multiple of its variable's has intervals that are too short.
CONCENTRATED = 1.5
#: A declared weight of a stratum is that of the records but for its last digit, and this share of it.
STRATUM_TOLERANCE, MOST_ROUNDING = 0.001, 0.02


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
        relative_bias: The same relative to the category, as `bias_bound` is.
        by_category: The cluster effect of each category by its code, of those with records; empty without clusters.
    """

    level: str
    effect: VariableEffect
    bias: float
    relative_bias: float
    by_category: tuple[tuple[str, float], ...]

    @property
    def concentrated(self) -> tuple[tuple[str, float], ...]:
        """The categories whose own cluster effect is above 1.5 times that of the variable."""
        return tuple(
            (code, own) for code, own in self.by_category if own > CONCENTRATED * self.effect.cluster
        )


def level_figures(dataset: Dataset, engine: Engine) -> Iterator[LevelFigures]:
    """The figures of every variable, coarser level and code list."""
    survey = survey_of(dataset)
    done: set[str] = set()
    for variable in dataset.variables:
        sums = category_sums(engine, dataset, survey, variable.name)
        design = SampleDesign(survey, sums)
        yield _figures(variable.name, sums, variable.codes, design)
        done.add(variable.name)
        for level, groups in groupings(dataset, variable.name).items():
            if level in done or level in {each.name for each in dataset.variables}:
                continue
            place_of = np.full(len(variable), len(groups), dtype=np.int64)
            for place, group in enumerate(groups):
                place_of[list(group.members)] = place
            codes = (*(group.code for group in groups), "")
            yield _figures(level, replace(sums, category=place_of[sums.category]), codes, design)
            done.add(level)


def survey_of(dataset: Dataset) -> Survey:
    """The survey of a dataset that has one."""
    if dataset.survey is None:
        raise ValueError("constants need a survey that is described")
    return dataset.survey


def _figures(level: str, sums: CategorySums, codes: Sequence[str], design: SampleDesign) -> LevelFigures:
    categories, ones = len(codes), np.ones_like(sums.weight)
    n_k, totals, squares = (sums.add(each, categories) for each in (ones, sums.weight, sums.weight**2))
    form, form_squares = (sums.add(each, categories) for each in (sums.form, sums.form**2))
    n, there = float(n_k.sum()), totals > 0
    p = n_k / n
    cluster = weighted = 1.0
    by_category: tuple[tuple[str, float], ...] = ()
    if design.clustered:
        simple, variances = n * p * (1 - p), design.variances(sums, ones, categories)
        cluster = _ratio(variances, simple)
        own = variances / np.where(simple > 0, simple, np.inf)
        by_category = tuple((codes[at], float(own[at])) for at in np.flatnonzero(there).tolist())
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
        level, VariableEffect(cluster, weighted, 1 + spread), bias, sqrt(max(error, 0.0)), by_category
    )


def _ratio(variances: Floats, simple: Floats) -> float:
    return max(1.0, float(variances.sum() / simple.sum())) if simple.sum() > 0 else 1.0


def biased_levels(survey: Survey, figures: Sequence[LevelFigures]) -> list[LevelFigures]:
    """The levels at which a form is too biased, the worst first."""
    if survey.only_weights:
        return []
    bound = survey.bias_bound
    biased = (each for each in figures if (each.bias > TAU if bound is None else each.relative_bias > bound))
    return sorted(biased, key=lambda each: -each.bias)


def declared_biases(survey: Survey, records: float) -> float | None:
    """What takes the place of D (K - 1) for every variable if the bias has a declared bound: τ² times it over n is β²."""
    return None if survey.bias_bound is None else (float(survey.bias_bound) / TAU) ** 2 * records


def weight_ratio(survey: Survey) -> float:
    """The largest weight over the mean weight, both as declared."""
    return float(survey.largest_weight) * survey.sample_size / float(survey.population_size)


def admits(survey: Survey, figures: Sequence[LevelFigures]) -> bool:
    """Whether the form may be served: the gate."""
    fits = weight_ratio(survey) <= MOST_WEIGHT_RATIO and not biased_levels(survey, figures)
    return survey.only_weights or fits


def refuse_biased_form(survey: Survey, figures: Sequence[LevelFigures], fitting: str = "") -> None:
    """Refuse a form that gives people a weight too far from their own; the error has exact figures, for the custodian.

    `fitting` says which form fits the weights (`form_choice.fitting_form`).

    Raises:
        BadData: It names the variables and the form that fits.
    """
    if admits(survey, figures):
        return
    trim = f'Trim weights at {MOST_WEIGHT_RATIO} times their mean, or use form = "largest-weight".'
    if (ratio := weight_ratio(survey)) > MOST_WEIGHT_RATIO:
        raise BadData(
            f'`largest_weight` of [survey] is {ratio:.1f} times the mean weight: the form "{survey.form}" cannot '
            "represent a person of that weight.",
            trim,
        )
    biased = biased_levels(survey, figures)[:5]
    if survey.bias_bound is None:
        named = ", ".join(f"{each.level} ({each.bias:.2f})" for each in biased)
        what = f"the bias over the sampling error is above {TAU:g} for {named}."
    else:
        named = ", ".join(f"{each.level} ({each.relative_bias:.3f})" for each in biased)
        what = f"the relative bias is above `bias_bound` = {float(survey.bias_bound):g} for {named}."
    raise BadData(
        f'The form "{survey.form}" is biased where weights relate to categories: {what} (Confidential: these figures are '
        "from the records.)",
        fitting or trim,
    )


def refuse_other_stratum_weights(dataset: Dataset, engine: Engine) -> None:
    """Refuse public weights of strata that are not the mean weights of the records.

    Half of the last declared digit is rounding, of at most 2 %, and so is a thousandth of the weight.

    Raises:
        BadData: It has the mean weights, for the custodian.
    """
    survey = survey_of(dataset)
    if survey.form != "public-strata":
        return
    found, other = stratum_means(dataset, engine, str(survey.stratum)), []
    for code, declared in survey.stratum_weights:
        mean, digit = found[code], Fraction(1, 2 * decimal_parts(declared))
        rounding = max(STRATUM_TOLERANCE * mean, min(float(digit), MOST_ROUNDING * mean))
        if mean and abs(float(declared) - mean) > rounding:
            other.append(
                f"{code}: {float(declared):g} declared, {mean:.{dataset.weight_decimals}f} by the records"
            )
    if other:
        more = f", and {len(other) - 5} more" if len(other) > 5 else ""
        raise BadData(
            f"`stratum_weights` of [survey] are not those of the records: {'; '.join(other[:5])}{more}. (Confidential: "
            "these figures are from the records.)",
            "Declare the stratum's population divided by its number of records, or correct the weights.",
        )


def stratum_means(dataset: Dataset, engine: Engine, name: str) -> dict[str, float]:
    """The mean weight of each category of a variable, by code; 0 without records. Confidential."""
    cells, variable = engine.aggregate(AggregateQuery((name,), weights=True)), dataset.variable(name)
    if cells.weight_sums is None:
        raise ValueError("weights were asked for")
    means = np.zeros(len(variable))
    means[cells.codes[0]] = cells.weight_sums / cells.counts / 10**dataset.weight_decimals
    return dict(zip(variable.codes, means.tolist(), strict=True))


def decimal_parts(value: Fraction) -> int:
    """10 to the number of decimals that a declared number has.

    >>> decimal_parts(Fraction("12.50")), decimal_parts(Fraction(900))
    (10, 1)
    """
    parts = 1
    while parts < 10**9 and (value * parts).denominator > 1:
        parts *= 10
    return parts


def sum_variance(survey: Survey, design: SampleDesign, some: CategorySums) -> float:
    """The relative variance of the sum of the weights, before it is rounded; 0 if they are calibrated."""
    everybody = replace(some, category=np.zeros_like(some.category))
    variance = float(design.variances(everybody, some.exact, 1)[0])
    total = float(some.records @ some.exact)
    return 0.0 if survey.calibrated or variance <= NO_VARIANCE * total**2 else variance / total**2


def chance(secret: Secret, dataset: Dataset, name: str) -> float:
    """The chance by which a constant is rounded, in (0, 1]; it stays the same for the lineage."""
    key = secret.derive(Purpose.SURVEY_CONSTANT, dataset.lineage, name)
    return (int.from_bytes(key[:8], "big") + 1) / 2**64


def published_constants(
    dataset: Dataset, engine: Engine, secret: Secret, figures: Sequence[LevelFigures]
) -> SurveyConstants:
    """The constants of a version, rounded up by chances that stay the same for the lineage."""
    survey = survey_of(dataset)

    def up(value: float, name: str) -> float:
        return step(value, chance(secret, dataset, name))

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
    variance = sum_variance(survey, design, some)
    calibration = up(variance, "calibration") if variance else 0.0
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
    """The clusters in each category of the variable that makes the strata, or `FEWEST_CLUSTERS`; empty if none does.

    More are not counted: small clusters, such as homes, would give the people of a category.
    """
    for variable in dataset.variables:
        if variable.column == survey.design.strata:
            sums = category_sums(engine, dataset, survey, variable.name)
            pairs = np.unique(np.stack([sums.category, sums.stratum, sums.unit]), axis=1)
            counts = np.bincount(pairs[0], minlength=len(variable))
            return tuple(np.minimum(counts, FEWEST_CLUSTERS).tolist())
    return ()
