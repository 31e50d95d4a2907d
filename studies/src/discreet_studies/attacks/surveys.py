"""Invented surveys to be attacked: the shipped one with other people, under each form of weighted counts.

The forms that are served are loaded and asked through their service. Those that are no longer served are made again
here: the counts come through the service of a dataset that is served, with its noise, and the weighted counts are worked
out as these forms did, from the exact weights of the invented people. So what is attacked is the arithmetic alone.

Source: Shlomo, Krenzke & Li (2019), eqs 4-5, for the forms that are not served.

What an error of 0.2.0 tells of the count of a cell whose people all have one known weight: the rule, run backwards.

    P(error, noise share | n, ñ) = Σ over both rungs of P(rung | n, ñ) [this rung gives this error and this share]

The rule is public, but for the number by which a rung is chosen. So this attacker needs no learning, and misses nothing
that the error of such a cell tells.

Source: docs/methods/survey-weights.md.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.knowledge import UNPROTECTED, Answer, Interface
from discreet.attacks.survey_weights import (
    CELL_AVERAGE,
    COUNT,
    OVERALL_AVERAGE,
    SHARED_STEPS,
    STEPS,
    WEIGHTED,
    Cell,
    Class,
    PublicFacts,
    Reader,
    ReleasedCell,
)
from discreet.model import survey as survey_model
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.model.survey import DESIGN_EFFECTS, Survey
from discreet.model.variable import TOTAL
from discreet.noise.table import NoiseTable
from discreet.release.dataset_registry import open_registry
from discreet.release.measures.weighted import survey_design
from discreet.survey.sampling_error import relative_errors
from discreet.survey.variance import SMALL, design_effects, effect_steps, minimum_effects, stratum_variance
from discreet.survey.weight_forms import (
    SurveyDesign,
    nearest_quotient,
    on_grid,
)
from discreet.workspace.demo import spudlandia
from discreet.workspace.demo.dice import apportion
from discreet_studies.attacks.targets import Served, load_people, noise_table
from discreet_studies.average_weights import cell_average, overall_average, relative_variance

AVERAGE, STRATA = "average-weight", "public-strata"
#: What ships, and what is kept here to show why it does not.
#: What follows "+" is how the sample was drawn, where it is not as the demo declares it (strata with sampling fractions).
DESIGNS = {
    "no-design": "",
    "clusters": 'strata = "state"\nclusters = "home"\n',
    "replicates": 'replicates = "r1..r24"\nmethod = "jackknife"\n',
}
#: The groups of the jackknife: with fewer a table has no errors.
GROUPS = 24
SERVED = (
    AVERAGE,
    STRATA,
    STEPS,
    f"{AVERAGE}+no-design",
    f"{STRATA}+no-design",
    f"{AVERAGE}+clusters",
    f"{AVERAGE}+replicates",
)
OPEN = (CELL_AVERAGE, OVERALL_AVERAGE, SHARED_STEPS)
FORMS = (UNPROTECTED, *OPEN, *SERVED)
#: The variables of the personal weights, with their codes and the order of these.
_SORTED = tuple(
    (name, np.sort(spudlandia.CODES[name]), np.argsort(spudlandia.CODES[name]))
    for name in ("age", "gender", "state")
)


@dataclass(frozen=True, eq=False)
class Sample:
    """The respondents of one invented survey.

    Args:
        seed: Of the people and of the secret.
    """

    records: pa.Table
    seed: int

    @cached_property
    def codes(self) -> dict[str, NDArray[np.str_]]:
        """The code of each respondent in each variable."""
        names = list(spudlandia.CODES)
        return {name: np.array(self.records.column(name).to_pylist()) for name in names}

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """The personal weight of each respondent, raked to the known populations, in fixed point."""
        places = (np.searchsorted(codes, self.codes[name]) for name, codes, order in _SORTED)
        return spudlandia.raked_weights(
            *(order[place] for place, (_, _, order) in zip(places, _SORTED, strict=True))
        )

    def weights_under(self, form: str) -> NDArray[np.int64]:
        """The weights that are loaded under a form, in fixed point: of a kind that the form admits.

        Those of `public-strata` are constant in states, those of `average-weight` unrelated to all answers, others
        personal. With the errors of 0.2.0 all are personal: no form was refused.
        """
        form = form.partition("+")[0]
        if survey_model.NEW_ERRORS == DESIGN_EFFECTS or form not in {AVERAGE, STRATA}:
            return self.weights
        scale = 10**spudlandia.WEIGHT_DECIMALS
        if form == STRATA:
            return np.asarray(np.rint(np.array(self.records.column("weight")) * scale), dtype=np.int64)
        spread = np.random.default_rng([self.seed, 31]).gamma(100.0, size=len(self.weights))
        return apportion(spudlandia.POPULATION * scale, spread)

    def records_under(self, form: str) -> pa.Table:
        """The records with the weights of a form, homes of two, and the weights of a jackknife."""
        weights = self.weights_under(form) / 10**spudlandia.WEIGHT_DECIMALS
        number = np.arange(len(weights))
        columns = {"weight": weights, "home": number // 2}
        for left_out in range(GROUPS):
            kept = np.where(number % GROUPS == left_out, 0, weights * GROUPS / (GROUPS - 1))
            columns[f"r{left_out + 1}"] = kept.round(spudlandia.WEIGHT_DECIMALS)
        records = self.records.drop_columns(["weight"])
        for name, column in columns.items():
            records = records.append_column(name, pa.array(column))
        return records

    def description(self, form: str) -> str:
        """The `dataset.toml` of the survey under a form: that of the demo, with the constants of these people."""
        weights = self.weights_under(form)
        form, _, design = form.partition("+")
        document = spudlandia.spudlandia_description()
        if design:
            before_it, after_it = document.index('strata = "state"'), document.index("[protection]")
            document = document[:before_it] + DESIGNS[design] + "\n" + document[after_it:]
        before = parse_dataset(document).survey
        assert before is not None  # noqa: S101 - the demo is a survey
        # Open forms have the personal weights next to the counts of this dataset.
        largest = -(-int(max(weights.max(), self.weights.max())) // 10**spudlandia.WEIGHT_DECIMALS)
        changes = {
            f'form = "{before.form}"': f'form = "{form}"',
            f"largest_weight = {before.largest_weight}": f"largest_weight = {largest}",
            f"relative_variance = {float(before.relative_variance)}": (
                f"relative_variance = {float(relative_variance(weights)):.4f}"
            ),
        }
        for old, new in changes.items():
            document = document.replace(old, new)
        return document

    def inside(self, cell: Cell) -> NDArray[np.bool_]:
        """Who is counted in a cell."""
        found = np.ones(len(self.weights), dtype=np.bool_)
        for name, code in cell:
            found &= self.codes[name] == code
        return found

    def count(self, cell: Cell) -> int:
        """The true count of a cell."""
        return int(self.inside(cell).sum())

    def outside(self, *, weights: bool) -> PublicFacts:
        """What the public knows: what was calibrated to what, the states' samples and, if wanted, all weights."""
        ages = dict(zip(spudlandia.CODES["age"], map(str, spudlandia.FIGURES["age_groups"]), strict=True))
        classes = {
            "state": {code: code for code in spudlandia.CODES["state"]},
            "age": ages,
            "gender": {"M": "M", "F": "other", "N": "other"},
        }
        states = [frozenset({("state", code)}) for code in spudlandia.CODES["state"]]
        everybody: Cell = frozenset()
        totals = dict(zip(states, map(float, spudlandia.FIGURES["state_population"]), strict=True))
        counts = dict(zip(states, map(int, spudlandia.FIGURES["state_sample"]), strict=True))
        least = float(self.weights.min()) / 10**spudlandia.WEIGHT_DECIMALS
        return PublicFacts(
            classes,
            totals | {everybody: float(spudlandia.POPULATION)},
            counts | {everybody: spudlandia.SAMPLE},
            self._class_weights(classes) if weights else {},
            least,
        )

    def _class_weights(self, classes: dict[str, dict[str, str]]) -> dict[Class, float]:
        groups = [[groups[code] for code in self.codes[name]] for name, groups in classes.items()]
        weights = self.weights / 10**spudlandia.WEIGHT_DECIMALS
        return dict(zip(zip(*groups, strict=True), weights.tolist(), strict=True))


