"""Risk and utility of a weighted table under every form, served or not: the study of Shlomo, Krenzke & Li on a survey.

With W_k the weighted count of cell k, n_k its records, ñ_k the same with noise, p = ñ_k - n_k and w̄ = N/n:

    average-weight     ñ_k w̄                              served
    public-strata      Σ_h w_h ñ_kh                       served
    largest-weight     w_max (round(W_k / w_max) + noise)  served
    overall-average    W_k + p w̄                          of the paper (eq. 4), not served
    cell-average       W_k + p W_k / n_k                  of the paper (eq. 5), not served

The last two are the nearest to the truth because they release W_k but for the noise: who knows the noisy count n_k + p
has W_k modulo w̄, or the average weight of the cell, and with either the noise. RM does not see this.

Measures compare the released numbers b with W. Tests are Pearson's of independence, of the weighted counts as they are (the
paper's) and of the weighted counts times n/N, which have the size of the sample; neither allows for design or noise.

It is made from true counts, so it is confidential. Noise is drawn by a seeded generator.
Source: Shlomo, Krenzke & Li (2019), section 3; docs/methods/assessment.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.assess.assessment import CONFIDENTIAL, DEFAULT_REPS, DEFAULT_SEED, MOST_REPS, NOT_THE_KEYS
from discreet.assess.risk_utility import entropy, hellinger, risk
from discreet.assess.simulation import CHUNK, Summary, analyse, releases, summary
from discreet.assess.subject import Subject, sides_of, subject_of
from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import LEVEL, chi_square
from discreet.model.exact import Confidential
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.model.survey import OPEN_FORMS, Survey
from discreet.noise.table import NoiseTable
from discreet.records.tabulate import tabulate
from discreet.release.dataset_registry import DatasetService, unlock_service
from discreet.survey.form_choice import weight_report

Floats = NDArray[np.float64]

#: Why the forms of the paper are not served.
NOT_SERVED = "not served: its numbers undo the noise of the counts"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WeightedSubject(Confidential):
    """The true counts and weighted counts of a table, laid out as layers x rows x columns without totals.

    Args:
        subject: The numbers of records.
        people: The weighted counts.
        average: The average weight, N/n.
        largest: The largest weight.
        by_stratum: The numbers of records by stratum, strata first; None without strata.
        stratum_weights: The public weight of each stratum.
        own_stratum: Which strata can be in each cell, like `by_stratum`.
    """

    subject: Subject
    people: Floats
    average: float
    largest: float
    by_stratum: NDArray[np.int64] | None = None
    stratum_weights: Floats = field(default_factory=lambda: np.ones(0))
    own_stratum: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FormOutcome:
    """A form: why it is not served, or empty; its simulated measures; and the shares of releases that test as the truth."""

    form: str
    refused: str
    simulated: Mapping[str, Summary]
    same_conclusion: float | None


@dataclass(frozen=True, slots=True, eq=False)
class FormsAssessment:
    """A weighted table under every form. Confidential; `truth` has the statistics of the true weighted counts."""

    dataset: str
    version: str
    query: str
    title: str
    refusal: str | None
    reps: int
    seed: int
    declared: str
    proposed: str
    truth: Mapping[str, float | None]
    outcomes: tuple[FormOutcome, ...]

    def shift(self, outcome: FormOutcome, name: str) -> float | None:
        """The mean of a statistic over the releases, less that of the truth."""
        true, found = self.truth.get(name), outcome.simulated.get(name)
        return None if true is None or found is None else found.mean - true

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain data."""
        return {
            "confidential": CONFIDENTIAL,
            "about_noise": NOT_THE_KEYS,
            "dataset": self.dataset,
            "version": self.version,
            "query": self.query,
            "title": self.title,
            "refusal": self.refusal,
            "reps": self.reps,
            "seed": self.seed,
            "declared": self.declared,
            "proposed": self.proposed,
            "truth": dict(self.truth),
            "forms": [
                {
                    "form": each.form,
                    "refused": each.refused or None,
                    "simulated": {name: asdict(found) for name, found in each.simulated.items()},
                    "shift": {name: self.shift(each, name) for name in TESTS},
                    "same_conclusion": each.same_conclusion,
                }
                for each in self.outcomes
            ],
        }


