"""Protection by description under a budget: what is declared is answered, what is paid for too, and nothing else.

    inside the universe     free: its noise was charged when the version was loaded
    outside, paid before    free, to everybody: the same margin has the same noise, and so have sums of its cells
    excluded                never, for any price
    outside, unpaid         to an account with a share of the ledger, which is charged first
    else                    refused by the shape alone

A question outside the universe is answered from its own margin, whole, and from the universe: what it is charged
for is the margin, so that every rewrite, slice and format of it is paid for at once. What a question inside the
universe is answered never depends on what others have paid for. The ledger must be there for any answer.

Source: docs/methods/dp.md, sections 5 to 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerUnusable, OutsideUniverse
from discreet.ledger.entries import Charge
from discreet.ledger.ledger import Ledger
from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.measure import unit_of
from discreet.model.messages.text import message
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.privacy_budget import format_amount
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.model.universe import Margin, Universe, canonical_margin, contains
from discreet.noise.table import NoiseTable
from discreet.protect import margin_choice as cover
from discreet.protect.charges import answer_charge, charge_document, paid_margins, version_charge_name
from discreet.protect.description_keys import (
    DescriptionNoise,
    add_description_noise,
    description_distribution,
)
from discreet.protect.joint_distribution import JointDistribution, joint_distribution
from discreet.protect.joint_plan import JointPlan
from discreet.protect.joint_residuals import Block, StoredResiduals, joint_blocks
from discreet.protect.margin_choice import Part
from discreet.protect.plan import NoisePlan, PlannedTable
from discreet.protect.promise import dp_promise
from discreet.protect.protector import NoisyCells, Protector


@dataclass(frozen=True)
class DpProtector:
    """Protects a version that was loaded under a plan.

    Args:
        plan: What was charged at the load, and the noise of an answer outside of it.
        source: The keyed noise of the plan's margins.
        ledger: Where everything is charged.
        residuals: Of a joint universe, what was measured at load; None elsewhere.
        extra: The margin outside the universe that this question is answered from.
        charge: What must be paid first.
    """

    plan: NoisePlan
    source: DescriptionNoise
    ledger: Ledger
    residuals: StoredResiduals | None = None
    extra: PlannedTable | None = None
    charge: Charge | None = None
    _covers: list[tuple[TableShape, tuple[Part, ...]]] = field(
        default_factory=list, compare=False, repr=False
    )
    _blocks: list[tuple[TableShape, tuple[Block, ...]]] = field(
        default_factory=list, compare=False, repr=False
    )
    _laws: list[tuple[TableShape, JointDistribution]] = field(default_factory=list, compare=False, repr=False)
    _charged: dict[str, tuple[int, ...] | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tables(self) -> tuple[NoiseTable, ...]:
        """The noise table of every released margin; of a joint universe, the law of the cell with the least noise."""
        if self.residuals is None or self.extra is not None:
            return tuple(self._noise.noise.values())
        laws = [self._joint_law(shape) for shape, _ in self._blocks[:1]]
        found = [law.variances[law.variances > 0] for law in laws]
        return (self._joint.table_of(min((float(each.min()) for each in found if each.size), default=0.0)),)

    @property
    def _joint(self) -> JointPlan:
        if self.plan.joint is None:
            raise ValueError("only a joint universe has residuals")
        return self.plan.joint

    @property
    def unpaid(self) -> bool:
        """Whether something must be charged before a record is read."""
        return self.charge is not None

    @cached_property
    def version_charge(self) -> str:
        """What the version is called in the ledger."""
        source = self.source
        return version_charge_name(self.plan, source.dataset, source.version, source.fingerprint)

    def cover(
        self, request: TableRequest, shapes: Sequence[TableShape], asker: Requester | None
    ) -> Protector:
        """Answer from the universe, from what is paid for, or at the asker's cost."""
        self.refuse_uncharged()
        covering = replace(self, _covers=[], _blocks=[], _laws=[])
        try:
            covering.find(shapes)
        except OutsideUniverse as outside:
            covering = self._outside(request, shapes, asker, outside)
            covering.find(shapes)
        return covering

    def pay(self) -> dict[str, Any] | None:
        """Charge the margin; whoever asked for it first has paid for all. Tells what was charged now."""
        if self.charge is None:
            return None
        receipt = self.ledger.charge(self.charge)
        return None if receipt.repeat else charge_document(self.charge, receipt, self.plan.terms.composition)

    def stored(self, shape: TableShape) -> NoisyCells | None:
        """Of a joint universe, the cells that its residuals give."""
        if self.residuals is None or self.extra is not None:
            return None
        return self.residuals.cells(shape, self._joint_blocks(shape), self._joint_law(shape))

    def protect(self, exact: ExactTable, *, spend: bool = False) -> NoisyCells:
        """Noise looked up by the description of the cells."""
        return add_description_noise(exact, self._parts(exact.shape), self._noise, spend=spend)

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:  # noqa: ARG002 - there are none
        """None: under `dp` nothing that is exact is rounded and told."""
        raise ValueError("under dp errors follow from noisy counts and declared constants")

    def law(self, shape: TableShape) -> NoiseDistribution:
        """How many terms of which margin's noise each cell has; of a joint universe, their variances."""
        if self.residuals is not None and self.extra is None:
            return self._joint_law(shape)
        return description_distribution(shape.lengths, self._parts(shape), self._noise)

    @cached_property
    def _noise(self) -> DescriptionNoise:
        return (
            self.source if self.extra is None else self.source.with_table(self.extra.margin, self.extra.noise)
        )

    def promise(
        self,
        dataset: Dataset,
        additivity: str = "",  # noqa: ARG002 - it holds whatever is asked
        subject: str = "",  # noqa: ARG002
    ) -> tuple[str, ...]:
        """What everything together is promised."""
        return dp_promise(self.plan, unit_of(dataset))

    def find(self, shapes: Sequence[TableShape]) -> None:
        """Find the parts of all shapes beforehand; what cannot be answered is refused here.

        Raises:
            OutsideUniverse, TooManyCells: By the shape.
        """
        for shape in shapes:
            if self.residuals is None or self.extra is not None:
                self._parts(shape)
            else:
                self._joint_blocks(shape)

    def _joint_blocks(self, shape: TableShape) -> tuple[Block, ...]:
        for known, blocks in self._blocks:
            if known is shape:
                return blocks
        found = joint_blocks(shape, self.plan.universe, self.source.dataset, self._joint)
        self._blocks.append((shape, found))
        return found

    def _joint_law(self, shape: TableShape) -> JointDistribution:
        for known, law in self._laws:
            if known is shape:
                return law
        found = joint_distribution(shape, self._joint_blocks(shape), self._joint, self.source.dataset)
        self._laws.append((shape, found))
        return found

    def _parts(self, shape: TableShape) -> tuple[Part, ...]:
        for known, parts in self._covers:
            if known is shape:
                return parts
        found = cover.choose_margins(shape, self._universe, self.source.dataset, self._variances)
        self._covers.append((shape, found))
        return found

    @cached_property
    def _universe(self) -> Universe:
        if self.extra is None:
            return self.plan.universe
        if (
            self.residuals is not None
        ):  # numbers of a joint universe and of a margin of its own cannot be added up
            return replace(self.plan.universe, margins=(self.extra.margin,))
        return self.plan.universe.with_margin(self.extra.margin)

    @cached_property
    def _variances(self) -> dict[tuple[str, ...], float]:
        extra = {} if self.extra is None else {self.extra.margin: float(self.extra.noise.rows[0].variance())}
        return self.plan.variances() | extra

    def _outside(
        self,
        request: TableRequest,
        shapes: Sequence[TableShape],
        asker: Requester | None,
        outside: OutsideUniverse,
    ) -> DpProtector:
        """The protector of a question outside the universe; decided before anything is charged."""
        margin = canonical_margin(request.used, self.source.dataset)
        self.refuse_excluded(margin)
        if self.plan.answer is None:
            raise outside
        paid = self._from_paid(margin, shapes)
        if paid is not None:
            return paid
        table = replace(self.plan.answer, margin=margin)
        account = "" if asker is None else asker.account
        source = self.source
        charge = answer_charge(self.plan, source.dataset, source.version, source.fingerprint, table, account)
        if asker is None:
            loss = "epsilon" if self.plan.terms.composition == "basic" else "rho"
            raise OutsideUniverse(
                outside.message,
                message(
                    "{advice} Accounts with a share of the ledger may ask for it, at {loss} {shown}: send your "
                    "key.",
                    advice=outside.advice,
                    loss=loss,
                    shown=format_amount(charge.booked[0]),
                ),
            )
        asker.require("analyst")
        return replace(self, extra=table, charge=charge, _covers=[], _blocks=[], _laws=[])

    def _from_paid(self, margin: Margin, shapes: Sequence[TableShape]) -> DpProtector | None:
        """The protector that answers from a margin that is paid for; None where none contains the question.

        The first that was paid answers for ever: what is paid later changes no answer.
        """
        source = self.source
        for paid in paid_margins(self.ledger, self.plan, source.dataset, source.version, source.fingerprint):
            if self.plan.answer is None or not contains(paid, margin, source.dataset):
                continue
            found = replace(
                self, extra=replace(self.plan.answer, margin=paid), _covers=[], _blocks=[], _laws=[]
            )
            with suppress(OutsideUniverse):
                found.find(shapes)
                return found
        return None

    def refuse_excluded(self, margin: Margin) -> None:
        """What is excluded is never answered, for any price.

        Raises:
            OutsideUniverse: The margin contains an excluded one.
        """
        out = self.plan.universe.excludes(margin, self.source.dataset)
        if out is not None:
            raise OutsideUniverse(
                message(
                    "Tables that contain {value:times} are excluded: they are never answered.",
                    value=tuple(out) or (message("the total"),),
                ),
                message("Leave out one of these variables."),
            )

    def refuse_uncharged(self) -> None:
        """A ledger that does not know the version has forgotten what was spent.

        Raises:
            LedgerUnusable: Nothing is answered.
        """
        mark = self.ledger.file_mark()
        if mark is not None and self._charged.get(self.version_charge) == mark:
            return  # it was there, and the ledger is still the same
        if not self.ledger.is_paid(self.plan.terms.name, self.version_charge):
            raise LedgerUnusable(
                "The ledger does not know of this version.", "Restore the newest copy of the ledger."
            )
        self._charged[self.version_charge] = mark
