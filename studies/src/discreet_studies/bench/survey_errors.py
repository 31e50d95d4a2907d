"""Coverage and width of the errors of weighted tables, over a grid of designs, forms and sample sizes.

Samples of an invented population (`survey_samples.py`) take the way of a load and a request, from an engine of arrays: the
figures of each variable, the gate, the published constants, released tables and their intervals. Of every cell with 16
expected respondents or more (steps under `largest-weight`), and of sums, differences, shares and ratios:

    coverage    the share of 95 % intervals that contain the population's number
    width       mean printed standard error / root mean squared error of the released number, bias and noise included

A result is a form at a sample size under one design, or under all together. The wrong alternatives are measured on the
same samples: without the bias term and the gate, and without clusters. The errors of 0.2.0, from exact design effects, are
found by exchanging weights between people (`exchange`).

    Monte Carlo error of a coverage p of r samples = sqrt(p (1 - p) / r)
"""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product, repeat
from math import sqrt
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadRequest
from discreet.inference.confidence_intervals.survey_intervals import survey_interval, survey_limits
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.messages.text import nearest
from discreet.model.release import NO_ERROR, UNRELIABLE, WHOLE, Release
from discreet.model.request import TableRequest
from discreet.model.revision import newest_arithmetic
from discreet.model.survey import DESIGN_EFFECTS, GENERALISED, Survey, SurveyConstants, parse_survey
from discreet.noise.table import NoiseTable
from discreet.protect.cell_keys import cell_chances, cell_keys, noise_lineage
from discreet.protect.description_keys import DescriptionNoise
from discreet.protect.plan import NoisePlan
from discreet.protect.protector import CellKeyProtector
from discreet.publish.published_registry import ABSENT, PublicDpProtector
from discreet.records import storage
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.keys import Secret
from discreet.records.tabulate import tabulate
from discreet.release.pipeline import release_table
from discreet.survey.gate import LevelFigures, admits, level_figures, refuse_biased_form
from discreet.survey.generalised import TableErrors
from discreet.survey.published_constants import published_constants, secret_chances
from discreet.workspace.versions.load_version import noise_for
from discreet.workspace.workspace import StoredDataset
from discreet_studies.bench.part import Part, Result, Wish, figure
from discreet_studies.bench.survey_samples import (
    CATEGORIES,
    DECIMALS,
    DESIGNS,
    METHODS,
    Codes,
    Design,
    Floats,
    Population,
    Sample,
)

#: `invariant` is under `dp`: its constants are those of another sample, and the gate of `average-weight` judges it.
FORMS = ("average-weight", "public-strata", "largest-weight", "invariant")
SIZES = (1_500, 6_000)
#: Samples of each point, and of a point whose form is refused, for the alternative without a gate.
SAMPLES, REFUSED_SAMPLES = 100, 30
#: Estimates and alternatives are measured on one of so many samples.
EVERY = 2
#: Cells with fewer expected respondents are small.
SMALL = 16
#: A coverage is measured from so many samples that the gate admits.
FEWEST_SAMPLES = 15
#: The designs of `--quick`, and their samples.
QUICK, QUICK_SAMPLES = ("simple", "related", "clusters-100-icc-.05", "jkn"), 40
#: Pairs of surveys that differ by an exchange of two weights.
EXCHANGES = 50
SEED = 28
#: Of how many other samples one gives the constants under `dp`.
WAVES = 6
#: Under `dp` half as many samples are drawn as under other forms, and at least so many.
PRIVATE_SAMPLES = 20
#: The name of the results of all designs of a form and size.
TOGETHER = "all designs"


