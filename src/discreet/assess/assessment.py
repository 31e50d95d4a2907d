"""The assessment of one table under many cases: risk, utility, the conclusions of readers, and its pictures.

    dataset + request -> subject;   families + epsilons -> cases
    each case -> exact audit, exact expectations, simulated releases -> outcome

It is made from true counts, so it is confidential, and choosing a case by it is outside any claim of differential privacy.
Source: Shlomo, Krenzke & Li (2019), section 3.5, for the risk-utility map.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import privacy
from discreet.assess.risk_utility import (
    SMALL,
    Averaging,
    Expectations,
    averaging_factor,
    entropy,
    exact_expectations,
)
from discreet.assess.simulation import Summary, analyse, simulate, summary
from discreet.assess.subject import Case, Subject, cases_of, subject_of
from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import LEVEL
from discreet.model.messages.text import nearest
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.noise.table import NO_NOISE, NoiseTable
from discreet.release.dataset_registry import DatasetService, unlock_service

DEFAULT_FAMILIES = ("laplace", "normal", "maxent", "pram", "dropadd", "current")
DEFAULT_EPSILONS = (0.1, 0.5, 1.0, 2.0)
DEFAULT_DELTA = 1e-4
DEFAULT_REPS = 100
DEFAULT_SEED = 2018
MOST_REPS = 10_000

CONFIDENTIAL = (
    "CONFIDENTIAL: this assessment is made from true counts. It is for the custodian, not for publication."
)
OUTSIDE_DP = (
    "Choosing a case by this assessment is itself a use of the data: it lies outside any claim of differential "
    "privacy. For a claim that holds, choose on public or earlier data, or before looking."
)
NOT_THE_KEYS = (
    "Noise is drawn by a seeded generator from the noise tables. The workspace's secret and the real keys are not "
    "used, so nothing here tells what noise a published table has."
)
INDEPENDENT = (
    "Inner cells only, each perturbed on its own; what additivity, rules or weights do to a table afterwards is "
    "not in the figures."
)


@dataclass(frozen=True, slots=True)
class Privacy:
    """The exact audit of one count, for one person added or removed.

    `delta` is exact at `epsilon` (the requested one, or 1), `epsilon_at` the smallest at the assessment's delta, infinite
    where there is none: for the worst count, and `_above` the largest change, D. `sd` is the largest standard deviation of
    the noise of any count.
    """

    epsilon: float
    delta: float
    delta_above: float
    epsilon_at: float
    epsilon_above: float
    largest: int
    sd: float


@dataclass(frozen=True, slots=True)
class Truth:
    """Statistics of the true table; the tests are None for a table with one row or column."""

    people: int
    entropy: float
    chi_square: float | None = None
    df: int | None = None
    p_value: float | None = None
    likelihood_ratio: float | None = None
    cramers_v: float | None = None

    @property
    def associated(self) -> bool | None:
        """Whether the true table rejects independence at 5 %."""
        return None if self.p_value is None else self.p_value <= LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of one case: the exact audit, exact expectations, and simulated measures, where they apply.

    `same_naive` and `same_aware` are the shares of releases whose naive and noise-aware test agree with the true table;
    `draws` are all simulated values, for pictures.
    """

    case: Case
    privacy: Privacy
    expected: Expectations
    simulated: Mapping[str, Summary]
    same_naive: float | None
    same_aware: float | None
    draws: Mapping[str, NDArray[np.float64]] = field(repr=False)

    @property
    def tested(self) -> int:
        """The number of releases with a noise-aware test."""
        found = self.simulated.get("aware_p_value")
        return found.releases if found else 0


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """A table under every case. Confidential."""

    title: str
    sides: tuple[str, str, str]
    refusal: str | None
    delta: float
    reps: int
    seed: int
    truth: Truth
    outcomes: tuple[Outcome, ...]
    left_out: tuple[str, ...] = ()
    averaging: Averaging | None = None
    dataset: str = ""
    digest: str = ""
    query: str = ""

    def unbeaten(self) -> tuple[Outcome, ...]:
        """The cases that no other beats on the risk-utility map, with lower RM and smaller Hellinger distance."""
        places = [(_mean(o, "rm"), _mean(o, "hellinger")) for o in self.outcomes]
        return tuple(
            outcome
            for outcome, (risk, loss) in zip(self.outcomes, places, strict=True)
            if not any(r <= risk and h <= loss and (r, h) != (risk, loss) for r, h in places)
        )

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain data; infinite and unknown values are null."""
        document = {
            "confidential": CONFIDENTIAL,
            "caution": OUTSIDE_DP,
            "dataset": self.dataset,
            "version": self.digest,
            "query": self.query,
            "title": self.title,
            "refusal": self.refusal,
            "delta": self.delta,
            "reps": self.reps,
            "seed": self.seed,
            "neighbours": "add-remove",
            "truth": asdict(self.truth),
            "averaging": None if self.averaging is None else asdict(self.averaging),
            "settings": [_outcome_json(outcome) for outcome in self.outcomes],
            "unbeaten": [outcome.case.label for outcome in self.unbeaten()],
            "left_out": list(self.left_out),
        }
        return {key: _plain(value) for key, value in document.items()}


def assess(
    service: DatasetService,
    request: TableRequest,
    *,
    families: Sequence[str] = DEFAULT_FAMILIES,
    epsilons: Sequence[float] = DEFAULT_EPSILONS,
    delta: float = DEFAULT_DELTA,
    keep_zeros: bool = False,
    reps: int = DEFAULT_REPS,
    seed: int = DEFAULT_SEED,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Assessment:
    """Assess one table of a dataset under every case.

    `families` are names, `current` for the dataset's own noise, or files of noise tables. `keep_zeros` leaves empty cells
    unperturbed in every family. `workers` are threads, on which the result does not depend.
    """
    stored = unlock_service(service)
    # The dataset's own noise for the inner cells of the table, if it is one noise table.
    asked = canonical(replace(request, totals=False), stored.dataset)
    distributions = stored.protector.distribution(table_shape(asked, stored.dataset)).distributions
    noisy = [each for each in distributions if each != NO_NOISE]
    current = noisy[0] if len(noisy) == 1 and isinstance(noisy[0], NoiseTable) else None
    cases, left_out = cases_of(families, epsilons, delta, current=current, keep_zeros=keep_zeros)
    subject, ways = subject_of(service, request), averaging_factor(stored, request)
    found = assess_subject(
        subject, cases, delta=delta, reps=reps, seed=seed, workers=workers, progress=progress
    )
    dataset, digest, query = stored.dataset.id, stored.digest, request.permalink
    return replace(found, left_out=left_out, averaging=ways, dataset=dataset, digest=digest, query=query)


def assess_subject(
    subject: Subject,
    cases: Sequence[Case],
    *,
    delta: float = DEFAULT_DELTA,
    reps: int = DEFAULT_REPS,
    seed: int = DEFAULT_SEED,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Assessment:
    """Assess given counts: a paper's table, a simulated one."""
    if not 2 <= reps <= MOST_REPS:
        raise BadRequest(f"--reps is {reps}.", f"Give a whole number from 2 to {MOST_REPS:,}.")
    if seed < 0:
        raise BadRequest(f"--seed is {seed}.", "Give a whole number, not below zero.")
    if not subject.flat.sum():
        raise BadRequest("Nobody is in this table.", "Choose other categories or filters.")
    tables = [case.noise for case in cases]
    draws = simulate(subject, tables, reps, seed, workers=workers, progress=progress)
    people, spread = int(subject.flat.sum()), float(entropy(subject.flat))
    truth = Truth(people, spread)
    if subject.two_way:
        found = analyse(subject.counts[None], subject.possible)
        statistics = (found.pearson, found.df, found.p_value, found.ratio, found.association)
        truth = Truth(people, spread, *(each[0].item() for each in statistics))
    outcomes = tuple(
        _outcome(subject, case, drawn, truth, delta) for case, drawn in zip(cases, draws, strict=True)
    )
    title, sides, refusal = subject.title, subject.sides, subject.refusal
    return Assessment(title, sides, refusal, delta, reps, seed, truth, outcomes)