def forms_map(found: FormsAssessment) -> Any:
    """The risk-utility map with a point for each form, as a chart; RM is undefined where all people are in one cell."""
    from discreet.pictures.assessment_charts import risk_utility  # noqa: PLC0415 - pictures are an extra

    records = [
        {
            "family": each.form,
            "place": "not served" if each.refused == NOT_SERVED else "refused" if each.refused else "",
            "loss": each.simulated["hellinger"].mean,
            "risk": each.simulated["rm"].mean,
            "order": 0.0,
        }
        for each in found.outcomes
        if "rm" in each.simulated
    ]
    if not records:
        raise BadRequest("This table has no map: all people are in one cell.", "Choose other variables.")
    subtitle = "Confidential. Means of the simulated releases of weighted counts. Right and low is best."
    return risk_utility(records, subtitle)


#: The statistics of tests: of the weighted counts, and of the weighted counts at the size of the sample.
TESTS = ("chi_square", "p_value", "chi_square_of_sample", "p_value_of_sample")


def assess_forms(
    service: DatasetService, request: TableRequest, *, reps: int = DEFAULT_REPS, seed: int = DEFAULT_SEED
) -> FormsAssessment:
    """Assess a table of a survey under the cell key method, in every form."""
    stored = unlock_service(service)
    dataset, survey = stored.dataset, stored.dataset.survey
    if survey is None or dataset.protection.is_dp:
        raise BadRequest(
            f'The forms of "{dataset.id}" cannot be compared: it has no [survey], or its method is dp.',
            "Assess its counts: measure count.",
        )
    noise = stored.protector.tables[0]
    report = weight_report(dataset, stored.engine, noise)
    by_form = {each.survey.form: each for each in report.forms}
    strata = by_form["public-strata"].survey if "public-strata" in by_form else None
    subject = _weighted_subject(service, request, survey, strata)
    refused = {form: each.refused for form, each in by_form.items()} | dict.fromkeys(OPEN_FORMS, NOT_SERVED)
    truth, outcomes = assess_weighted(subject, noise, refused, reps=reps, seed=seed)
    return FormsAssessment(
        dataset.id,
        stored.digest,
        request.permalink,
        subject.subject.title,
        subject.subject.refusal,
        reps,
        seed,
        survey.form,
        report.proposed.survey.form,
        truth,
        outcomes,
    )


def assess_weighted(
    subject: WeightedSubject,
    noise: NoiseTable,
    refused: Mapping[str, str],
    *,
    reps: int = DEFAULT_REPS,
    seed: int = DEFAULT_SEED,
) -> tuple[Mapping[str, float | None], tuple[FormOutcome, ...]]:
    """The statistics of the truth, and the outcome of each form; `refused` has the forms, and why one is not served."""
    if not 2 <= reps <= MOST_REPS:
        raise BadRequest(f"--reps is {reps}.", f"Give a whole number from 2 to {MOST_REPS:,}.")
    if seed < 0:
        raise BadRequest(f"--seed is {seed}.", "Give a whole number, not below zero.")
    counts = subject.subject
    if not counts.flat.sum():
        raise BadRequest("Nobody is in this table.", "Choose other categories or filters.")
    exact = {name: float(each[0]) for name, each in _tests(subject, subject.people[None]).items()}
    people = subject.people[counts.possible]
    truth: dict[str, float | None] = {"people": float(people.sum()), "records": int(counts.flat.sum())}
    truth |= {"entropy": float(entropy(people)), **exact}
    forms = [form for form in refused if form != "public-strata" or subject.by_stratum is not None]
    drawn: dict[str, list[dict[str, Floats]]] = {form: [] for form in forms}
    for start in range(0, reps, CHUNK):
        values = dict(_released(subject, noise, min(CHUNK, reps - start), seed, start))
        for form, parts in drawn.items():
            parts.append(_measures(subject, *values[form]))
    outcomes = []
    for form, parts in drawn.items():
        draws = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        found = {name: summary(each) for name, each in draws.items()}
        same = None
        if "p_value_of_sample" in draws and np.isfinite(exact["p_value_of_sample"]):
            associated = exact["p_value_of_sample"] <= LEVEL
            same = float(((draws["p_value_of_sample"] <= LEVEL) == associated).mean())
        known = {name: each for name, each in found.items() if each is not None}
        outcomes.append(FormOutcome(form, refused[form], known, same))
    return truth, tuple(outcomes)


