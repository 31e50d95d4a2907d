"""The gate of a load: is a form of weights too biased for the records, and are declared weights and totals those of them.

With ŵ the weights of the form (the average weight, or the public weight of the stratum), w the records' own (at most three
times their mean), Ŵ_l and W_l their sums in category l of a variable, R_l = Ŵ_l / W_l and V the design's variance of a sum,

    bias_v²  =  (Σ_l p_l ((R_l - 1)² - V_l(ŵ - R_l w) / W_l²))₊  /  (D_v (K_v - 1) / n)

is the squared bias over the sampling variance of a category. A form is refused if for a variable, level or code list

    bias_v²  >  max(τ², c² (χ²_{K-1, α/M} / (K - 1) - 1) / D_v)        τ = .5, α = .05, M levels

or if the largest weight is above five times the mean. c² is the relative variance of the weights (within public strata).
Weights that are related to nothing differ between categories by chance, with the variance c² / n_l: the second bound is
exceeded for one of all M levels with the probability α at most. Printed errors contain the bound, which is public. D is .01
for the variable of the design's strata. With a declared `bias_bound` the numerator is compared with its square.

Source: docs/methods/survey-weights.md; Kish (1965).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import sqrt

import numpy as np

from discreet.errors import BadData
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import groupings
from discreet.model.survey import Survey
from discreet.records.engine import AggregateQuery, Engine
from discreet.survey.generalised import TAU, Floats
from discreet.survey.sample_sums import CategorySums, SampleDesign, category_sums, sum_variance, survey_of

#: The probability that weights related to nothing are refused for any of all variables and levels.
FALSE_ALARM = 0.05
#: A form that does not use the records' weights is refused if one of them is larger than this multiple of the mean.
MOST_WEIGHT_RATIO = 5
#: A category whose own cluster effect is above this multiple of its variable's has intervals that are too short.
CONCENTRATED = 1.5
#: The effect by which the bias of the variable of the design's strata is judged: it has no sampling error.
FIXED_EFFECT = 0.01
#: A declared weight of a stratum is that of the records but for its last digit, and this share of it.
STRATUM_TOLERANCE, MOST_ROUNDING = 0.001, 0.005


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What the records say of a variable or level, before it is rounded. Confidential, for the custodian.

    Args:
        cluster: D, as measured; it may be below 1.
        spread: gamma.
        bias: The bias of the form over the sampling error of a category, of which `allowed` is let through.
        relative_bias: The same relative to the category, as `bias_bound` is.
        by_category: The cluster effect of each category by its code, of those with records; empty without clusters.
    """

    level: str
    variable: str
    cluster: float
    spread: float
    bias: float
    allowed: float
    relative_bias: float
    by_category: tuple[tuple[str, float], ...]

    @property
    def concentrated(self) -> tuple[tuple[str, float], ...]:
        """The categories whose own cluster effect is above 1.5 times that of the variable."""
        return tuple(
            (code, own) for code, own in self.by_category if own > CONCENTRATED * max(self.cluster, 1.0)
        )


def level_figures(dataset: Dataset, engine: Engine) -> Iterator[LevelFigures]:
    """The figures of every variable, coarser level and code list."""
    survey, levels = survey_of(dataset), tested_levels(dataset)
    sizes = None
    if survey.form == "public-strata":
        found = engine.aggregate(AggregateQuery((str(survey.stratum),)))
        length = len(dataset.variable(str(survey.stratum)))
        sizes = np.bincount(found.codes[0], found.counts, length).astype(np.float64)
    variation = form_variation(survey, sizes)
    for variable in dataset.variables:
        sums = category_sums(engine, dataset, survey, variable.name)
        design, of_design = SampleDesign(survey, sums), variable.column == survey.design.strata
        for level, groups in ((variable.name, None), *groupings(dataset, variable.name).items()):
            if levels.get(level) != variable.name:
                continue
            own, codes = sums, variable.codes
            if groups is not None:
                place_of = np.full(len(variable), len(groups), dtype=np.int64)
                for place, group in enumerate(groups):
                    place_of[list(group.members)] = place
                own, codes = replace(sums, category=place_of[sums.category]), (*(g.code for g in groups), "")
            cluster, by_category = _cluster_effects(own, codes, design)
            effect = FIXED_EFFECT if of_design else max(cluster, 1.0)
            bias, sampling, tested = _bias(own, len(codes), design, effect)
            allowed = allowed_bias(tested, len(levels), variation, effect) / survey.sample_size
            yield LevelFigures(
                level,
                variable.name,
                cluster,
                _spread(own, len(codes)),
                bias / sampling if sampling > 0 else 0.0,
                sqrt(allowed) / sampling if sampling > 0 else 0.0,
                bias,
                by_category,
            )


