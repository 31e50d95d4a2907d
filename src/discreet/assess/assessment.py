"""The assessment of one table under many cases: risk, utility, and the conclusions of readers.

    dataset + request -> subject;   families + epsilons -> cases
    each case -> exact audit, exact expectations, simulated releases -> outcome

It is made from true counts, so it is confidential, and choosing a case by it is outside any claim of differential privacy.
Source: Shlomo, Krenzke & Li (2019), section 3.5, for the risk-utility map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import privacy
from discreet.assess.risk_utility import (
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
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.noise.table import NO_NOISE, NoiseTable
from discreet.release.dataset_service import DatasetService, unlock_service
from discreet.workspace.workspace import StoredDataset

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

    Args:
        epsilon: The epsilon of `delta`: the requested one, or 1.
        delta: The exact delta there, for the worst count.
        delta_above: The same for counts above the largest change.
        epsilon_at: The smallest epsilon at the assessment's delta, for the worst count; infinite where there is none.
        epsilon_above: The same for counts above the largest change.
        largest: The largest change, D.
        sd: The largest standard deviation of the noise of any count.
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
    """The result of one case.

    Args:
        case: The case.
        privacy: The exact audit.
        expected: Exact expectations.
        simulated: Simulated measures, where they apply.
        same_naive: Share of releases whose naive test agrees with the true table.
        same_aware: The same of the noise-aware test.
        draws: Every simulated value, for pictures.
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

    dataset: str
    digest: str
    query: str
    title: str
    sides: tuple[str, str, str]
    refusal: str | None
    delta: float
    reps: int
    seed: int
    truth: Truth
    averaging: Averaging | None
    outcomes: tuple[Outcome, ...]
    left_out: tuple[str, ...] = ()

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
    door: DatasetService,
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

    Args:
        door: The dataset.
        request: The table.
        families: Noise families, `current` for the dataset's own, or files of noise tables.
        epsilons: For the families that have one.
        delta: The delta of these epsilons.
        keep_zeros: Do not perturb empty cells, in every family.
        reps: Simulated releases of each case.
        seed: Of the simulation: the same seed gives the same assessment.
        workers: Threads; the result does not depend on it.
        progress: Called with the number of chunks done and in total.
    """
    stored = unlock_service(door)
    current = current_noise(stored, request)
    cases, left_out = cases_of(families, epsilons, delta, current=current, keep_zeros=keep_zeros)
    return assess_subject(
        subject_of(door, request),
        cases,
        delta=delta,
        reps=reps,
        seed=seed,
        workers=workers,
        progress=progress,
        dataset=stored.dataset.id,
        digest=stored.digest,
        query=request.permalink,
        ways=averaging_factor(stored, request),
        left_out=left_out,
    )


def current_noise(stored: StoredDataset, request: TableRequest) -> NoiseTable | None:
    """The noise table of a dataset's own protection for the inner cells of a table; None where they differ."""
    asked = canonical(replace(request, totals=False), stored.dataset)
    laws = stored.protector.law(table_shape(asked, stored.dataset)).laws
    noisy = [law for law in laws if law != NO_NOISE]
    return noisy[0] if len(noisy) == 1 and isinstance(noisy[0], NoiseTable) else None


def assess_subject(
    subject: Subject,
    cases: Sequence[Case],
    *,
    delta: float = DEFAULT_DELTA,
    reps: int = DEFAULT_REPS,
    seed: int = DEFAULT_SEED,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    dataset: str = "",
    digest: str = "",
    query: str = "",
    ways: Averaging | None = None,
    left_out: tuple[str, ...] = (),
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
    truth = truth_of(subject)
    outcomes = tuple(
        _outcome(subject, case, drawn, truth, delta) for case, drawn in zip(cases, draws, strict=True)
    )
    return Assessment(
        dataset, digest, query, subject.title, subject.sides, subject.refusal, delta, reps, seed, truth,
        ways, outcomes, left_out,
    )  # fmt: skip


def truth_of(subject: Subject) -> Truth:
    """The statistics of the true table."""
    people, spread = int(subject.flat.sum()), float(entropy(subject.flat))
    if not subject.two_way:
        return Truth(people, spread)
    found = analyse(subject.counts[None], subject.possible)
    return Truth(
        people,
        spread,
        float(found.pearson[0]),
        int(found.df[0]),
        float(found.p_value[0]),
        float(found.ratio[0]),
        float(found.association[0]),
    )


def privacy_of(noise: NoiseTable, epsilon: float | None, delta: float) -> Privacy:
    """The exact audit of a noise table at an epsilon, and at a delta."""
    at = 1.0 if epsilon is None else epsilon
    by_epsilon, by_delta = privacy.audit(noise, epsilon=at), privacy.audit(noise, delta=delta)
    return Privacy(
        at,
        float(by_epsilon.delta),
        float(by_epsilon.above_D.delta),
        by_delta.epsilon,
        by_delta.above_D.epsilon,
        noise.largest,
        math.sqrt(max(row.variance() for row in noise.rows)),
    )


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
    """The share of releases whose test agrees with the true table at 5 %."""
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
    """The value with None for infinities and NaN, and named tuples as dictionaries."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
