"""What an attacker knows before asking: the published description, the noise law, the declared universe.

Under `cellkey` that is one noise table. Under `dp` it is the plan: which margins are released with which noise, so
that for every question it is known which margin answers it and how many noise terms its cells have.

Source: docs/reference/dataset-toml.md, docs/reference/dp-universe.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.model.declared_dp import declared_dp
from discreet.model.nearest import nearest
from discreet.model.request import canonical
from discreet.model.shape import table_shape
from discreet.model.universe import margin_zeros
from discreet.noise.table import NoiseTable
from discreet.protect.cover import cover
from discreet.protect.plan import make_plan

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.model.dataset import Dataset
    from discreet.model.release import Release
    from discreet.model.request import TableRequest
    from discreet.model.universe import Margin
    from discreet.protect.plan import NoisePlan, PlannedTable

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
        parts = cover(shape, plan.universe, self.dataset, plan.variances())
        margins = {part.margin for part in parts}
        if len(margins) != 1 or None in margins:
            raise BadRequest("Several margins answer this question together.", "Ask without totals.")
        tables: dict[Margin | None, PlannedTable] = {table.margin: table for table in plan.tables}
        (part,) = parts
        kept = {axis.name: axis.kept for axis in part.axes}
        noised = np.count_nonzero(~margin_zeros(part.margin or (), self.dataset, kept))
        return tables[part.margin], noised / math.prod(part.lengths)


def spent(plan: NoisePlan, margins: set[Margin]) -> Fraction:
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
    terms, universe = declared_dp(dataset)
    return make_plan(dataset, universe, terms, dataset.protection.noise)