def privacy_of(noise: NoiseTable, epsilon: float | None, delta: float) -> Privacy:
    """The exact audit of a noise table at an epsilon, and at a delta."""
    at = 1.0 if epsilon is None else epsilon
    by_epsilon, by_delta = privacy.audit(noise, epsilon=at), privacy.audit(noise, delta=delta)
    deltas = float(by_epsilon.delta), float(by_epsilon.above_D.delta)
    sd = math.sqrt(max(row.variance() for row in noise.rows))
    return Privacy(at, *deltas, by_delta.epsilon, by_delta.above_D.epsilon, noise.largest, sd)


def _outcome(
    subject: Subject, case: Case, draws: dict[str, NDArray[np.float64]], truth: Truth, delta: float
) -> Outcome:
    summaries = {name: summary(values) for name, values in draws.items()}
    return Outcome(
        case,
        privacy_of(case.noise, case.epsilon, delta),
        exact_expectations(subject.flat, case.noise, clip=subject.clip),
        {name: found for name, found in summaries.items() if found is not None},
        _same(draws.get("p_value"), truth),
        _same(draws.get("aware_p_value"), truth),
        draws,
    )


def _same(p_values: NDArray[np.float64] | None, truth: Truth) -> float | None:
    """The share of releases whose test agrees with the true table."""
    known = np.array([]) if p_values is None else p_values[np.isfinite(p_values)]
    if not known.size or truth.associated is None:
        return None
    return float(((known <= LEVEL) == truth.associated).mean())


