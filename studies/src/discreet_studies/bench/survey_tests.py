"""How often tests of weighted tables reject true hypotheses, over ten designs; and their power, beside simpler tests.

Each sample of a design is drawn anew, its constants are measured and rounded by chance as a load does, noise is added, and
the noisy table is tested with the functions that serve readers. Clusters have their own shares of categories, drawn from
Dirichlet distributions with intra-cluster correlation ρ, independently for rows and columns. Shares of rows differ between
strata, those of columns do not, so rows and columns are independent in the population. Off the hypothesis every share is
multiplied by exp(effect · U), U uniform on -1/2 .. 1/2, the same in all clusters.

    naive           Pearson's X² of the released numbers as a chi-square
    no clusters     noise and weights are allowed for, clusters are not
    fit of columns  the given true shares of the columns, by D; no bias is allowed for, since the form has none here
    first order     X² / (λ ν) as a chi-square on ν over ν
"""

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.inference.hypothesis_tests.survey_tests import SurveyTable, rao_scott
from discreet.model.messages.text import nearest
from discreet.model.survey import RUNG, VARIATION_STEP, PairEffect, SamplingDesign, Survey
from discreet.noise import maxent
from discreet.survey.pair_effects import measured_pair, step_of_variation
from discreet.survey.published_constants import step
from discreet.survey.sample_sums import CategorySums, SampleDesign
from discreet_studies.bench.part import Part, Result, Wish, figure

Floats = NDArray[np.float64]

LEVEL = 0.05
TABLES = 1_000
#: Tables from which a power is measured, and samples from which the trace of one person is.
POWER_TABLES, MOVED = 300, 100
#: People of the population for each record.
AVERAGE = 200
NOISE = maxent(D=5, V=3, js=2)


@dataclass(frozen=True, slots=True)
class Design:
    """A design of a survey with a two-way table.

    Args:
        clusters: How many clusters are drawn in all; 0 for records that are drawn one by one.
        take: The records of each cluster, or the records in all.
        correlation: The intra-cluster correlation ρ.
        weights: The relative weights of the strata.
        effect: The strength of the alternative.
    """

    shape: tuple[int, ...]
    clusters: int
    take: int
    correlation: float = 0.0
    weights: tuple[int, ...] = (1,)
    effect: float = 0.5

    @property
    def name(self) -> str:
        drawn = (
            f"{self.clusters}-clusters-of-{self.take}-icc{self.correlation:g}"
            if self.clusters
            else f"simple-{self.take}"
        )
        strata = "-strata" if len(self.weights) > 1 else ""
        return f"{drawn}{strata}-{self.shape[0]}x{self.shape[1]}"

    @property
    def records(self) -> int:
        return self.take * max(self.clusters, 1)

    def survey(self) -> Survey:
        """The survey that readers know."""
        count = len(self.weights)
        sizes = Fraction(self.records, count)
        mean = Fraction(sum(self.weights), count)
        weights = tuple((str(at), Fraction(each) / mean * AVERAGE) for at, each in enumerate(self.weights))
        strata = "stratum" if count > 1 else None
        return Survey(
            "public-strata" if count > 1 else "average-weight",
            self.records,
            sum((sizes * each for _, each in weights), Fraction(0)),
            max(each for _, each in weights),
            Fraction(0),
            strata,
            weights if strata else (),
            SamplingDesign(strata, "cluster" if self.clusters else None),
        )


DESIGNS = (
    Design((5, 5), 0, 1_500, effect=0.5),
    Design((2, 5), 40, 37, 0.15, effect=0.7),
    Design((5, 5), 40, 37, 0.15, effect=0.8),
    Design((2, 5), 40, 150, 0.15, effect=0.5),
    Design((5, 5), 40, 150, 0.02, effect=0.3),
    Design((5, 5), 200, 30, 0.15, effect=0.3),
    Design((5, 10), 200, 8, 0.05, effect=0.7),
    Design((2, 5), 160, 10, 0.05, (1, 2, 4, 6), effect=0.7),
    Design((5, 5), 0, 1_500, 0.0, (1, 2, 4, 6), effect=0.8),
    Design((2, 3), 22, 60, 0.3, effect=1.5),
)


