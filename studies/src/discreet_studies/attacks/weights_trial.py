"""Attacks on weighted tables, scored: counts, persons of unusual weight, and what published constants tell.

Counts: several invented surveys are attacked. For each the attack runs twice over the same tables: with counts alone,
and with everything that the form lets be asked. Scored are the share of counts found exactly, the counts that were
certain and whether they were right, and the gain: the mean over surveys of the difference between the two shares,
with the interval of Student's t. What errors tell is learnt from the other surveys.

The other two are in `outlying_trial.py` and `constants_trial.py`. `errors` chooses the definition of the printed
errors: that of 0.2.0, `design-effects`, is the wrong alternative that the attacks must find out.

Source: docs/methods/attack-weights.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import UNPROTECTED, Interface, QueryCache
from discreet.attacks.survey_weights import (
    CELL_AVERAGE,
    COUNT,
    OVERALL_AVERAGE,
    STEPS,
    WEIGHTED,
    Cell,
    Findings,
    PublicFacts,
    ReleasedCell,
    attack,
    query_tables,
)
from discreet.errors import BadRequest
from discreet.model import survey as survey_model
from discreet.model.messages.text import nearest
from discreet.model.request import TableRequest
from discreet.model.survey import DESIGN_EFFECTS, GENERALISED
from discreet_studies.attacks.constants_trial import constant_gains
from discreet_studies.attacks.outlying_trial import OUTLYING_FORMS, outlying_results
from discreet_studies.attacks.scoring import frame, mean_with_error, share
from discreet_studies.attacks.surveys import (
    AVERAGE,
    FORMS,
    SERVED,
    ErrorRule,
    Experience,
    Sample,
    interface_of,
    reader_of,
    sample,
    served,
)
from discreet_studies.attacks.targets import Served

#: The tables, in the order in which they are asked. All have the strata, so that they are asked under every form.
TABLES = (
    ("state", "age", "gender"),
    ("state", "gender", "likes"),
    ("state", "likes", "frequency"),
    ("state", "gender", "frequency"),
    ("state", "age", "likes"),
    ("state", "age", "frequency"),
)
#: The chance that a study calls a sound form open, all its points together, the gains of surveys being normal.
FALSE_ALARM = 1e-2
KNOWS = (
    "the description of the dataset: variables, form, largest and average weight, and the law of the noise",
    "that weights are made from state, age group and sex; for forms but cell-average and overall-average, all weights",
    "the populations of the states, which the weights add up to, and the sample of each state",
    "how errors are made, but for secret chances, and what the public formulas give for each count of a cell",
    "nothing of the other counts; surveys of other people, counted by the attacker, to learn from",
)


@contextmanager
def errors_of_new_loads(errors: str) -> Iterator[None]:
    """Load surveys with a definition of printed errors, as 0.2.0 did with `design-effects`."""
    before, survey_model.NEW_ERRORS = survey_model.NEW_ERRORS, errors
    try:
        yield
    finally:
        survey_model.NEW_ERRORS = before


@dataclass(frozen=True, slots=True)
class WeightsTrial:
    """What is to be tried.

    Args:
        tables: How many tables are asked of each, each in all measures.
        seed: Of the people and the secrets.
        errors: The definition of the printed errors: `generalised`, or `design-effects` of 0.2.0.
        outlying: How many surveys are searched for persons of unusual weight.
        persons: How many of these each has.
        ratios: Their weights, over the mean weight.
        constants: How many surveys measure what constants tell.
    """

    surveys: int = 8
    tables: int = 4
    seed: int = 1
    against: tuple[str, ...] = FORMS
    errors: str = GENERALISED
    outlying: int = 10
    persons: int = 100
    ratios: tuple[float, ...] = (5.0,)
    constants: int = 60

    def __post_init__(self) -> None:
        if self.errors not in {GENERALISED, DESIGN_EFFECTS}:
            raise BadRequest(
                f'There are no errors "{self.errors}".', nearest(self.errors, (GENERALISED, DESIGN_EFFECTS))
            )
        for form in self.against:
            if form not in FORMS:
                raise BadRequest(f'There is no form "{form}" to attack.', nearest(form, FORMS))
        if set(self.against) <= {UNPROTECTED}:
            raise BadRequest("No form is to be attacked.", f"Name one or more of: {', '.join(FORMS[1:])}.")
        if self.outlying == 1 or min(self.outlying, self.constants) < 0:
            raise BadRequest(
                f"{self.outlying} surveys are to be searched, and {self.constants} to be measured.",
                "Take 0 or at least 2 surveys to search: the attack learns from the others.",
            )
        if self.surveys < 2 or not 1 <= self.tables <= len(TABLES):
            raise BadRequest(
                f"{self.tables} tables of {self.surveys} surveys are asked for.",
                f"Take 1 to {len(TABLES)} tables, and 2 surveys or more.",
            )

    def run(self, progress: Callable[[str], None] = lambda _form: None) -> dict[str, Any]:
        """Attack every form; the documented JSON."""
        with errors_of_new_loads(self.errors):
            study = self._counts(progress)
            bases = {form.partition("+")[0] for form in self.against}
            forms = [form for form in OUTLYING_FORMS if form.partition("+")[0] in bases]
            study["outlying"] = outlying_results(
                self.outlying, self.persons, self.ratios, forms if self.outlying else [], self.seed, progress
            )
        # Constants are of the new definition only.
        measured = self.constants if self.errors == GENERALISED else 0
        study["constants"] = constant_gains(measured, self.seed, progress=progress) if measured else []
        return study

    def _counts(self, progress: Callable[[str], None]) -> dict[str, Any]:
        people = [sample(1000 * self.seed + number) for number in range(self.surveys)]
        alarm = FALSE_ALARM / (len(SERVED) * self.tables)
        results = []
        with ExitStack() as stack:
            progress("counts alone")
            average = [stack.enter_context(served(each, AVERAGE)) for each in people]
            alone = [self._counts_alone(*pair) for pair in zip(people, average, strict=True)]
            for form in self.against:
                progress(form)
                found = self._attacked(form, people, average)
                measures = [COUNT] if form == UNPROTECTED else list(measures_of(form))
                curve = [
                    _point(tables, [each[tables] for each in found], [each[tables] for each in alone], alarm)
                    for tables in found[0]
                ]
                results.append(
                    {"protection": form, "served": form in SERVED, "measures": measures, "curve": curve}
                )
        about = {
            "attack": "weights",
            "source": "docs/methods/attack-weights.md",
            "surveys": self.surveys,
            "people": people[0].weights.size,
            "tables": [list(table) for table in TABLES[: self.tables]],
            "seed": self.seed,
            "errors": self.errors,
        }
        return frame(about, KNOWS, results) | {"false_alarm": FALSE_ALARM}

    def _counts_alone(self, people: Sample, service: Served) -> dict[int, Score]:
        reader, outside = reader_of(service, AVERAGE), people.outside(weights=False)
        return {
            number: _score(attack(service, reader, tables, outside, (COUNT,)), people, outside)
            for number, tables in self._steps()
        }

    def _steps(self) -> list[tuple[int, list[TableRequest]]]:
        """1, 2, ... tables."""
        asked = [TableRequest("spudlandia", table[:1], table[1:]) for table in TABLES[: self.tables]]
        return [(number, asked[:number]) for number in range(1, self.tables + 1)]

    def _attacked(
        self, form: str, people: Sequence[Sample], average: Sequence[Served]
    ) -> list[dict[int, Score]]:
        """For each survey the scores after 1, 2, ... tables; forms that are not served use the form `AVERAGE`."""
        with ExitStack() as stack:
            registry = average
            if form in SERVED and form != AVERAGE:
                registry = [stack.enter_context(served(each, form)) for each in people]
            asked = [
                _Attacked(form, each, service, interface_of(service, each, form))
                for each, service in zip(people, registry, strict=True)
            ]
            if form == UNPROTECTED:
                return [{number: each.read(tables) for number, tables in self._steps()} for each in asked]
            lessons = [each.lessons(self._steps()[-1][1]) for each in asked]
            found = []
            for place, each in enumerate(asked):
                others = [lesson for at, some in enumerate(lessons) if at != place for lesson in some]
                experience = Experience(others)
                found.append({n: each.score(tables, experience) for n, tables in self._steps()})
            return found


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """How one attack on one survey did.

    Args:
        right: For each cell whether its count was found.
        certain: For each cell whether the attack was certain of it.
    """

    right: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    queries: int


@dataclass(frozen=True, slots=True, eq=False)
class _Attacked:
    """One survey under one form."""

    form: str
    people: Sample
    service: Served
    interface: Interface

    @property
    def outside(self) -> PublicFacts:
        """The weights themselves are given to the attacker, but where the attack finds them anyway."""
        return self.people.outside(weights=self.form not in {CELL_AVERAGE, OVERALL_AVERAGE})

    def score(self, tables: Sequence[TableRequest], experience: Experience) -> Score:
        """The attack with all that can be asked."""
        reader, measures = reader_of(self.service, self.form), measures_of(self.form)
        rule = None
        if reader.survey.errors == DESIGN_EFFECTS:
            decimals = self.service.service.dataset.weight_decimals
            rule = ErrorRule(self.form, reader.survey, self.outside, decimals, reader.distribution)

        def errors(cell: Cell, seen: ReleasedCell, counts: NDArray[np.int64]) -> NDArray[np.float64]:
            factors = None if rule is None else rule(cell, seen, counts)
            # A rule that no count fits is not the rule of this server.
            return experience.factors(seen, counts) if factors is None or not factors.any() else factors

        found = attack(self.interface, reader, tables, self.outside, measures, errors)
        return _score(found, self.people, self.outside)

    def lessons(self, tables: Sequence[TableRequest]) -> list[tuple[ReleasedCell, int]]:
        """What an attacker learns of errors from a survey whose people are known."""
        seen, _ = query_tables(QueryCache(self.interface), tables, measures_of(self.form))
        return [(each, self.people.count(cell)) for cell, each in seen.items()]

    def read(self, tables: Sequence[TableRequest]) -> Score:
        """The unprotected numbers, taken as they are."""
        seen, _ = query_tables(QueryCache(self.interface), tables, (COUNT,))
        right = [each.count == self.people.count(cell) for cell, each in seen.items()]
        return Score(np.array(right), np.array(right), len(tables))


def measures_of(form: str) -> tuple[str, ...]:
    """What can be asked under a form."""
    return (WEIGHTED,) if form == STEPS else (COUNT, WEIGHTED)


def _score(found: Findings, people: Sample, outside: PublicFacts) -> Score:
    """Right or wrong, cell by cell; what is public anyway does not count."""
    kept = np.array([cell not in outside.counts for cell in found.cells])
    truth = np.array([people.count(cell) for cell in found.cells])
    return Score((found.guesses == truth)[kept], found.certain[kept], found.queries)


def _point(tables: int, found: Sequence[Score], alone: Sequence[Score], alarm: float) -> dict[str, Any]:
    """One point of a curve: all surveys together, and survey by survey against counts alone."""
    right = np.concatenate([each.right for each in found])
    certain = np.concatenate([each.certain for each in found])
    by_counts = np.concatenate([each.right for each in alone])
    differences = np.array([a.right.mean() - b.right.mean() for a, b in zip(found, alone, strict=True)])
    gain, surely = mean_with_error(differences), mean_with_error(differences, 1 - 2 * alarm)
    # The same gain of one count in each of a few surveys has no spread, and is chance.
    bar = 0.0 if np.ptp(differences) > 1e-9 else 1.01 / found[0].right.size
    hits = share(int(right.sum()), right.size)
    return {
        "tables": tables,
        "queries": found[0].queries,
        "cells": int(right.size),
        "exact": hits.value,
        "low": hits.low,
        "high": hits.high,
        "counts_alone": float(by_counts.mean()),
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "certain": int(certain.sum()),
        "certain_true": int((certain & right).sum()),
        "certain_by_counts": int(sum(each.certain.sum() for each in alone)),
        "within_bar": bool(surely.low <= bar and certain.sum() <= sum(each.certain.sum() for each in alone)),
    }
