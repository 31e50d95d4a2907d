"""The attacker's view: public knowledge with the noise distribution, and an interface that answers queries.

Under `cellkey` the public knows one noise table. Under `dp` it knows the plan: which margins are released with which
noise. A protected dataset and the true counts implement the same interface.

Source: docs/reference/dataset-toml.md, docs/reference/dp-universe.md.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
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
    """Public knowledge about one dataset."""

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
    def distribution(self) -> NoiseTable:
        """The noise table of a cell key protection."""
        if self.noise is None:
            raise BadRequest(f"The protection {self.protection} has no noise table of its own.")
        return self.noise

    @property
    def noise_plan(self) -> NoisePlan:
        """The plan of a differentially private dataset."""
        if self.plan is None:
            raise BadRequest(f"The protection {self.protection} declares no universe.")
        return self.plan

    def margin_of(self, request: TableRequest) -> tuple[PlannedTable, float]:
        """The margin that answers a query under `dp`, and the mean number of noise terms per cell."""
        plan = self.noise_plan
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
    """The epsilon of some margins by basic composition."""
    if plan.currency != "epsilon":
        raise BadRequest(
            "The shares of this plan are not epsilons.", "Use a family whose scale is an epsilon."
        )
    return sum(
        (table.share for table in plan.tables if table.margin in margins), start=0 * plan.terms.epsilon
    )


def plan_of(dataset: Dataset) -> NoisePlan:
    """The noise plan that follows from the published description of a dataset under `dp`."""
    terms, universe = dp_terms(dataset)
    return make_plan(dataset, universe, terms, dataset.protection.noise)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One released table: codes along each axis, numbers (meaningless where `missing`), and released errors."""

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
    """Sends each distinct query once and counts the queries."""

    interface: Interface
    answers: dict[TableRequest, Answer] = field(default_factory=dict)

    def ask(self, request: TableRequest) -> Answer:
        """The answer, from the cache if the query was sent before."""
        if request not in self.answers:
            self.answers[request] = self.interface.ask(request)
        return self.answers[request]

    @property
    def queries(self) -> int:
        """The number of distinct queries sent."""
        return len(self.answers)