def sample(design: Design, rng: np.random.Generator, effect: float = 0.0) -> tuple[CategorySums, Floats]:
    """One sample, whose categories are those of the table in C order; and the true shares of the columns."""
    clusters, take = (design.clusters, design.take) if design.clusters else (design.take, 1)
    strata = np.arange(clusters) * len(design.weights) // clusters
    of_rows = rng.uniform(0.5, 1.5, (len(design.weights), design.shape[0]))[strata]
    of_columns = np.broadcast_to(rng.uniform(0.5, 1.5, design.shape[1]), (clusters, design.shape[1]))
    rows, columns = (
        _own(each / each.sum(axis=1, keepdims=True), design.correlation, rng)
        for each in (of_rows, of_columns)
    )
    shares = rows[:, :, None] * columns[:, None, :]
    shares = shares * np.exp(effect * rng.uniform(-0.5, 0.5, design.shape))
    shares = shares.reshape(clusters, -1)
    counts = rng.multinomial(take, shares / shares.sum(axis=1, keepdims=True))
    unit, category = np.nonzero(counts)
    weights = np.array([float(each) for _, each in design.survey().stratum_weights] or [AVERAGE])[
        strata[unit]
    ]
    sums = CategorySums(
        category, strata[unit], unit, counts[unit, category].astype(np.float64), weights, weights, weights, ()
    )
    return sums, of_columns[0] / of_columns[0].sum()


def _own(shares: Floats, correlation: float, rng: np.random.Generator) -> Floats:
    """The shares of each cluster around those of its stratum."""
    if not correlation:
        return shares
    drawn = rng.gamma(shares * (1 - correlation) / correlation)
    return np.asarray(drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-12))


def exact_effect(sums: CategorySums, design: Design) -> PairEffect:
    """E and a² of a sample, before they are rounded."""
    if not design.clusters:
        return PairEffect()
    survey, columns = design.survey(), design.shape[1]
    return measured_pair(
        sums,
        sums.category // columns,
        sums.category % columns,
        sums.stratum,
        survey,
        SampleDesign(survey, sums),
    )


def column_effect(sums: CategorySums, design: Design) -> float:
    """D of the columns, before it is rounded (`published_constants.py`)."""
    if not design.clusters:
        return 1.0
    own, columns = replace(sums, category=sums.category % design.shape[1]), design.shape[1]
    ones = np.ones_like(sums.weight)
    shares = own.add(ones, columns) / sums.records.sum()
    variances = SampleDesign(design.survey(), own).variances(own, ones, columns)
    return max(1.0, float(variances.sum() / (sums.records.sum() * shares * (1 - shares)).sum()))


def published(exact: PairEffect, rng: np.random.Generator) -> PairEffect:
    """The constants as a load publishes them."""
    return PairEffect(
        step(exact.effect, 1 - rng.random()), step_of_variation(exact.variation, 1 - rng.random())
    )


def survey_table(sums: CategorySums, design: Design, rng: np.random.Generator | None) -> SurveyTable:
    """The released table; without noise if there is no generator."""
    survey, count, cells = design.survey(), len(design.weights), int(np.prod(design.shape))
    flat = np.bincount(sums.category * count + sums.stratum, sums.records, cells * count)
    exact = flat.reshape(*design.shape, count).astype(np.int64)
    noisy = exact if rng is None else with_noise(exact, NOISE, rng)
    weights = np.array([float(each) for _, each in survey.stratum_weights] or [AVERAGE])
    sizes = np.bincount(sums.stratum, sums.records, count).astype(np.float64)
    variance = 0.0 if rng is None else float(NOISE.variance)
    return SurveyTable(
        noisy.astype(np.float64),
        np.full(design.shape, variance * (weights**2).sum()),
        weights,
        sizes,
        freedom=design.clusters - count if design.clusters else None,
    )