def _released(
    subject: WeightedSubject, noise: NoiseTable, reps: int, seed: int, chunk: int
) -> Iterator[tuple[str, tuple[Floats, NDArray[np.bool_]]]]:
    """For each form the simulated numbers, and in which cells noise changed them; releases along the first axis."""
    counts, people = subject.subject, subject.people

    def noisy(of: Subject) -> NDArray[np.int64]:
        drawn = releases(of, noise, reps, seed, chunk)
        return np.maximum(drawn, 0) if counts.clip else drawn

    shown = noisy(counts)
    change = shown - counts.counts
    moved = change != 0
    yield "average-weight", (whole(shown * subject.average), moved)
    yield "overall-average", (whole(people + change * subject.average), moved)
    own = np.where(counts.counts > 0, people / np.maximum(counts.counts, 1), subject.average)
    yield "cell-average", (whole(people + change * own), moved)
    steps = whole(people / subject.largest).astype(np.int64)
    stepped = noisy(replace(counts, counts=steps))
    yield "largest-weight", (whole(stepped * subject.largest), np.asarray(stepped != steps))
    if subject.by_stratum is not None and subject.own_stratum is not None:
        flat = (-1, *counts.counts.shape[1:])
        split = subject.by_stratum
        drawn = noisy(
            replace(counts, counts=split.reshape(flat), possible=subject.own_stratum.reshape(flat))
        ).reshape((reps, *split.shape))
        values = np.tensordot(subject.stratum_weights, drawn, axes=(0, 1))
        yield "public-strata", (whole(values), np.asarray((drawn != split).any(axis=1)))


def whole(values: NDArray[np.floating[Any]]) -> Floats:
    """Whole people, halves away from zero.

    >>> whole(np.array([0.5, 1.49, -2.5])).tolist()
    [1.0, 1.0, -3.0]
    """
    return np.asarray(np.copysign(np.floor(np.abs(values) + 0.5), values), dtype=np.float64)


def _measures(subject: WeightedSubject, values: Floats, moved: NDArray[np.bool_]) -> dict[str, Floats]:
    possible = subject.subject.possible
    true, shown = subject.people[possible], values[:, possible]
    filled = true > 0
    relative = np.abs(shown[:, filled] - true[filled]) / true[filled]
    return {
        "perturbed": moved[:, possible].mean(axis=1),
        "changed": (np.abs(shown - true) > 0.5).mean(axis=1),
        "rm": risk(true, shown),
        "hellinger": hellinger(true, shown),
        "relative_error": np.median(relative, axis=1),
        "largest_relative_error": relative.max(axis=1),
        "total_error": np.abs(shown.sum(axis=1) / true.sum() - 1),
        **_tests(subject, values),
    }


def _tests(subject: WeightedSubject, values: Floats) -> dict[str, Floats]:
    """Pearson's test of each table of a batch; empty for a table with one side."""
    if not subject.subject.two_way:
        return {}
    found = analyse(values, subject.subject.possible)
    of_sample = found.pearson / subject.average
    return dict(
        zip(TESTS, (found.pearson, found.p_value, of_sample, chi_square(of_sample, found.df)), strict=True)
    )


