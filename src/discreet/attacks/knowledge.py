"""What an attacker knows before asking: the published description, the noise law, the declared universe.

Under `cellkey` that is one noise table. Under `dp` it is the plan: which margins are released with which noise, so
that for every question it is known which margin answers it and how many noise terms its cells have.

Source: docs/reference/dataset-toml.md, docs/reference/dp-universe.md.

Whom an attacker asks: one method, and an answer that is codes and numbers.

The same protocol stands before a protected dataset and before the true counts, so that an attack cannot tell
which one it faces but by the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
from discreet.model.release import Release
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import Margin, dp_terms, margin_zeros
from discreet.noise.table import NoiseTable
from discreet.protect.margin_choice import choose_margins
from discreet.protect.plan import NoisePlan, PlannedTable, make_plan

UNPROTECTED, CELLKEY, DESCRIBED, DP = "unprotected", "cellkey", "participants-and-description", "dp"
#: Against what the attacks are run; the first is the baseline.
PROTECTIONS = (UNPROTECTED, CELLKEY, DESCRIBED, DP)


@dataclass(frozen=True)
class Knowledge:
    """What is public of one dataset.

    Args:
        dataset: Its description.
        protection: One of `PROTECTIONS`.
        noise: The noise table (`cellkey`, `participants-and-description`).
        plan: The released margins and their noise (`dp`).
    """

    dataset: Dataset
    protection: str
    noise: NoiseTable | None = None
    plan: NoisePlan | None = None

    def __post_init__(self) -> None:
        if self.protection not in PROTECTIONS:
            raise BadRequest(
                f'There is no protection "{self.protection}".', nearest(self.protection, PROTECTIONS)
            )

    @property
    def law(self) -> NoiseTable:
        """The noise table of a cell key protection."""
        if self.noise is None:
            raise BadRequest(f"The protection {self.protection} has no noise table of its own.")
        return self.noise

    @property
    def declared(self) -> NoisePlan:
        """The plan of a differentially private dataset."""
        if self.plan is None:
            raise BadRequest(f"The protection {self.protection} declares no universe.")
        return self.plan

    def answered_by(self, request: TableRequest) -> tuple[PlannedTable, float]:
        """The margin that answers a question under `dp`, and the noise terms of one cell, on average.

        Raises:
            BadRequest: Several margins share the answer; ask for fewer totals at a time.
        """
        plan = self.declared
        shape = table_shape(canonical(request, self.dataset), self.dataset)
        parts = choose_margins(shape, plan.universe, self.dataset, plan.variances())
        margins = {part.margin for part in parts}
        if len(margins) != 1 or None in margins:
            raise BadRequest("Several margins answer this question together.", "Ask without totals.")
        tables: dict[Margin | None, PlannedTable] = {table.margin: table for table in plan.tables}
        (part,) = parts
        kept = {axis.name: axis.kept for axis in part.axes}
        noised = np.count_nonzero(~margin_zeros(part.margin or (), self.dataset, kept))
        return tables[part.margin], noised / math.prod(part.lengths)


def epsilon_of_margins(plan: NoisePlan, margins: set[Margin]) -> Fraction:
    """The epsilon of the margins that were asked, by basic composition; they never cost more together."""
    if plan.currency != "epsilon":
        raise BadRequest(
            "The shares of this plan are not epsilons.", "Use a family whose scale is an epsilon."
        )
    return sum(
        (table.share for table in plan.tables if table.margin in margins), start=0 * plan.terms.epsilon
    )


def noise_table(release: Release) -> NoiseTable:
    """The noise table that a release under cell keys states.

    Raises:
        BadRequest: The release has another noise in each cell.
    """
    laws = release.law.laws
    if len(laws) != 1 or not isinstance(laws[0], NoiseTable):
        raise BadRequest("The cells of this table have no noise table in common.")
    return laws[0]


def plan_of(dataset: Dataset) -> NoisePlan:
    """The plan that the published description of a dataset under `dp` implies."""
    terms, universe = dp_terms(dataset)
    return make_plan(dataset, universe, terms, dataset.protection.noise)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The numbers of one table.

    Args:
        codes: The codes along each axis.
        values: The released numbers; meaningless where `missing`.
        missing: Where nothing was released.
        errors: The relative standard errors beside the numbers, as they are released; None where there are none.
        noise_shares: The noise's share of each error, likewise.
    """

    codes: tuple[tuple[str, ...], ...]
    values: NDArray[np.int64]
    missing: NDArray[np.bool_]
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None


class Interface(Protocol):
    """Anything that answers table requests."""

    def ask(self, request: TableRequest) -> Answer:
        """The released table, or a refusal as an error."""


@dataclass(frozen=True, slots=True)
class QueryCache:
    """An attacker's notes: what was asked is not asked again, and every question counts once.

    Args:
        interface: Who answers.
        answers: The answers so far.
    """

    interface: Interface
    answers: dict[TableRequest, Answer] = field(default_factory=dict)

    def ask(self, request: TableRequest) -> Answer:
        """The answer to a request, from the notes if it is there."""
        if request not in self.answers:
            self.answers[request] = self.interface.ask(request)
        return self.answers[request]

    @property
    def asked(self) -> int:
        """How many different tables were asked for."""
        return len(self.answers)


def read_release(release: Release) -> Answer:
    """A release as an attacker reads it: codes, released numbers and released errors."""
    return Answer(
        tuple(dimension.codes for dimension in release.dimensions),
        release.values.astype(np.int64),
        release.missing,
        release.errors,
        release.noise_shares,
    )