class ArrayEngine:
    """Records in arrays, by the names of their stored columns."""

    tag = ""

    def __init__(self, columns: Mapping[str, Codes], keys: NDArray[np.uint64]) -> None:
        self._columns, self._keys = columns, keys
        self._ranks: dict[str, tuple[Codes, int]] = {}

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        kept = np.ones(self._keys.size, dtype=np.bool_)
        for name, codes in query.filters:
            kept &= np.isin(self._columns[name], codes)
        rows = np.flatnonzero(kept)
        group, groups = np.zeros(rows.size, dtype=np.int64), 1
        for name in query.group_by:
            code, count = self._dense(name)
            group, groups = group * count + code[rows], groups * count
        if groups >= 2**62:
            raise ValueError("too many groups for one integer")
        order = np.argsort(group, kind="stable")
        starts, rows = np.flatnonzero(np.diff(group[order], prepend=-1)), rows[order]
        sums = [np.add.reduceat(self._columns[name][rows], starts) for name in query.sums]
        return SparseCells(
            tuple(self._columns[name][rows[starts]] for name in query.group_by),
            np.diff(np.append(starts, rows.size)),
            np.add.reduceat(self._keys[rows], starts),
            np.add.reduceat(self._columns[storage.WEIGHT][rows], starts) if query.weights else None,
            tuple(sums),
        )

    def _dense(self, name: str) -> tuple[Codes, int]:
        """A column by the rank of its values, and how many there are."""
        if name not in self._ranks:
            values, rank = np.unique(self._columns[name], return_inverse=True)
            self._ranks[name] = rank.ravel(), values.size
        return self._ranks[name]

    def sound(self) -> bool:
        return True

    def close(self) -> None: ...


#: Every table of up to three variables.
PRIVATE = """
[protection]
method = "dp"
[protection.universe]
margins = "own"
variables = ["region", "a", "b", "c"]
up_to = 3
[protection.budget]
calibrate = false
family = "survey"
epsilon = 8.0
cap_epsilon = 8.0
invariants = ["n"]
neighbours = "replace-one"
"""


@cache
def described(protection: str = "") -> Dataset:
    """The dataset without its survey."""
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {[str(code) for code in range(count)]}\n'
        for name, count in CATEGORIES.items()
    )
    return parse_dataset(
        'id = "survey"\nlabel = "Survey"\nunit = "persons"\nid_column = "id"\nweight_column = "w"\n'
        f"weight_decimals = {DECIMALS}\n{variables}{protection}"
    )


@cache
def default_noise() -> NoiseTable:
    """The noise table of a dataset that declares none."""
    noise = noise_for(described())
    assert isinstance(noise, NoiseTable)  # noqa: S101 - under cell keys
    return noise


@cache
def private_plan() -> NoisePlan:
    """The noise of every table under `dp`."""
    plan = noise_for(described(PRIVATE))
    assert isinstance(plan, NoisePlan)  # noqa: S101 - under dp
    return plan