def tested_levels(dataset: Dataset) -> dict[str, str]:
    """The variable of every level that the gate looks at: variables, coarser levels and code lists, each once."""
    found = {variable.name: variable.name for variable in dataset.variables}
    for variable in dataset.variables:
        for level in groupings(dataset, variable.name):
            found.setdefault(level, variable.name)
    return found


def form_variation(survey: Survey, sizes: Floats | None) -> float:
    """The relative variance of the weights within the strata of public weight, of which `sizes` are the records."""
    variation = float(survey.relative_variance)
    if survey.form != "public-strata" or sizes is None:
        return variation
    public = np.array([float(weight) for _, weight in survey.stratum_weights])
    mean = float(public @ sizes) / float(sizes.sum())
    return max(1 + variation - float(public**2 @ sizes) / float(sizes.sum()) / mean**2, 0.0)


@lru_cache(maxsize=1024)
def allowed_bias(categories: int, levels: int, variation: float, effect: float) -> float:
    """N times the squared relative bias of a category that the gate lets through, in the mean over people.

    τ² D (K - 1), or where it is more, what weights of this relative variance that are related to nothing exceed for any of
    all levels with the probability `FALSE_ALARM` at most.

    >>> allowed_bias(5, 4, 0.09, 1.0), round(allowed_bias(2, 60, 0.18, 1.0), 2)
    (1.0, 1.83)
    """
    from scipy.special import chdtri  # noqa: PLC0415 - slow to import

    freedom = max(categories - 1, 1)
    by_chance = variation * (float(chdtri(freedom, FALSE_ALARM / levels)) - freedom)
    return max(TAU**2 * effect * freedom, by_chance)


def _cluster_effects(
    sums: CategorySums, codes: Sequence[str], design: SampleDesign
) -> tuple[float, tuple[tuple[str, float], ...]]:
    """D of a level, and of each of its categories with records; 1 and none without clusters."""
    if not design.clustered:
        return 1.0, ()
    counts = sums.add(np.ones_like(sums.records), len(codes))
    simple, variances = counts * (1 - counts / counts.sum()), design.share_variances(sums, len(codes))
    own = variances / np.where(simple > 0, simple, np.inf)
    by_category = tuple((codes[at], float(own[at])) for at in np.flatnonzero(counts).tolist())
    return float(variances.sum() / simple.sum()) if simple.sum() > 0 else 1.0, by_category


def _spread(sums: CategorySums, categories: int) -> float:
    """Gamma of a level."""
    n_k, totals, squares = (
        sums.add(each, categories) for each in (np.ones_like(sums.weight), sums.weight, sums.weight**2)
    )
    p, mean_square = n_k / n_k.sum(), squares / np.where(totals > 0, totals, 1)
    overall = float(p @ mean_square)
    chance = float((p * mean_square**2 / np.maximum(n_k, 1)).sum())
    return 1 + sqrt(max(float(p @ (mean_square - overall) ** 2) - chance, 0.0)) / overall


def _bias(
    sums: CategorySums, categories: int, design: SampleDesign, effect: float
) -> tuple[float, float, int]:
    """The relative bias of a category, its sampling error, and how many categories there are; in the mean over people."""
    n_k, totals, form = (
        sums.add(each, categories) for each in (np.ones_like(sums.weight), sums.weight, sums.form)
    )
    p, there = n_k / n_k.sum(), totals > 0
    ratio = np.where(there, form / np.where(there, totals, 1), 1)
    noise = design.variances(sums, sums.form - sums.weight * ratio[sums.category], categories)
    error = float(p @ ((ratio - 1) ** 2 - noise / np.where(there, totals, np.inf) ** 2))
    tested = int(there.sum())
    return sqrt(max(error, 0.0)), sqrt(effect * (tested - 1) / float(n_k.sum())), tested