def _weighted_subject(
    service: DatasetService, request: TableRequest, survey: Survey, strata: Survey | None
) -> WeightedSubject:
    """Count and weigh the table of a request, also by the strata of a form."""
    stored = unlock_service(service)
    dataset = stored.dataset
    subject = subject_of(service, replace(request, measure="count"))
    asked = canonical(replace(request, measure="count", totals=False), dataset)
    sums = _laid_out(service, asked, weights=True)[0]
    people = sums / 10.0**dataset.weight_decimals
    average, largest = float(survey.population_size) / survey.sample_size, float(survey.largest_weight)
    if strata is None or strata.stratum is None:
        return WeightedSubject(subject, people, average, largest)
    split = _by_stratum(service, asked, strata.stratum)
    if split is None:
        return WeightedSubject(subject, people, average, largest)
    listed, codes = dict(strata.stratum_weights), dataset.variable(strata.stratum).codes
    weights = np.array([float(listed[code]) for code in codes])
    return WeightedSubject(subject, people, average, largest, split[0], weights, split[1])


def _laid_out(
    service: DatasetService, asked: TableRequest, *, weights: bool = False, stratum: str | None = None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Counts or sums of weights as layers x rows x columns, and which can occur; with a stratum, strata come first."""
    stored = unlock_service(service)
    wider = asked if stratum is None else replace(asked, layers=(*asked.layers, stratum))
    wider = canonical(wider, stored.dataset)
    shape = table_shape(wider, stored.dataset)
    leaves = [dimension.leaves for dimension in shape.dimensions]
    rows, columns, layers = sides_of(asked)
    first = () if stratum is None else (stratum,)
    order = [wider.variables.index(name) for name in (*first, *layers, *rows, *columns)]
    lengths = dict(zip(wider.variables, map(len, leaves), strict=True))
    sides = [
        int(np.prod([lengths[name] for name in side], dtype=np.int64)) for side in (layers, rows, columns)
    ]
    exact, inner = tabulate(stored.engine, shape, weights=weights), np.ix_(*leaves)
    found = exact.weight_sums if weights else exact.counts
    if found is None:
        raise ValueError("weights were asked for")
    possible = ~structural_zeros(shape, stored.dataset)[inner]
    whole_shape = (*(lengths[name] for name in first), *sides)
    return (
        np.asarray(found[inner].transpose(order).reshape(whole_shape)),
        np.asarray(possible.transpose(order).reshape(whole_shape)),
    )


def _by_stratum(
    service: DatasetService, asked: TableRequest, stratum: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Counts by stratum, strata first, and where they can be; None if a category of the table has several strata."""
    dataset = unlock_service(service).dataset
    codes = dataset.variable(stratum).codes
    if stratum not in asked.variables:
        others = tuple(each for each in asked.filters if each[0] != stratum)
        split, possible = _laid_out(service, replace(asked, filters=others), stratum=stratum)
        kept = np.isin(codes, dict(asked.filters).get(stratum, codes))[:, None, None, None]
        return split * kept, possible & kept
    dimensions = table_shape(asked, dataset).dimensions
    axis = asked.variables.index(stratum)
    members = [dimensions[axis].members()[leaf] for leaf in dimensions[axis].leaves]
    if any(len(each) != 1 for each in members):
        return None
    lengths = [len(dimension.leaves) for dimension in dimensions]
    rows, columns, layers = sides_of(asked)
    order = [asked.variables.index(name) for name in (*layers, *rows, *columns)]
    counts, possible = _laid_out(service, asked)
    place = np.array([each[0] for each in members])[np.indices(lengths)[axis]]
    own = place.transpose(order).reshape(counts.shape) == np.arange(len(codes))[:, None, None, None]
    return counts * own, possible & own
