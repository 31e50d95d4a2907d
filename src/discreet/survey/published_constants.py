"""The constants of `generalised-1` that a load publishes.

Published once for each version and rounded up by chance, so that no person changes one for certain:

    D_v   =  max(1, Σ_k V_k / Σ_k n p_k (1 - p_k))      V_k the design's variance of n times the share of k; 1 without
                                                        clusters
    γ_v   =  1 + s_v / b_v                      of Σw²/Σw: the mean over people's categories, and its deviation
    b     =  Σw² / Σw                           γ_v and b for `largest-weight`
    κ²    =  V(Σw) / (Σw)²                      0 if the weights are calibrated
    m     =  1 + Σ (D_u - 1)(D_v - 1) / Σ (E_uv - 1)        records per cluster, where replicate weights do not say them

    step(x, u)  =  1.25^⌈log(x) / log(1.25) + u⌉        u in (0, 1], keyed by the lineage and the name of the constant

E_uv is the effect of clusters on the interactions of two variables (`pair_effects.py`), with v one of the three variables
whose D is the largest. A variable u is said to be constant within clusters where (E_uv - 1) / (D_v - 1) is above a secret
threshold between .35 and .65 for each of them: it is 1 for a region, and u's intra-cluster correlation elsewhere. With
replicate weights such a variable has at least the mean D of the others: strata that they hide may fix it in most of the
sample, and what is left is measured in few clusters.

Source: docs/methods/survey-weights.md; Kish (1965); Wolter (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log

import numpy as np

from discreet.model.dataset import Dataset
from discreet.model.survey import RUNG, PairEffect, Survey, SurveyConstants, VariableEffect
from discreet.records.engine import Engine
from discreet.records.keys import Purpose, Secret
from discreet.survey.gate import LevelFigures
from discreet.survey.generalised import FEWEST_CLUSTERS
from discreet.survey.pair_effects import declared_pairs, measured_levels, step_of_variation
from discreet.survey.sample_sums import SampleDesign, category_sums, sum_variance, survey_of

#: The ratio of two steps of a published constant.
RATIO = RUNG
#: With a smaller effect of the other variable, whether one is constant within clusters cannot be seen, and hardly matters.
LEAST_PARTNER = 1.2
#: With how many others a variable is compared.
PARTNERS = 3
#: A secret chance in (0, 1] by the name of a constant.
Chances = Callable[[str], float]


def step(value: float, chance: float) -> float:
    """A power of 1.25 above the value, by chance the first or the second one; `chance` is in (0, 1].

    >>> round(step(1.9875, 0.37), 6), round(step(2.1702, 0.81), 6), step(1.0, 1.0)
    (2.441406, 3.051758, 1.25)
    """
    return float(RATIO ** ceil(log(value) / log(RATIO) + chance))


def secret_chances(secret: Secret, dataset: Dataset) -> Chances:
    """The chances by which constants are rounded; they stay the same for the lineage."""

    def chance(name: str) -> float:
        key = secret.derive(Purpose.SURVEY_CONSTANT, dataset.lineage, name)
        return (int.from_bytes(key[:8], "big") + 1) / 2**64

    return chance


def published_constants(
    dataset: Dataset, engine: Engine, figures: Sequence[LevelFigures], chances: Chances
) -> SurveyConstants:
    """The constants of a version, rounded up by chance."""
    survey = survey_of(dataset)
    some = category_sums(engine, dataset, survey, dataset.variables[0].name)
    design = SampleDesign(survey, some)
    clusters, replicates = design.clusters, len(survey.design.replicates)
    constant, per_cluster = frozenset[str](), survey.sample_size / clusters if clusters else 1.0
    if design.clustered:
        constant, measured = _within_clusters(dataset, engine, figures, chances)
        if replicates:
            per_cluster = survey.constants.per_cluster if survey.constants.per_cluster > 1 else measured
    free = [max(each.cluster, 1.0) for each in figures if each.level not in constant]
    others = sum(free) / len(free) if free else 1.0
    effects = []
    for each in figures:
        spread = step(each.spread, chances(f"spread {each.level}")) if survey.only_weights else 1.0
        least = others if replicates and each.level in constant else 1.0
        cluster = (
            step(max(each.cluster, least), chances(f"cluster {each.level}")) if design.clustered else 1.0
        )
        effects.append((each.level, VariableEffect(cluster, spread, each.level in constant)))
    total, squares = (float(some.records @ each) for each in (some.exact, some.exact**2))
    variance = sum_variance(survey, design, some)
    return SurveyConstants(
        tuple(effects) if design.clustered or survey.only_weights else (),
        per_cluster,
        clusters - design.units.size if clusters else replicates - 1 if replicates else None,
        _two_digits(squares / total) if survey.only_weights else 0.0,
        step(variance, chances("calibration")) if variance else 0.0,
        _stratum_clusters(dataset, survey, engine) if clusters else (),
        tuple(
            (names, _rounded_pair(exact, chances, " ".join(sorted(names))))
            for names, exact in declared_pairs(dataset, engine)
        ),
    )


def _rounded_pair(exact: PairEffect, chances: Chances, name: str) -> PairEffect:
    return PairEffect(
        step(exact.effect, chances(f"pair {name}")),
        step_of_variation(exact.variation, chances(f"variation {name}")),
    )


def _within_clusters(
    dataset: Dataset, engine: Engine, figures: Sequence[LevelFigures], chances: Chances
) -> tuple[frozenset[str], float]:
    """The levels that are constant within clusters, and the records per cluster as the other levels show them."""
    order = sorted((each for each in figures if each.cluster > LEAST_PARTNER), key=lambda each: -each.cluster)
    cluster = {each.level: each.cluster for each in figures}
    found: dict[tuple[str, str], float] = {}
    constant = set()
    for each in figures:
        partners = {other.variable: other for other in reversed(order) if other.variable != each.variable}
        shares = []
        for other in sorted(partners.values(), key=lambda own: -own.cluster)[:PARTNERS]:
            pair = min(each.level, other.level), max(each.level, other.level)
            if pair not in found:
                found[pair] = measured_levels(dataset, engine, pair).effect - 1
            shares.append(found[pair] / (other.cluster - 1))
        if shares and min(shares) > 0.35 + 0.3 * chances(f"constant {each.level}"):
            constant.add(each.level)
    free = [names for names in found if constant.isdisjoint(names)]
    products = sum(max(cluster[one] - 1, 0.0) * max(cluster[other] - 1, 0.0) for one, other in free)
    if products <= 0:
        return frozenset(constant), 1.0
    shared = max(sum(found[names] for names in free) / products, 2 / survey_of(dataset).sample_size)
    return frozenset(constant), 1 + 1 / step(shared, chances("records per cluster"))


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