def p_values(design: Design, tables: int, seed: int, effect: float = 0.0) -> dict[str, Floats]:
    """The p-values of samples of a design, by the served test and by simpler ones."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{design.name} {effect:g}".encode())])
    model = HierarchicalModel.of([(0,), (1,)], np.ones(design.shape))
    one_way = replace(design, shape=(design.shape[1],))
    found: dict[str, list[float]] = {
        name: [] for name in ("aware", "naive", "no_clusters", "first", "fit", "exact")
    }
    for _ in range(tables):
        sums, chances = sample(design, rng, effect)
        exact = exact_effect(sums, design)
        table = survey_table(sums, design, rng)
        own = rao_scott(table, model, published(exact, rng).before_rounding() if design.clusters else exact)
        found["aware"].append(own.p_value)
        found["first"].append(float(chi_square(own.statistic, own.df)))
        found["naive"].append(float(chi_square(own.pearson, own.df)))
        found["no_clusters"].append(rao_scott(replace(table, freedom=None), model, PairEffect()).p_value)
        one = survey_table(replace(sums, category=sums.category % design.shape[1]), one_way, rng)
        fit = (
            PairEffect(step(column_effect(sums, design), 1 - rng.random()))
            if design.clusters
            else PairEffect()
        )
        found["fit"].append(
            rao_scott(one, HierarchicalModel.of([()], chances), fit.before_rounding()).p_value
        )
        if effect:
            found["exact"].append(rao_scott(survey_table(sums, design, None), model, exact).p_value)
    return {name: np.array(each) for name, each in found.items()}


def trace_of_a_person(design: Design, samples: int, seed: int) -> tuple[Floats, Floats]:
    """How far one person's category moves the published E and a²: the total variation between their steps.

    In each sample one record moves to another cell. An attacker who knows all others gains at most half of it.
    """
    rng = np.random.default_rng([seed, zlib.crc32(f"{design.name} moved".encode())])
    gaps = []
    for _ in range(samples if design.clusters else 0):
        sums, _ = sample(design, rng)
        at = int(rng.choice(sums.records.size, p=sums.records / sums.records.sum()))
        one = np.arange(sums.records.size) == at
        category = int((sums.category[at] + rng.integers(1, np.prod(design.shape))) % np.prod(design.shape))
        columns = (
            np.append(each, each[at])
            for each in (sums.stratum, sums.unit, sums.exact, sums.weight, sums.form)
        )
        stratum, unit, exact, weight, form = columns
        moved = CategorySums(
            np.append(sums.category, category),
            stratum,
            unit,
            np.append(sums.records - one, 1.0),
            exact,
            weight,
            form,
            (),
        )
        before, after = exact_effect(sums, design), exact_effect(moved, design)
        steps = abs(log(after.effect / before.effect)) / log(RUNG)
        gaps.append((min(steps, 1.0), min(abs(after.variation - before.variation) / VARIATION_STEP, 1.0)))
    effect, variation = np.array(gaps).reshape(-1, 2).T
    return effect, variation


def measured(design: Design, tables: int = TABLES, seed: int = 28) -> Result:
    """The sizes at a design and the power, in percent, and the trace of one person in hundredths."""
    start = time.process_time()
    size, power = (
        p_values(design, tables, seed),
        p_values(design, min(tables, POWER_TABLES), seed, design.effect),
    )
    share = float((size["aware"] <= LEVEL).mean())
    result: Result = {
        "design": design.name,
        "tables": tables,
        "size": 100 * share,
        "error": 100 * sqrt(max(share, 1 / tables) * (1 - share) / tables),
        **{name: _rejected(size[name]) for name in ("first", "no_clusters", "naive", "fit")},
        "power": _rejected(power["aware"]),
        "power_exact": _rejected(power["exact"]),
    }
    for name, gaps in zip(
        ("effect", "variation"), trace_of_a_person(design, min(tables, MOVED), seed), strict=True
    ):
        mean, high = (
            (50 * float(gaps.mean()), 50 * float(np.quantile(gaps, 0.95))) if gaps.size else (None, None)
        )
        result |= {f"gain_{name}": mean, f"gain_{name}_95": high}
    return result | {"seconds": round(time.process_time() - start, 1)}


def _rejected(p: Floats) -> float:
    return 100 * float((p <= LEVEL).mean())


def measure(wish: Wish) -> Iterator[Result]:
    """The chosen designs, or all, one after the other."""
    known = {design.name: design for design in DESIGNS}
    for name in wish.points:
        if name not in known:
            raise BadRequest(f'There is no design "{name}".', nearest(name, list(known)))
    for name in wish.points or known:
        tables = wish.repeats or TABLES
        wish.say(f"{name}: {tables:,} tables")
        yield measured(known[name], tables)


def _gain(name: str) -> Callable[[Result], str]:
    mean, high = f"gain_{name}", f"gain_{name}_95"
    return lambda r: "" if r[mean] is None else f"{r[mean]:.1f} / {r[high]:.1f}"


PART = Part(
    measure,
    {
        "design": lambda result: str(result["design"]),
        "size at 5 %": lambda r: f"{r['size']:.1f} ± {r['error']:.1f}",
        "first order": figure("first", "{:.1f}"),
        "no clusters": figure("no_clusters", "{:.1f}"),
        "naive": figure("naive", "{:.1f}"),
        "fit of columns": figure("fit", "{:.1f}"),
        "power": figure("power", "{:.0f}"),
        "without noise": figure("power_exact", "{:.0f}"),
        "gain by E": _gain("effect"),
        "gain by a²": _gain("variation"),
    },
)
