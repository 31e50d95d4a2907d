"""Which form of weighted tables fits a survey's weights, and the errors that readers would see. Confidential.

For each form the gate is tried (`gate.py`), and the printed errors are computed as a release computes them
(`table_errors.py`), with true counts in place of released ones and constants that are rounded as by a typical secret. Strata
for `public-strata` are sought among the variables: those within which the weights vary least,

    within_s  =  Σ_h Σ_{i in h} (w_i - w̄_h)² / (n w̄²),      public weights w_h = w̄_h

and by at most half of all their variance, and of these the first that the gate admits. A variable may be a combination of
others.

Source: docs/methods/survey-weights.md; Shlomo, Krenzke & Li (2019), section 2.1, for the relative variance of weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.errors import BadDescription
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.file_io import toml_string
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension, TableShape, table_shape
from discreet.model.survey import Survey
from discreet.noise.table import NoiseTable
from discreet.records.engine import Engine
from discreet.records.tabulate import tabulate
from discreet.survey.gate import (
    MOST_WEIGHT_RATIO,
    LevelFigures,
    admits,
    biased_levels,
    level_figures,
    stratum_means,
    weight_ratio,
)
from discreet.survey.generalised import FEWEST_FREEDOM, FEWEST_PEOPLE, Floats
from discreet.survey.published_constants import published_constants
from discreet.survey.sample_sums import category_sums, survey_of
from discreet.survey.table_errors import build_errors, in_strata

#: The forms under the cell key method.
SERVED = ("average-weight", "public-strata", "largest-weight")
#: Weights that vary less than this within strata are nearly constant.
NEARLY_CONSTANT = 0.001
#: By how much a form without counts of records must be better than one with counts.
WITHOUT_COUNTS = 1.25
#: How many variables are tried as strata, and the most categories of one.
MOST_TRIED, MOST_STRATA = 3, 200
#: A smaller relative variance of the weights is rounding; a smaller share of it is not listed.
NO_SPREAD, NOTABLE = 1e-6, 0.01
#: Records times variables of a larger survey take minutes to compare.
MOST_COMPARED = 20_000_000
#: The chance of the rounding of constants where expected errors are computed.
TYPICAL_CHANCE = 0.5
#: Larger typical tables are left out, and more strata of a table.
MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class Strata:
    """A variable as the strata of `public-strata`.

    Args:
        within: The relative variance of the weights within its categories.
        weights: The mean weight of each category, by code.
    """

    variable: str
    within: float
    weights: tuple[tuple[str, Fraction], ...]

    def of(self, survey: Survey) -> Survey:
        """The survey with the form `public-strata` by this variable."""
        return replace(survey, form="public-strata", stratum=self.variable, stratum_weights=self.weights)

    @property
    def lines(self) -> list[str]:
        """The lines of `[survey]` that declare it."""
        listed = ", ".join(f"{toml_string(code)} = {float(weight):.10g}" for code, weight in self.weights)
        return [f"stratum = {toml_string(self.variable)}", f"stratum_weights = {{ {listed} }}"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FormErrors(Confidential):
    """A form with the survey that declares it: why the gate refuses it, or the median relative error of each table."""

    survey: Survey
    refused: str
    errors: tuple[float | None, ...]

    @property
    def mean(self) -> float:
        """The mean relative error of the tables; infinite if the form is refused or no cell has an error."""
        known = [each for each in self.errors if each is not None]
        return sum(known) / len(known) if known and not self.refused else float("inf")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WeightReport(Confidential):
    """The weights of a survey, and what each form would make of them.

    Args:
        spread: The relative variance of the weights.
        largest: The largest weight over the mean.
        above: How many records have more than five times the mean weight, and `trim`, five times the mean.
        related: The variables by which weights differ, with the share of the variance of the weights between their
            categories, the largest first.
        tables: The variables of each typical table.
        forms: Of `SERVED`, in order; a form that cannot be declared is missing.
        strata: The strata of `public-strata`.
        concentrated: Variable, category and cluster effect over the variable's, of categories in few clusters.
    """

    spread: float
    largest: float
    above: int
    trim: float
    related: tuple[tuple[str, float], ...]
    tables: tuple[tuple[str, ...], ...]
    forms: tuple[FormErrors, ...]
    strata: Strata | None
    concentrated: tuple[tuple[str, str, float], ...]

    @property
    def proposed(self) -> FormErrors:
        """The form that the gate admits with the least errors.

        `largest-weight`, which has no counts of records, only if its errors are less by a quarter.
        """
        return min(
            self.forms, key=lambda each: each.mean * (WITHOUT_COUNTS if each.survey.only_weights else 1)
        )

    def lines(self) -> list[str]:
        """The report as lines of text, with a table of forms by tables."""
        related = ", ".join(f"{name} {share:.0%}" for name, share in self.related[:5] if share >= NOTABLE)
        found = [
            f"The weights have a relative variance of {self.spread:.1%}; the largest is {self.largest:.1f} times the mean."
        ]
        if self.spread >= NO_SPREAD:
            found.append(
                f"Share of that variance between categories: {related or 'below 1% for every variable'}."
            )
        if self.strata is not None:
            found.append(
                f"Strata: within {self.strata.variable} the relative variance is {self.strata.within:.2%}"
                + (", the weights are nearly constant." if self.strata.within <= NEARLY_CONSTANT else ".")
            )
        if self.above:
            records = "1 record has" if self.above == 1 else f"{self.above:,} records have"
            found.append(
                f"{records} a weight above {MOST_WEIGHT_RATIO} times the mean: trim at {self.trim:.6g}, and "
                "distribute the excess over the other weights."
            )
        found += [
            (
                f"{name} {code!r} is in few clusters: its cluster effect is {over:.1f} times that of {name}, so its "
                "intervals are too short."
            )
            for name, code, over in self.concentrated
        ]
        width = max(map(len, SERVED)) + 1
        titles = [" x ".join(table) for table in self.tables]
        found.append(
            "Expected relative standard error, median of the cells with 16 and more records, of the tables:"
        )
        found += [f"  ({at}) {title}" for at, title in enumerate(titles, 1)]
        head = "".join(f"{f'({at})':>8}" for at in range(1, len(titles) + 1))
        found.append(f"{'form':<{width}}{head}")
        for form in self.forms:
            cells = ["-" if each is None else f"{each:.1%}" for each in form.errors]
            row = f"{form.survey.form:<{width}}" + "".join(f"{each:>8}" for each in cells)
            found.append(row + (f"  refused: {form.refused}" if form.refused else ""))
        return [*found, f'Proposed: form = "{self.proposed.survey.form}".']


def weight_report(dataset: Dataset, engine: Engine, noise: NoiseTable) -> WeightReport:
    """The report of a dataset with a survey under the cell key method."""
    survey = survey_of(dataset)
    plain = replace(survey, form="average-weight", stratum=None, stratum_weights=(), tests=())
    some = category_sums(engine, replace(dataset, survey=plain), plain, dataset.variables[0].name)
    mean = float(some.records @ some.exact) / survey.sample_size
    spread = relative_variance(some.records, some.exact)
    tried = find_strata(dataset, engine)
    if survey.form == "public-strata":  # as declared
        within = within_variance(dataset, engine, str(survey.stratum))
        tried = [Strata(str(survey.stratum), within, survey.stratum_weights)]
    chosen, figures = _first_admitted(dataset, engine, tried)
    surveys = {
        "average-weight": plain,
        "largest-weight": replace(plain, form="largest-weight", bias_bound=None),
    }
    if chosen is not None:
        surveys["public-strata"] = chosen.of(plain)
    tables = typical_tables(dataset)
    forms: list[FormErrors] = []
    concentrated: tuple[tuple[str, str, float], ...] = ()
    for name in SERVED:
        try:
            other = replace(dataset, survey=surveys.get(name))
        except BadDescription:  # keys that cannot have separate noise
            continue
        if other.survey is None:
            continue
        own = figures if name == "public-strata" else list(level_figures(other, engine))
        refused = refusal_in_words(other.survey, own)
        constants = published_constants(other, engine, own, lambda _name: TYPICAL_CHANCE)
        whole = replace(other, survey=replace(other.survey, constants=constants))
        errors = (expected_error(whole, engine, noise, table) for table in tables)
        forms.append(FormErrors(other.survey, refused, tuple(errors)))
        if name == SERVED[0]:
            concentrated = tuple(
                (each.level, code, effect / max(each.cluster, 1.0))
                for each in own
                for code, effect in each.concentrated
            )
    related = () if spread < NO_SPREAD else _related(dataset, engine, spread)
    above = float(some.records[some.exact > MOST_WEIGHT_RATIO * mean].sum())
    return WeightReport(
        spread,
        float(some.exact.max()) / mean,
        round(above),
        MOST_WEIGHT_RATIO * mean,
        related,
        tables,
        tuple(forms),
        chosen,
        concentrated,
    )


def refusal_in_words(survey: Survey, figures: Sequence[LevelFigures]) -> str:
    """Why the gate refuses a form, in a few words; empty if it does not."""
    if admits(survey, figures):
        return ""
    if weight_ratio(survey) > MOST_WEIGHT_RATIO:
        return f"a weight above {MOST_WEIGHT_RATIO} means"
    return "biased by " + ", ".join(
        f"{each.level} ({each.bias:.2f})" for each in biased_levels(survey, figures)[:3]
    )


def relative_variance(records: Floats, weights: Floats) -> float:
    """The variance of weights over their squared mean, each being of some records.

    >>> relative_variance(np.array([1.0, 1.0]), np.array([10.0, 30.0]))
    0.25
    """
    total = float(records @ weights)
    return max(float(records @ weights**2) * float(records.sum()) / total**2 - 1, 0.0)


def within_variance(dataset: Dataset, engine: Engine, name: str) -> float:
    """The relative variance of the weights within the categories of a variable."""
    survey = survey_of(dataset)
    sums = category_sums(engine, dataset, replace(survey, form="average-weight"), name)
    length = len(dataset.variable(name))
    counts, totals, squares = (
        sums.add(each, length) for each in (np.ones_like(sums.exact), sums.exact, sums.exact**2)
    )
    mean = totals.sum() / counts.sum()
    rest = squares - totals**2 / np.maximum(counts, 1)
    return max(float(rest.sum() / counts.sum()), 0.0) / float(mean) ** 2


def _related(dataset: Dataset, engine: Engine, spread: float) -> tuple[tuple[str, float], ...]:
    shares = (
        (each.name, 1 - within_variance(dataset, engine, each.name) / spread) for each in dataset.variables
    )
    return tuple(sorted(((name, share) for name, share in shares if share > 0), key=lambda each: -each[1]))


def find_strata(dataset: Dataset, engine: Engine) -> list[Strata]:
    """Variables within which weights vary least, with their mean weights; of those alike, that with fewest categories."""
    found = []
    everybody = replace(survey_of(dataset), form="average-weight")
    some = category_sums(engine, dataset, everybody, dataset.variables[0].name)
    most = relative_variance(some.records, some.exact) / 2
    for variable in dataset.variables:
        if 1 < len(variable) <= MOST_STRATA and variable.name not in dataset.geography:
            within = within_variance(dataset, engine, variable.name)
            if NO_SPREAD < most >= within:
                found.append((max(within, NEARLY_CONSTANT), len(variable), variable.name, within))
    average = Fraction(survey_of(dataset).population_size, survey_of(dataset).sample_size)
    strata = []
    for *_, name, within in sorted(found)[:MOST_TRIED]:
        digits = dataset.weight_decimals
        means = stratum_means(dataset, engine, name)
        weights = ((code, round(Fraction(mean) if mean else average, digits)) for code, mean in means.items())
        own = tuple((code, weight) for code, weight in weights if weight > 0)
        if len(own) == len(means):
            strata.append(Strata(name, within, own))
    return strata


def _first_admitted(
    dataset: Dataset, engine: Engine, tried: Sequence[Strata]
) -> tuple[Strata | None, list[LevelFigures]]:
    """The first strata that the gate admits; else the first that were tried."""
    first: tuple[Strata, list[LevelFigures]] | None = None
    for strata in tried:
        survey, figures = strata.of(survey_of(dataset)), []
        for each in level_figures(replace(dataset, survey=survey), engine):
            figures.append(each)
            if first is not None and biased_levels(survey, [each]):
                break  # refused; only the figures of the first are shown
        if not biased_levels(survey, figures):
            return strata, figures
        first = first or (strata, figures)
    return first or (None, [])


def fitting_form(dataset: Dataset, engine: Engine) -> str:
    """Which form to declare in place of a refused one, as the advice of the refusal."""
    chosen, figures = _first_admitted(dataset, engine, find_strata(dataset, engine))
    if chosen is not None and admits(chosen.of(survey_of(dataset)), figures):
        lines = ", ".join(['form = "public-strata"', *chosen.lines])
        return f'Use {lines} in [survey], if these weights are public; or form = "largest-weight".'
    return (
        f'No variable has weights that are alike within it. Use form = "largest-weight", or trim weights at '
        f"{MOST_WEIGHT_RATIO} times their mean."
    )


def typical_tables(dataset: Dataset) -> tuple[tuple[str, ...], ...]:
    """Up to five tables: the shortest, the middle and the longest variable, and the middle one by each of the others."""
    names = sorted((len(each), each.name) for each in dataset.variables if len(each) > 1)
    if not names:
        return ()
    short, middle, long = (names[at][1] for at in (0, len(names) // 2, -1))
    tables = [(short,), (middle,), (long,), (short, middle), (middle, long)]
    return tuple(dict.fromkeys(table for table in tables if len(set(table)) == len(table)))


def expected_error(
    dataset: Dataset, engine: Engine, noise: NoiseTable, table: tuple[str, ...]
) -> float | None:
    """The median relative standard error of a table's inner cells with enough people; None if none has one.

    The survey has its constants; true counts take the place of released ones.
    """
    survey = survey_of(dataset)
    if survey.constants.freedom is not None and survey.constants.freedom < FEWEST_FREEDOM:
        return None
    stratum, largest = (
        str(survey.stratum) if survey.form == "public-strata" else "",
        float(survey.largest_weight),
    )
    per_step = largest * survey.sample_size / float(survey.population_size) if survey.only_weights else 1.0
    finer = table if stratum in {"", *table} else (*table, stratum)
    if np.prod([len(dataset.variable(name)) for name in finer], dtype=float) > MOST_CELLS:
        return None

    def shape_of(names: Sequence[str]) -> TableShape:
        return table_shape(TableRequest(dataset.id, tuple(names), totals=False), dataset)

    def counts(*dimensions: Dimension) -> Floats:
        names = [each.name for each in dimensions]
        exact = tabulate(
            engine, shape_of([name for name in names if name != stratum] + [stratum] * bool(stratum))
        )
        if survey.only_weights and exact.weight_sums is not None:
            return np.rint(exact.weight_sums / 10.0**dataset.weight_decimals / largest)[..., None] * per_step
        own = exact.counts.astype(np.float64)
        return np.asarray(in_strata(own, dimensions, stratum) if stratum else own[..., None])

    public = np.array([float(weight) for _, weight in survey.stratum_weights]) if stratum else None
    shape = shape_of(table)
    steps = counts(*shape.dimensions) / per_step
    variances = _variances(noise, steps)
    if public is not None:  # a zero of a stratum could have noise, other strata of a cell have none
        others = [dimension.length for dimension in shape.dimensions if dimension.name != stratum]
        inside = in_strata(np.ones([*others, public.size]), shape.dimensions, stratum)
        variances = np.where(inside > 0, np.maximum(variances, 1.0), 0.0)
    errors = build_errors(dataset, shape, counts, steps, variances, public)
    enough = errors.noisy.sum(axis=-1) >= FEWEST_PEOPLE * (errors.largest if errors.mean_square else 1.0)
    if not enough.any():
        return None
    return float(np.median((errors.cells().standard / np.where(enough, errors.values, 1))[enough]))


def _variances(noise: NoiseTable, counts: Floats) -> Floats:
    """The variance of the noise of each count."""
    values, place = np.unique(np.maximum(counts, 0).astype(np.int64), return_inverse=True)
    known = np.array([float(noise.row(int(value)).variance()) for value in values])
    return np.asarray(known[place.ravel()].reshape(counts.shape))