def declared(population: Population, sample: Sample, form: str) -> Survey:
    """The survey as its custodian would describe it."""
    design, scale = population.design, 10**DECIMALS
    known = (
        ["region"] if design.strata else {"ratio": True, "raked": ["region", "a"]}.get(design.adjust, False)
    )
    entry: dict[str, Any] = {
        "form": form,
        "sample_size": sample.people.size,
        "population_size": population.size
        if known or form == "invariant"
        else Fraction(int(sample.weights.sum()), scale),
        "largest_weight": Fraction(int(sample.weights.max()), scale),
        "relative_variance": float(sample.weights.var() / sample.weights.mean() ** 2),
        "calibrated": known,
        "population_totals": {
            name: {
                str(code): people
                for code, people in enumerate(np.bincount(population.columns[name]).tolist())
            }
            for name in (known if isinstance(known, list) else ())
        },
    }
    if form == "public-strata":
        stratum, count = population.columns[design.by][sample.people], CATEGORIES[design.by]
        records, people = (np.bincount(stratum, each, count) for each in (None, sample.weights))
        mean = np.where(records > 0, people / np.maximum(records, 1), sample.weights.mean()) / scale
        entry |= {
            "stratum": design.by,
            "stratum_weights": {
                str(code): round(weight, DECIMALS) for code, weight in enumerate(mean.tolist())
            },
        }
    if form == "invariant":
        largest = max(entry["largest_weight"], -(-population.size // sample.people.size))
        return parse_survey(entry | {"calibrated": True, "population_totals": {}, "largest_weight": largest})
    if design.replicates:
        entry |= {"replicates": f"r1..r{len(sample.replicates)}", **METHODS[design.replicates]}
        entry |= {"coefficients": list(sample.coefficients)} if sample.coefficients else {}
    else:
        entry |= {"strata": "region"} if design.strata else {}
        entry |= {"clusters": "cluster"} if design.clusters else {}
    return parse_survey(entry)


def stored_columns(population: Population, sample: Sample) -> dict[str, Codes]:
    """The columns as a load stores them."""
    columns = {name: codes[sample.people] for name, codes in population.columns.items()}
    columns |= {
        storage.WEIGHT: sample.weights,
        storage.STRATUM: sample.stratum,
        storage.CLUSTER: sample.cluster,
    }
    for at, factor in enumerate(sample.replicates):
        columns[f"_replicate_{at + 1}"] = np.rint(factor * sample.weights).astype(np.int64)
    return columns


@dataclass(frozen=True, eq=False)
class Loaded:
    """A sample after a load, and what the gate says of its form."""

    stored: StoredDataset
    figures: list[LevelFigures]
    refused: bool


def load_sample(population: Population, sample: Sample, form: str, rng: np.random.Generator) -> Loaded:
    """Measure, judge and publish as a load does; a form that is refused has its constants all the same."""
    if form == "invariant":
        return _load_private(population, sample, rng)
    dataset = replace(described(), survey=declared(population, sample, form))
    keys = rng.integers(1, 2**32, sample.people.size, dtype=np.uint64)
    engine, secret = ArrayEngine(stored_columns(population, sample), keys), Secret(rng.bytes(32))
    figures, refused = list(level_figures(dataset, engine)), False
    survey = dataset.survey
    assert survey is not None  # noqa: S101 - declared above
    try:
        refuse_biased_form(survey, figures)
    except BadData:
        refused = True
    constants = published_constants(dataset, engine, figures, secret_chances(secret, dataset))
    return Loaded(
        _stored(replace(dataset, survey=replace(survey, constants=constants)), engine, secret),
        figures,
        refused,
    )


def _load_private(population: Population, sample: Sample, rng: np.random.Generator) -> Loaded:
    """Under `dp`, with the constants that one of twenty other samples would publish under cell keys."""
    own = replace(described(), survey=declared(population, sample, "average-weight"))
    engine = ArrayEngine(stored_columns(population, sample), np.ones(sample.people.size, dtype=np.uint64))
    figures = list(level_figures(own, engine))
    constants = _constants_of_another(population, sample.people.size, int(rng.integers(WAVES)))
    survey = replace(declared(population, sample, "invariant"), constants=constants)
    dataset, plan = replace(described(PRIVATE), survey=survey), private_plan()
    source = DescriptionNoise(Secret(rng.bytes(32)), dataset, dataset.version, "", plan.noise())
    protector = PublicDpProtector(plan, source, ABSENT)
    stored = StoredDataset(dataset, "0" * 64, engine, protector, newest_arithmetic())
    assert own.survey is not None  # noqa: S101 - declared above
    return Loaded(stored, figures, not admits(own.survey, figures))


@lru_cache(maxsize=2 * WAVES)
def _constants_of_another(population: Population, size: int, wave: int) -> SurveyConstants:
    rng = np.random.default_rng([SEED, size, wave])
    survey = load_sample(population, population.draw(size, rng), "average-weight", rng).stored.dataset.survey
    assert survey is not None  # noqa: S101 - declared there
    return replace(survey.constants, calibration=0.0, stratum_clusters=())


def _stored(dataset: Dataset, engine: ArrayEngine, secret: Secret) -> StoredDataset:
    noise, lineage = default_noise(), noise_lineage(dataset)
    protector = CellKeyProtector(
        cell_keys(secret, lineage, dataset.protection, noise.modulus), noise, cell_chances(secret, lineage)
    )
    return StoredDataset(dataset, "0" * 64, engine, protector, newest_arithmetic())


#: The tables, with all their totals: 198 cells.
TABLES = (
    TableRequest("survey", ("region",), ("a",), ("b",), measure="weighted"),
    TableRequest("survey", ("c",), ("a",), measure="weighted"),
)
Cell = tuple[str, str, str]
#: Estimates from the first table: cells, whole (`of`) or base (`over`), others (`minus`) and their whole.
DERIVED: tuple[tuple[str, Mapping[str, Sequence[Cell]]], ...] = (
    ("sum", {"cells": [("0", "0", "_T"), ("1", "0", "_T")]}),
    ("sum", {"cells": [("0", "_T", "0"), ("1", "_T", "0"), ("2", "_T", "0")]}),
    ("sum", {"cells": [("0", "0", "1"), ("0", "1", "1")]}),
    ("difference", {"cells": [("_T", "0", "_T")], "minus": [("_T", "3", "_T")]}),
    ("difference", {"cells": [("0", "0", "_T")], "minus": [("1", "0", "_T")]}),
    ("difference", {"cells": [("_T", "2", "0")], "minus": [("_T", "2", "1")]}),
    ("share", {"cells": [("0", "0", "_T")], "of": [("0", "_T", "_T")]}),
    ("share", {"cells": [("_T", "0", "0")], "of": [("_T", "0", "_T")]}),
    ("share", {"cells": [("1", "_T", "1")], "of": [("1", "_T", "_T")]}),
    ("share", {"cells": [("_T", "1", "_T")], "of": [("_T", "_T", "_T")]}),
    (
        "difference of shares",
        {
            "cells": [("0", "_T", "0")],
            "of": [("0", "_T", "_T")],
            "minus": [("1", "_T", "0")],
            "minus_of": [("1", "_T", "_T")],
        },
    ),
    (
        "difference of shares",
        {
            "cells": [("_T", "0", "0")],
            "of": [("_T", "0", "_T")],
            "minus": [("_T", "4", "0")],
            "minus_of": [("_T", "4", "_T")],
        },
    ),
    ("ratio", {"cells": [("_T", "_T", "0")], "over": [("_T", "_T", "2")]}),
    ("ratio", {"cells": [("0", "0", "_T")], "over": [("0", "2", "_T")]}),
    ("ratio", {"cells": [("_T", "0", "1")], "over": [("_T", "1", "1")]}),
)


@dataclass
class Tally:
    """Sums over samples, by cell or estimate: intervals, those that cover, printed errors, and squared errors."""

    intervals: Floats
    covering: Floats
    printed: Floats
    errors: Floats
    squares: Floats
    released: Floats

    @classmethod
    def empty(cls, cells: int) -> Tally:
        return cls(*(np.zeros(cells) for _ in range(6)))

    def add(self, value: Floats, printed: Floats, low: Floats, high: Floats, truth: Floats) -> None:
        """Add a sample; what has no interval or no printed error is not a number there."""
        there, shown = ~np.isnan(low), ~np.isnan(printed)
        self.intervals += there
        with np.errstate(invalid="ignore"):
            self.covering += there & (low <= truth) & (truth <= high)
        self.printed += np.where(shown, printed, 0)
        self.errors += shown
        known = ~np.isnan(value)
        self.squares += np.where(known, (value - truth) ** 2, 0)
        self.released += known

    @property
    def coverage(self) -> Floats:
        return np.where(
            self.intervals >= FEWEST_SAMPLES, self.covering / np.maximum(self.intervals, 1), np.nan
        )

    @property
    def width(self) -> Floats:
        printed = np.where(self.errors > 0, self.printed / np.maximum(self.errors, 1), np.nan)
        return printed / np.sqrt(np.maximum(self.squares / np.maximum(self.released, 1), 1e-12))


def without_bias(errors: TableErrors) -> TableErrors:
    """Wrong alternative: no bias that the gate lets through."""
    return replace(
        errors,
        axes=tuple(replace(axis, biases=np.zeros_like(axis.biases)) for axis in errors.axes),
        largest=1.0,
    )


def without_clusters(errors: TableErrors) -> TableErrors:
    """Wrong alternative: people drawn one by one."""
    axes = tuple(replace(axis, effects=np.minimum(axis.effects, 1)) for axis in errors.axes)
    return replace(errors, axes=axes, pairs={}, per_cluster=1.0, freedom=None)


NO_BIAS, NO_CLUSTERS = "no_bias", "no_clusters"
ALTERNATIVES = {NO_BIAS: without_bias, NO_CLUSTERS: without_clusters}


@dataclass(eq=False)
class Point:
    """A design, a form and a sample size."""

    design: Design
    size: int
    form: str
    loaded: int = 0
    refused: int = 0
    expected: Floats = field(default_factory=lambda: np.zeros(0))
    cells: Tally = field(default_factory=lambda: Tally.empty(0))
    reliable: Tally = field(default_factory=lambda: Tally.empty(0))
    derived: Tally = field(default_factory=lambda: Tally.empty(len(DERIVED)))
    alternatives: dict[str, Tally] = field(default_factory=dict)

    def run(self, population: Population, samples: int, seed: int = SEED) -> None:
        """Draw samples and add up what their intervals do."""
        rng = np.random.default_rng([seed, self.size, zlib.crc32(f"{self.design.name} {self.form}".encode())])
        truths = _truths(population)
        together = np.concatenate([each.ravel() for each in truths])
        for tally in ("cells", "reliable"):
            setattr(self, tally, Tally.empty(together.size))
        self.alternatives = {name: Tally.empty(together.size) for name in self._alternatives()}
        steps = []
        while self.loaded < (
            samples if self.refused < self.loaded or not self.loaded else min(samples, REFUSED_SAMPLES)
        ):
            sample = population.draw(self.size, rng)
            found = load_sample(population, sample, self.form, rng)
            self.loaded += 1
            self.refused += found.refused
            steps.append(sample.weights.max() / 10**DECIMALS)
            few = self.refused > REFUSED_SAMPLES
            if found.refused and few:
                continue
            releases = [release_table(found.stored, asked) for asked in TABLES]
            self._add(releases, truths, together, admitted=not found.refused)
        self.expected = together / (
            np.mean(steps) if self.form == "largest-weight" else population.size / self.size
        )

    def _alternatives(self) -> list[str]:
        if self.form == "invariant":
            return []
        names = [NO_BIAS] if self.form != "largest-weight" else []
        return [*names, NO_CLUSTERS] if self.design.clusters else names

    def _add(
        self, releases: list[Release], truths: list[Floats], together: Floats, *, admitted: bool
    ) -> None:
        often = self.loaded % EVERY == 1 or not admitted  # estimates and alternatives take half of the time
        if admitted:
            value, printed, low, high = (
                np.concatenate(each) for each in zip(*map(_cells, releases), strict=True)
            )
            self.cells.add(value, printed, low, high, together)
            doubtful = np.concatenate([(each.status == UNRELIABLE).ravel() for each in releases])
            hidden = [np.where(doubtful, np.nan, each) for each in (value, printed, low, high)]
            self.reliable.add(*hidden, together)  # type: ignore[call-arg]
            if often:
                self.derived.add(*_derived(releases[0], truths[0]))
        for name, tally in self.alternatives.items():
            if not often or (not admitted and name == NO_CLUSTERS):
                continue
            others = [replace(each, sampling=ALTERNATIVES[name](each.sampling)) for each in releases]
            found = zip(*(_cells(each, of_table=True) for each in others), strict=True)
            tally.add(*(np.concatenate(each) for each in found), together)  # type: ignore[call-arg]


def _cells(release: Release, *, of_table: bool = False) -> tuple[Floats, ...]:
    """Value, printed standard error and limits of every cell; `of_table` takes the errors of its `TableErrors`."""
    value = release.values.astype(np.float64)
    low, high = (np.where(each < 0, np.nan, each) for each in survey_limits(release, 0.95))
    errors = release.errors
    if errors is None:
        raise ValueError("a weighted table has errors")
    if of_table:
        errors = release.sampling.cells().relative.reshape(errors.shape)
    printed = np.where(errors == NO_ERROR, np.nan, errors / WHOLE * value)
    return value.ravel(), printed.ravel(), low.ravel(), high.ravel()


def _derived(release: Release, truth: Floats) -> tuple[Floats, ...]:
    """Value, standard error, limits and truth of the derived estimates; not a number where one is refused."""
    places = {
        codes: truth[at]
        for at, codes in (
            (at, tuple(d.codes[place] for d, place in zip(release.dimensions, at, strict=True)))
            for at in np.ndindex(truth.shape)
        )
    }
    found = np.full((4, len(DERIVED)), np.nan)
    true = np.zeros(len(DERIVED))
    for at, (_, asked) in enumerate(DERIVED):
        sums = {name: sum(float(places[cell]) for cell in cells) for name, cells in asked.items()}
        true[at] = _true_estimate(sums)
        try:
            interval = survey_interval(release, level=0.95, **asked)
        except BadRequest:
            continue
        printed = (
            np.nan
            if interval.relative_standard_error is None
            else interval.relative_standard_error / 100 * abs(interval.estimate)
        )
        found[:, at] = interval.estimate, printed, interval.low, interval.high
    return (*found, true)


def _true_estimate(sums: Mapping[str, float]) -> float:
    one = sums["cells"] / sums.get("of", sums.get("over", 1.0))
    other = sums.get("minus", 0.0) / sums.get("minus_of", sums.get("of", 1.0))
    return one - other


def _truths(population: Population) -> list[Floats]:
    """The population's number in every cell of the tables."""
    engine = ArrayEngine(population.columns, np.ones(population.size, dtype=np.uint64))
    plain = [replace(each, measure="count") for each in TABLES]
    return [tabulate(engine, shape).counts.astype(np.float64) for shape in map(_shape, plain)]


def _shape(request: TableRequest) -> Any:
    from discreet.model.request import canonical  # noqa: PLC0415
    from discreet.model.shape import table_shape  # noqa: PLC0415

    return table_shape(canonical(request, described()), described())


def shares_below(limits: Sequence[float], coverages: Floats, samples: Floats) -> list[float]:
    """The shares of cells whose true coverage is below each limit: a beta distribution less the Monte Carlo error.

    >>> shares_below([0.93], np.array([0.94, 0.96]), np.array([100.0, 100.0]))
    [0.0]
    """
    from scipy.special import betainc  # noqa: PLC0415 - slow to import

    mean = float(coverages.mean())
    spread = float(coverages.var()) - mean * (1 - mean) * float((1 / samples).mean())
    if spread <= 1e-9:
        return [float(mean < limit) for limit in limits]
    size = mean * (1 - mean) / spread - 1
    return [float(betainc(mean * size, (1 - mean) * size, limit)) for limit in limits]


def summary(points: Sequence[Point], design: str) -> Result:
    """The figures of some points of one form together."""
    admitted = [each for each in points if each.loaded - each.refused >= FEWEST_SAMPLES]
    loaded, refused = (sum(getattr(each, name) for each in points) for name in ("loaded", "refused"))
    result: Result = {
        "design": design,
        "form": points[0].form,
        "respondents": points[0].size if len({each.size for each in points}) == 1 else None,
        "samples": loaded,
        "admitted": round(1 - refused / loaded, 3),
    }
    cells = [(each.cells, each.expected >= SMALL) for each in admitted]
    result |= _figures("", cells)
    reliable = [(each.reliable, each.expected >= SMALL) for each in admitted]
    result["reliable_c90"] = _figures("", reliable)["c90"]
    small = [each.cells.coverage[(each.expected < SMALL) & (each.expected >= 1)] for each in admitted]
    result["small"] = _rounded(float(np.nanmean(np.concatenate(small)))) if small else None
    result |= _figures("estimates_", [(each.derived, np.full(len(DERIVED), True)) for each in admitted])
    for name in ALTERNATIVES:
        having = [each for each in points if name in each.alternatives]
        found = _figures("", [(each.alternatives[name], each.expected >= SMALL) for each in having])
        result |= {f"{name}_{key}": found[key] for key in ("c93_true", "least", "width")}
    return result


def _figures(prefix: str, tallies: Sequence[tuple[Tally, NDArray[np.bool_]]]) -> Result:
    """Coverage and width over chosen cells; None where no coverage was measured."""
    coverage = np.concatenate([tally.coverage[kept] for tally, kept in tallies] or [np.zeros(0)])
    width = np.concatenate([tally.width[kept] for tally, kept in tallies] or [np.zeros(0)])
    samples = np.concatenate([tally.intervals[kept] for tally, kept in tallies] or [np.zeros(0)])
    known = ~np.isnan(coverage)
    names = ("cells", "c93", "c90", "c93_true", "c90_true", "least", "mean", "width", "width_95")
    if not known.any():
        return {prefix + name: None for name in names} | {f"{prefix}cells": 0}
    own, width = coverage[known], width[known]
    below = shares_below((0.93, 0.90), own, samples[known])
    found = (
        (own >= 0.93).mean(), (own >= 0.90).mean(), 1 - below[0], 1 - below[1], own.min(), own.mean(),
        *np.nanquantile(width, (0.5, 0.95)),
    )  # fmt: skip
    return dict(zip((prefix + name for name in names), (own.size, *map(_rounded, found)), strict=True))


def _rounded(value: float) -> float:
    return round(float(value), 4)


def changed_by_exchange(form: str, method: str, surveys: int = EXCHANGES, size: int = SIZES[0]) -> float:
    """In which share of surveys some printed error shows that two people have exchanged their weights.

    The numbers released are the same in both. Both people are in one stratum and in different cells.
    """
    population = Population(Design("exchange", spread=0.3, adjust="ratio"), SEED)
    rng = np.random.default_rng([SEED, 3])
    changed = 0
    for _ in range(surveys):
        sample, secret, keys = (
            population.draw(size, rng),
            rng.bytes(32),
            rng.integers(1, 2**32, size, dtype=np.uint64),
        )
        region, b = (population.columns[name][sample.people] for name in ("region", "b"))
        one = rng.choice(np.flatnonzero((region == 1) & (b == 0)))
        other = rng.choice(np.flatnonzero((region == 1) & (b == 1)))
        exchanged = sample.weights.copy()
        exchanged[[one, other]] = exchanged[[other, one]]
        errors = []
        for weights in (sample.weights, exchanged):
            own = replace(sample, weights=weights)
            survey = replace(declared(population, own, form), errors=method)
            dataset = replace(described(), survey=survey)
            dropped = DECIMALS - storage.square_decimals(dataset)
            squares = {
                name: each.astype(np.int64) for name, each in storage.squares(weights, dropped).items()
            }
            engine = ArrayEngine(stored_columns(population, own) | squares, keys)
            known = published_constants(
                dataset, engine, list(level_figures(dataset, engine)), secret_chances(Secret(secret), dataset)
            )
            dataset = replace(dataset, survey=replace(survey, constants=known))
            errors.append(np.array(release_table(_stored(dataset, engine, Secret(secret)), TABLES[0]).errors))
        changed += not np.array_equal(errors[0], errors[1])
    return changed / surveys


def measure(wish: Wish) -> Iterator[Result]:
    """Every design under every form at both sizes, then each form at each size under all designs together."""
    samples = wish.repeats or (QUICK_SAMPLES if wish.quick else SAMPLES)
    sizes = SIZES[:1] if wish.quick else SIZES
    points: defaultdict[tuple[str, int], list[Point]] = defaultdict(list)
    designs = chosen(wish.points or (QUICK if wish.quick else ()))
    with ProcessPoolExecutor(min(cpu_count() or 1, len(designs))) as workers:
        found = workers.map(points_of, designs, repeat(sizes), repeat(samples))
        for design, (own, seconds) in zip(designs, found, strict=True):
            for point in own:
                points[point.form, point.size].append(point)
                yield summary([point], design.name)
            wish.say(f"{design.name}: {seconds:.0f} s")
    for (form, _), own in points.items():
        result = summary(own, TOGETHER)
        if form == "average-weight":
            result |= {
                "shown_by_errors": changed_by_exchange(form, GENERALISED),
                "shown_by_exact_effects": changed_by_exchange(form, DESIGN_EFFECTS),
            }
        yield result


def points_of(design: Design, sizes: Sequence[int], samples: int) -> tuple[list[Point], float]:
    """A design under every form at some sizes, and the seconds that it took."""
    population, start, points = Population(design, SEED), time.process_time(), []
    for size, form in product(sizes, FORMS):
        point = Point(design, size, form)
        point.run(
            population, min(samples, max(samples // 2, PRIVATE_SAMPLES)) if form == "invariant" else samples
        )
        points.append(point)
    return points, time.process_time() - start


def chosen(names: tuple[str, ...]) -> list[Design]:
    """Designs by their names; all where none is given.

    Raises:
        BadRequest: A name that the grid does not have.
    """
    known = {design.name: design for design in DESIGNS}
    for name in names:
        if name not in known:
            raise BadRequest(f'The grid has no design "{name}".', nearest(name, list(known)))
    return [known[name] for name in names or known]


def _part_of(key: str, form: str = "{:.3f}") -> Callable[[Result], str]:
    return lambda result: "" if result.get(key) is None else form.format(result[key])


def document(lines: list[str], results: list[Result]) -> str:
    """The section of the page, from the lines of the table (without its head, one for each result)."""
    whole = [each["design"] == TOGETHER for each in results]
    first = next(each for each, yes in zip(results, whole, strict=True) if yes and "shown_by_errors" in each)
    points = [each for each, yes in zip(results, whole, strict=True) if not yes]
    samples = max(each["samples"] for each in points)
    table = [*lines[:2], *(line for line, yes in zip(lines[2:], whole, strict=True) if yes)]
    return SECTION.format(
        designs=len({each["design"] for each in points}),
        samples=samples,
        error=sqrt(0.95 * 0.05 / samples),
        spread=1 / sqrt(2 * samples),
        spread_estimates=1 / sqrt(2 * samples / EVERY),
        alternatives=samples // EVERY,
        refused=REFUSED_SAMPLES,
        table="\n".join(table),
        admitted="\n".join(_admission_lines(points)),
        shown=first["shown_by_errors"],
        exact=first["shown_by_exact_effects"],
    )


def _admission_lines(points: list[Result]) -> list[str]:
    """Of each design the share of samples that the gate of each form admits."""
    shares: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in points:
        shares[each["design"]][each["form"]].append(f"{100 * each['admitted']:.0f}")
    lines = [f"| design | {' | '.join(FORMS)} |", "| --- " * (len(FORMS) + 1) + "|"]
    return [
        *lines,
        *(
            f"| {design} | {' | '.join(' / '.join(own[form]) for form in FORMS)} |"
            for design, own in shares.items()
        ),
    ]


SECTION = """## Over many designs

`discreet bench survey-errors` draws samples of invented populations of 300,000 people under {designs} designs
(`bench/survey_samples.py`), loads each under four forms, and releases two tables with all totals (198 cells) and 15 sums,
shares, differences and ratios. Numbers, constants, gate and intervals are made by the code of a load and a request. Under
`invariant` (`dp`, ε = 8 for all tables of up to three variables together) the constants are those of another sample, and the
samples are those that the gate of `average-weight` admits, of fewer draws. Results of every design are in
[survey-errors.json](survey-errors.json); `--quick` runs four designs in a minute.

- **c93, c90**: the share of cells with 16 expected respondents or more (steps under `largest-weight`) whose 95 % intervals
  cover with probability .93 and .90 at least. A coverage is measured on up to {samples} samples that the gate admits
  (standard error {error:.3f} at .95), so that some cells fall below by chance alone: a beta distribution of true coverages
  is fitted to the measured ones (by moments, the binomial variance taken off). Raw shares are in the JSON (`c93`, `c90`).
  *least* is the lowest measured coverage of all cells, *small* the mean of cells with 1 to 16 expected respondents.
- **width**: mean printed standard error over the root mean squared error of the released number, noise and bias included:
  the median and 95th percentile of cells. Estimates are measured on every second sample. The root of the squared error
  is known to {spread:.0%} (cells) and {spread_estimates:.0%} (estimates), which alone widens the 95th percentiles.
- **no bias, no clusters**: c93 of the same intervals if the bias term and the gate are left out (on all samples, up to
  {refused} of those refused), and if people count as drawn one by one (designs with declared clusters).

<!-- discreet bench survey-errors --repeats {samples} --out FILE -->

{table}

A third wrong alternative is found by an exchange: where two people of one region, who differ in `b`, exchange their weights,
released numbers under `average-weight` stay the same. In {shown:.0%} of surveys a printed error changed; with the exact
design effects of 0.2.0 in {exact:.0%}.

Samples that the gate admits, in percent, at 1,500 / 6,000 respondents:

{admitted}
"""


PART = Part(
    measure,
    {
        "design": lambda result: str(result["design"]),
        "form": lambda result: str(result["form"]),
        "respondents": figure("respondents", "{:,}"),
        "admitted": _part_of("admitted", "{:.0%}"),
        "cells": figure("cells", "{:,}"),
        "c93": _part_of("c93_true"),
        "c90": _part_of("c90_true"),
        "least": _part_of("least", "{:.2f}"),
        "small": _part_of("small", "{:.2f}"),
        "width": _part_of("width", "{:.2f}"),
        "95th": _part_of("width_95", "{:.2f}"),
        "estimates, c93": _part_of("estimates_c93_true"),
        "their width": _part_of("estimates_width", "{:.2f}"),
        "their 95th": _part_of("estimates_width_95", "{:.2f}"),
        "no bias, c93": _part_of("no_bias_c93_true"),
        "no clusters, c93": _part_of("no_clusters_c93_true"),
    },
    document,
)