def biased_levels(survey: Survey, figures: Sequence[LevelFigures]) -> list[LevelFigures]:
    """The levels at which a form is too biased, the worst first."""
    if survey.only_weights:
        return []
    bound = survey.bias_bound
    biased = (
        each
        for each in figures
        if (each.bias > each.allowed if bound is None else each.relative_bias > bound)
    )
    return sorted(biased, key=lambda each: -each.bias)


def charged_bias(
    dataset: Dataset, survey: Survey, level: tuple[str, int], effect: float, sizes: Floats
) -> float:
    """N times the squared relative bias that printed errors of a level contain; `level` is its variable and categories.

    That which the gate lets through, a declared bound, or for the variable of public strata the rounding of their weights,
    and the chance of these if they are the means of a sample that is not calibrated to them.
    """
    name, categories = level
    records = float(sizes.sum())
    variation = form_variation(survey, sizes)
    if survey.form == "public-strata" and name == survey.stratum:
        rounding = max(allowed_rounding(weight) / float(weight) for _, weight in survey.stratum_weights)
        return rounding**2 * records + (0.0 if name in survey.calibrated_to else variation * categories)
    if survey.bias_bound is not None:
        return float(survey.bias_bound) ** 2 * records
    return allowed_bias(categories, len(tested_levels(dataset)), variation, effect or FIXED_EFFECT)


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
        named = ", ".join(f"{each.level} ({each.bias:.2f} > {each.allowed:.2f})" for each in biased)
        what = (
            f"the bias over the sampling error is above what chance and the printed errors allow for {named}."
        )
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

    Raises:
        BadData: It has the mean weights, for the custodian.
    """
    survey = survey_of(dataset)
    if survey.form != "public-strata":
        return
    found, other = stratum_means(dataset, engine, str(survey.stratum)), []
    for code, declared in survey.stratum_weights:
        mean = found[code]
        if mean and abs(float(declared) - mean) > allowed_rounding(declared):
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


def allowed_rounding(declared: Fraction) -> float:
    """By how much a declared weight may differ from that of the records: half of its last digit, and a thousandth.

    >>> allowed_rounding(Fraction(900)), allowed_rounding(Fraction("12.5"))
    (0.9, 0.05)
    """
    digit = float(Fraction(1, 2 * decimal_parts(declared)))
    return max(STRATUM_TOLERANCE * float(declared), min(digit, MOST_ROUNDING * float(declared)))


def refuse_other_totals(dataset: Dataset, engine: Engine) -> None:
    """Refuse `calibrated` where the records contradict it: by `population_totals`, or by replicate weights.

    Raises:
        BadData: It has the figures, for the custodian.
    """
    survey, other = survey_of(dataset), []
    if not survey.calibrated:
        return
    scale = float(10**dataset.weight_decimals)
    for name, totals in survey.population_totals:
        cells, variable = engine.aggregate(AggregateQuery((name,), weights=True)), dataset.variable(name)
        found = np.zeros(len(variable))
        found[cells.codes[0]] = cells.weight_sums if cells.weight_sums is not None else 0
        for code, people in zip(variable.codes, (found / scale).tolist(), strict=True):
            known = float(dict(totals).get(code, 0))
            if abs(people - known) > max(STRATUM_TOLERANCE * known, 0.5):
                other.append(f"{name} {code}: {known:,.10g} declared, {people:,.10g} by the weights")
    some = category_sums(engine, dataset, survey, dataset.variables[0].name)
    error = sqrt(sum_variance(replace(survey, calibrated=False), SampleDesign(survey, some), some))
    if survey.design.replicates and error > STRATUM_TOLERANCE:
        other.append(f"by the replicate weights their sum has a standard error of {error:.2%}")
    if other:
        more = f", and {len(other) - 5} more" if len(other) > 5 else ""
        raise BadData(
            f"[survey] says `calibrated`, and the weights are not: {'; '.join(other[:5])}{more}. (Confidential: these "
            "figures are from the records.)",
            "Correct the weights or `population_totals`, calibrate every replicate too, or leave `calibrated` out.",
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