def _mean(outcome: Outcome, name: str) -> float:
    found = outcome.simulated.get(name)
    return math.inf if found is None else found.mean


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "label": case.label,
        "family": case.family,
        "epsilon": case.epsilon,
        "how": case.how,
        "zeros": case.zeros,
        "privacy": asdict(outcome.privacy),
        "expected": asdict(outcome.expected),
        "simulated": {name: asdict(found) for name, found in outcome.simulated.items()},
        "same_conclusion": {
            "naive": outcome.same_naive,
            "noise_aware": outcome.same_aware,
            "releases_tested": outcome.tested,
        },
    }


def _plain(value: Any) -> Any:
    """The value with None for infinities and NaN."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


#: Titles of the box plots by measure.
BOXES = {
    "l1": "Mean absolute error of a cell",
    "hellinger": "Hellinger distance",
    "cramers_v": "Cramér's V, naive (dashed: true)",
    "total_variation": "Total variation of the MLEs",
    "chi_square": "Chi-square statistic (dashed: true)",
    "p_value": "p-value of independence (dashed: true)",
}
#: Axes of the box plots; logarithmic by default.
SCALES = {"p_value": "share", "cramers_v": "plain"}


def figure(found: Assessment, name: str) -> Any:
    """A picture by its name, as a chart."""
    if name not in FIGURES:
        raise BadRequest(f'There is no picture "{name}".', nearest(name, FIGURES))
    chart = draw(found, name)
    if chart is None:
        raise BadRequest(
            f'This table has no picture "{name}".', "Tests need a table with two sides: rows and columns."
        )
    return chart


def draw(found: Assessment, name: str) -> Any:
    """A picture as a chart; None if this table does not have it."""
    from discreet.pictures import assessment_charts  # noqa: PLC0415 - pictures are an extra

    return FIGURES[name](found, assessment_charts)


def boxes(found: Assessment, pictures: Any) -> Any:
    """Box plots by epsilon."""
    measures = []
    for measure in BOXES:
        highs = [o.simulated[measure].high for o in found.outcomes if measure in o.simulated]
        if highs and (
            measure != "p_value" or max(highs) > LEVEL
        ):  # p-values that are all close to 0 tell nothing
            measures.append(measure)
    ordered = sorted(found.outcomes, key=lambda o: (o.case.epsilon is None, o.case.epsilon or 0.0))
    records = [box for measure in measures for o in ordered for box in _box(o, measure)]
    truths = [
        {"measure": BOXES[m], "value": value}
        for m in measures
        if (value := getattr(found.truth, m, None)) is not None
    ]
    subtitle = (
        f"{found.reps} simulated releases each: median, quartiles, and lines from the 5 % to the 95 % point"
    )
    # Families in the order of the assessment, because the first record of each decides.
    order, places, titles = (
        list(dict.fromkeys(each))
        for each in ((o.case.family for o in found.outcomes), (r["place"] for r in records), BOXES.values())
    )
    records.sort(
        key=lambda r: (titles.index(r["measure"]), places.index(r["place"]), order.index(r["family"]))
    )
    return pictures.boxes(records, truths, subtitle)


def _box(outcome: Outcome, measure: str) -> list[dict[str, Any]]:
    values = outcome.draws.get(measure)
    if measure not in outcome.simulated or values is None:
        return []
    per_cell = outcome.expected.cells if measure == "l1" else 1
    marks = np.quantile(values[np.isfinite(values)] / per_cell, (0.05, 0.25, 0.5, 0.75, 0.95))
    names = ("low", "lower", "median", "upper", "high")
    epsilon = outcome.case.epsilon
    place = "no epsilon" if epsilon is None else f"{epsilon:g}"
    return [
        {"measure": BOXES[measure], "family": outcome.case.family, "place": place}
        | {"scale": SCALES.get(measure, "log")}
        | {name: float(mark) for name, mark in zip(names, marks, strict=True)}
    ]


def risk_utility_map(found: Assessment, pictures: Any) -> Any:
    """The risk-utility map; None where RM is undefined."""
    unbeaten = {id(outcome) for outcome in found.unbeaten()}
    records = [
        {
            "family": o.case.family,
            "place": "" if o.case.epsilon is None else f"{o.case.epsilon:g}",
            "loss": o.simulated["hellinger"].mean,
            "risk": o.simulated["rm"].mean,
            "order": o.case.epsilon or 0.0,
            "unbeaten": id(o) in unbeaten,
        }
        for o in found.outcomes
        if "rm" in o.simulated
    ]
    subtitle = "Means of the simulated releases; numbers are epsilons. Right and low is best."
    return pictures.risk_utility(records, subtitle) if records else None


def confirmation(found: Assessment, pictures: Any) -> Any:
    """Of the cells shown with a small count, the share that has it."""
    records = [
        _bar(o, o.expected.confirmation_small, none=f"none shown from 1 to {SMALL}") for o in found.outcomes
    ]
    subtitle = f"Of the cells shown as 1 to {SMALL}, how many are what they show; exact expectations"
    title, axis = "Small counts that a reader can believe", "Shown small counts that are true"
    return pictures.shares(records, title, axis, subtitle, most=1.0)


def false_zeros(found: Assessment, pictures: Any) -> Any:
    """Cells with people that are shown empty."""
    records = [_bar(o, o.expected.false_zero_share) for o in found.outcomes]
    occupied = found.outcomes[0].expected.occupied
    subtitle = f"Share of the {occupied:,} cells with people that are shown as zero; exact expectations"
    return pictures.shares(records, "False zeros", "Cells with people shown as zero", subtitle)


def _bar(outcome: Outcome, share: float | None, none: str = "") -> dict[str, Any]:
    note = none if share is None else f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
    about = {"case": outcome.case.label, "family": outcome.case.family}
    return about | {"share": share, "end": share or 0.0, "note": note}


def conclusions(found: Assessment, pictures: Any) -> Any:
    """The results of readers' tests; None for a table with one row or column."""
    if found.truth.p_value is None:
        return None
    records = [
        {"case": o.case.label, "reader": reader, "share": share}
        for o in found.outcomes
        for reader, share in (("naive", o.same_naive), ("noise-aware", o.same_aware))
        if share is not None
    ]
    verdict = "are associated" if found.truth.associated else "show no association"
    said = [f"{found.sides[0]} and {found.sides[1]} {verdict} in the true table, at 5 %."]
    if found.truth.associated:
        said.append("A naive reader finds an association in noise, too: agreeing is no merit here.")
    return pictures.conclusions(records, said)


FIGURES: dict[str, Callable[[Assessment, Any], Any]] = {
    "map": risk_utility_map,
    "boxes": boxes,
    "confirmation": confirmation,
    "zeros": false_zeros,
    "conclusions": conclusions,
}