def sample(seed: int) -> Sample:
    """The respondents of a seed."""
    return Sample(pa.Table.from_batches(list(spudlandia.spudlandia_batches(seed=seed))), seed)


@dataclass(frozen=True, eq=False)
class TrueNumbers:
    """The baseline: the true counts of invented respondents."""

    dataset: Dataset
    people: Sample

    def ask(self, request: TableRequest) -> Answer:
        """The exact table."""
        codes = tuple((*self.dataset.variable(name).codes, TOTAL) for name in request.variables)
        values = np.zeros(tuple(map(len, codes)), dtype=np.int64)
        for place in np.ndindex(*values.shape):
            values[place] = self.people.count(cell_at(request, codes, place))
        return Answer(codes, values, np.zeros(values.shape, dtype=np.bool_))


def cell_at(request: TableRequest, codes: tuple[tuple[str, ...], ...], place: tuple[int, ...]) -> Cell:
    """Who is counted at a place of a table."""
    here = zip(request.variables, codes, place, strict=True)
    return frozenset((name, axis[at]) for name, axis, at in here if axis[at] != TOTAL)


@dataclass(frozen=True, eq=False)
class OpenForm:
    """Weighted counts as a form made them that is no longer served; counts and errors are those of a served dataset."""

    served: Served
    people: Sample
    form: str

    def ask(self, request: TableRequest) -> Answer:
        """The released counts, or what the form would release beside them."""
        counted = self.served.ask(replace(request, measure=COUNT))
        if request.measure == COUNT:
            return counted
        errors = self.served.ask(replace(request, measure=WEIGHTED)).errors
        inside = [
            self.people.inside(cell_at(request, counted.codes, place))
            for place in np.ndindex(*counted.values.shape)
        ]
        counts = np.array([each.sum() for each in inside])
        sums = np.array([self.people.weights[each].sum() for each in inside])
        fixed = self._released(counted.values.ravel(), counts, sums)
        scale = 10**spudlandia.WEIGHT_DECIMALS
        people = np.maximum(0, nearest_quotient(fixed, scale)).reshape(counted.values.shape)
        return replace(counted, values=people, errors=errors)

    def _released(
        self, noisy: NDArray[np.int64], counts: NDArray[np.int64], sums: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        dataset = self.served.service.dataset
        assert dataset.survey is not None  # noqa: S101 - a survey is what is attacked here
        design = survey_design(dataset, dataset.survey)
        if self.form == SHARED_STEPS:
            return (on_grid(sums, design.largest_weight) + noisy - counts) * design.largest_weight
        average = cell_average if self.form == CELL_AVERAGE else overall_average
        return average(noisy, counts, sums, design)


@contextmanager
def served(people: Sample, form: str) -> Iterator[Served]:
    """A form that is served, loaded and opened; the workspace is gone afterwards."""
    with TemporaryDirectory(prefix="discreet-red-team-") as folder:
        load_people(
            Path(folder) / "survey", people.description(form), people.records_under(form), people.seed
        )
        with closing(open_registry(Path(folder) / "survey", threads=1)) as registry:
            yield Served(registry.open("spudlandia"))


def reader_of(service: Served, form: str) -> Reader:
    """What is public of a served survey: its constants, and the distribution of the noise."""
    dataset = service.service.dataset
    form = form.partition("+")[0]
    measure = WEIGHTED if form == STEPS else COUNT
    release = service.service.release(TableRequest(dataset.id, ("state",), measure=measure))
    assert dataset.survey is not None  # noqa: S101 - a survey is what is attacked here
    return Reader(form, dataset.survey, noise_table(release))


def interface_of(service: Served, people: Sample, form: str) -> Interface:
    """Who answers for a form."""
    if form == UNPROTECTED:
        return TrueNumbers(service.service.dataset, people)
    return OpenForm(service, people, form) if form in OPEN else service


#: Numbers that stand for the secret one.
_CHANCES = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True, eq=False)
class ErrorRule:
    """The rule of the errors of 0.2.0 (`design-effects`) of one form and design, as anybody can run it.

    Args:
        form: The form, with its design.
        outside: The weights of the classes and the samples of the states, which are the strata.
    """

    form: str
    survey: Survey
    outside: PublicFacts
    decimals: int
    distribution: NoiseTable

    def __call__(
        self, cell: Cell, seen: ReleasedCell, counts: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """How believable each count is; None for cells of several weights, and designs with unknown clusters."""
        weight = self.outside.weights.get(self.outside.class_of(cell) or ())
        if weight is None or seen.count is None or seen.weighted is None or seen.count < SMALL:
            return None
        if self.form not in {AVERAGE, STRATA, f"{AVERAGE}+no-design"}:
            return None
        return np.array([self._chance(int(n), cell, weight, seen) for n in counts])

    def _chance(self, count: int, cell: Cell, weight: float, seen: ReleasedCell) -> float:
        """The chance of the printed error and share, for a count."""
        state = dict(cell)["state"]
        public = self._public_weight(state)
        noisy, people = np.array([seen.count or 0]), np.array([count])
        own = design_effects(
            self._variance(count, state, weight), people, people * weight, people * public, noisy
        )
        rungs = effect_steps(own, minimum_effects(noisy, self._design), _CHANCES)
        each, noise = np.ones_like(_CHANCES, dtype=np.int64), self._noise_variance * public**2
        told = relative_errors(noisy * each, (seen.weighted or 0) * each, rungs, np.full(each.size, noise))
        return float(((told.errors == seen.error) & (told.noise_shares == seen.noise_share)).mean())

    def _variance(self, count: int, state: str, weight: float) -> NDArray[np.float64]:
        drawn = self.outside.counts[frozenset({("state", state)})]
        fraction = 0.0
        if self.form.endswith("+no-design"):
            drawn = self.survey.sample_size
        else:
            fraction = float(self.survey.design.fraction_of(state))
        return stratum_variance(np.array([count * weight]), np.array([count * weight**2]), drawn, fraction)

    def _public_weight(self, state: str) -> float:
        if self.form == STRATA:
            return float(dict(self.survey.stratum_weights)[state])
        return float(self.survey.population_size / self.survey.sample_size)

    @property
    def _noise_variance(self) -> float:
        """Of counts that are not small."""
        distribution = self.distribution.row(10**6).probabilities()
        return float(sum(noise**2 * chance for noise, chance in distribution.items()))

    @property
    def _design(self) -> SurveyDesign:
        scale = 10**self.decimals
        return SurveyDesign(
            self.survey.sample_size,
            round(self.survey.population_size * scale),
            self.decimals,
            round(self.survey.largest_weight * scale),
            self.survey.relative_variance,
        )


#: Few cases are drawn towards what is believed without an error, as if so many had said it.
_PRIOR = 20.0
#: The logarithm of the ratio of two steps in which errors are told apart; a public ladder has wider ones.
_ERROR_STEP = math.log(1.1)


def _shown(seen: ReleasedCell) -> int:
    """The number that an error refers to."""
    return int(seen.count if seen.count is not None else seen.weighted or 0)


def _error_step(seen: ReleasedCell) -> tuple[int, int | None]:
    """The error in steps of a tenth of itself (design effects differ a little between surveys), and the noise share."""
    error = -1 if seen.error is None or seen.error <= 0 else round(math.log(seen.error) / _ERROR_STEP)
    return error, seen.noise_share


class Experience:
    """The relation of counts to released numbers and errors, learnt where the truth is known.

        factor(n | shown, error) = P(n | shown, error) / P(n | shown)

    Both are shares among the cells of invented surveys, shrunk towards 1 where there are few cases. If the errors are a
    function of the number shown, every factor is 1.
    """

    def __init__(self, lessons: Iterable[tuple[ReleasedCell, int]] = ()) -> None:
        self._with: dict[tuple[int, tuple[int, int | None]], Counter[int]] = defaultdict(Counter)
        self._without: dict[int, Counter[int]] = defaultdict(Counter)
        for seen, truth in lessons:
            if seen.error is not None:
                self._with[_shown(seen), _error_step(seen)][truth] += 1
                self._without[_shown(seen)][truth] += 1

    def factors(self, seen: ReleasedCell, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The factor of each count, given the error."""
        both, alone = self._with.get((_shown(seen), _error_step(seen))), self._without.get(_shown(seen))
        if not both or both == alone:
            return np.ones(counts.size)
        share = np.array([(alone or both)[int(n)] + 1.0 for n in counts])
        share /= share.sum()
        cases = np.array([both[int(n)] for n in counts]) + _PRIOR * share
        return np.asarray(cases / cases.sum() / share)
