"""Protection by description under a privacy budget: declared tables and paid margins are available, nothing else.

    inside the universe     free: its noise was charged when the version was loaded
    outside, paid before    free for all: the same margin has the same noise, and so have sums of its cells
    excluded                never, at any price
    outside, unpaid         for an account with a share of the ledger, which is charged first
    else                    refused by the shape alone

A request outside the universe is answered from its own margin, whole. The charge is for the margin, so every rewrite,
slice and format of the request is paid at once. Answers inside the universe never depend on what others have paid. No
request is answered without the ledger.

Source: docs/methods/dp.md, sections 5 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerUnusable, OutsideUniverse
from discreet.ledger.entries import AMOUNTS, NOTHING_PAID, Charge, KnownPaid
from discreet.ledger.ledger import Ledger
from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable, MeasureSums
from discreet.model.magnitude import NumericMeasure
from discreet.model.messages.text import message
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.privacy_budget import format_amount
from discreet.model.request import TableRequest, unit_of
from discreet.model.shape import TableShape
from discreet.model.universe import Margin, Universe, canonical_margin, contains
from discreet.noise.table import NoiseTable
from discreet.protect.charges import answer_charge, charge_document, paid_margins, version_charge_name
from discreet.protect.description_keys import (
    DescriptionNoise,
    add_description_noise,
    description_distribution,
)
from discreet.protect.joint_plan import JointPlan
from discreet.protect.joint_residuals import (
    Block,
    JointDistribution,
    StoredResiduals,
    joint_blocks,
    joint_distribution,
)
from discreet.protect.margin_choice import Part, choose_margins
from discreet.protect.plan import NoisePlan, PlannedTable
from discreet.protect.promise import dp_promise
from discreet.protect.protector import NoisyCells, Protector

T = TypeVar("T")


@dataclass(frozen=True)
class DpProtector:
    """Protects a version that was loaded under a plan.

    Args:
        plan: The charges of the load, and the noise of an answer outside the universe.
        residuals: The residuals measured at load, for a joint universe; otherwise None.
        extra: The margin outside the universe that this request is answered from.
        charge: The charge that must be paid first.
    """

    plan: NoisePlan
    source: DescriptionNoise
    ledger: Ledger
    residuals: StoredResiduals | None = None
    extra: PlannedTable | None = None
    charge: Charge | None = None
    known: KnownPaid = NOTHING_PAID
    #: What follows from a shape, by its identity: hashing a shape of thousands of areas costs more than the result.
    _cache: dict[tuple[str, int], tuple[TableShape, Any]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _checked: dict[str, tuple[int, ...] | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tables(self) -> tuple[NoiseTable, ...]:
        """The noise table of every released margin; for a joint universe, that of the cell with the least noise."""
        if not self._is_joint:
            return tuple(self._noise.noise.values())
        shapes = [shape for shape, _ in self._cache.values()][:1]
        variances = [
            v for shape in shapes for v in np.unique(self._joint_distribution(shape).variances).tolist()
        ]
        return (self._joint.table_of(min(filter(None, variances), default=0.0)),)

    @property
    def _is_joint(self) -> bool:
        return self.residuals is not None and self.extra is None

    @property
    def _joint(self) -> JointPlan:
        if self.plan.joint is None:
            raise ValueError("only a joint universe has residuals")
        return self.plan.joint

    @property
    def unpaid(self) -> bool:
        return self.charge is not None

    @property
    def _records(self) -> tuple[Dataset, str, str]:
        """The dataset, the version and the fingerprint, which name the charges."""
        return self.source.dataset, self.source.version, self.source.fingerprint

    @cached_property
    def version_charge(self) -> str:
        return version_charge_name(self.plan, *self._records)

    def cover(
        self, request: TableRequest, shapes: Sequence[TableShape], asker: Requester | None
    ) -> Protector:
        """Answer from the universe, from a paid margin, or at the requester's cost."""
        self.refuse_uncharged()
        covering = replace(self, _cache={})
        try:
            covering.find(shapes)
        except OutsideUniverse as outside:
            covering = self._outside(request, shapes, asker, outside)
            covering.find(shapes)
        return covering

    def pay(self) -> tuple[DpProtector, dict[str, Any] | None]:
        """Charge the margin, unless it is paid already; the protector that answers, and the charge made now.

        If another margin was paid since the request was checked, and contains it, that margin answers and nothing is
        charged: what was paid first answers permanently, so the answer must not come from a later payment.
        """
        if self.charge is None or self.extra is None:
            return self, None
        known = self.known
        while True:
            receipt = self.ledger.charge_if_current(self.charge, known)
            if receipt is not None:
                made = charge_document(self.charge, receipt, self.plan.terms.composition)
                return self, None if receipt.repeat else made
            paid, known = self._from_paid(self.extra.margin, [shape for shape, _ in self._cache.values()])
            if paid is not None:
                return paid, None

    def stored(self, shape: TableShape) -> NoisyCells | None:
        """For a joint universe, the cells that its residuals give."""
        if self.residuals is None or self.extra is not None:
            return None
        return self.residuals.cells(shape, self._blocks(shape), self._joint_distribution(shape))

    def protect(self, exact: ExactTable, *, in_place: bool = False) -> NoisyCells:
        return add_description_noise(exact, self._parts(exact.shape), self._noise, in_place=in_place)

    def chances(self, exact: ExactTable) -> NDArray[np.float64]:  # noqa: ARG002 - there are none
        """Not available: under `dp` no exact number is rounded and released."""
        raise ValueError("under dp errors follow from noisy counts and declared constants")

    def sums(self, exact: MeasureSums, shape: TableShape, measure: NumericMeasure) -> NoReturn:  # noqa: ARG002
        """Not available: descriptions with measures are refused under `dp`."""
        raise ValueError("there are no measures under dp")

    def distribution(self, shape: TableShape) -> NoiseDistribution:
        if self._is_joint:
            return self._joint_distribution(shape)
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
        """The guarantee of all answers together."""
        return dp_promise(self.plan, unit_of(dataset))

    def find(self, shapes: Sequence[TableShape]) -> None:
        """Choose the margins of all shapes beforehand."""
        for shape in shapes:
            (self._blocks if self._is_joint else self._parts)(shape)

    def _once(self, kind: str, shape: TableShape, make: Callable[[], T]) -> T:
        key = (kind, id(shape))
        if key not in self._cache:
            self._cache[key] = (shape, make())
        return cast("T", self._cache[key][1])

    def _blocks(self, shape: TableShape) -> tuple[Block, ...]:
        universe, dataset = self.plan.universe, self.source.dataset
        return self._once("blocks", shape, lambda: joint_blocks(shape, universe, dataset, self._joint))

    def _joint_distribution(self, shape: TableShape) -> JointDistribution:
        blocks, dataset = self._blocks(shape), self.source.dataset
        return self._once("law", shape, lambda: joint_distribution(shape, blocks, self._joint, dataset))

    def _parts(self, shape: TableShape) -> tuple[Part, ...]:
        dataset = self.source.dataset
        return self._once(
            "parts", shape, lambda: choose_margins(shape, self._universe, dataset, self._variances)
        )

    @cached_property
    def _universe(self) -> Universe:
        if self.extra is None:
            return self.plan.universe
        if self.residuals is not None:  # values of a joint universe and of a separate margin cannot be added
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
        """The protector of a request outside the universe; decided before anything is charged."""
        margin = canonical_margin(request.used, self.source.dataset)
        self.refuse_excluded(margin)
        if self.plan.answer is None:
            raise outside
        paid, known = self._from_paid(margin, shapes)
        if paid is not None:
            return paid
        table = replace(self.plan.answer, margin=margin)
        charge = answer_charge(self.plan, *self._records, table, "" if asker is None else asker.account)
        if asker is None:
            raise OutsideUniverse(
                outside.message,
                message(
                    "{advice} Accounts with a share of the ledger may ask for it, at {loss} {shown}: send your "
                    "key. All who may see the dataset can then have it.",
                    advice=outside.advice,
                    loss=AMOUNTS[self.plan.terms.composition][0],
                    shown=format_amount(charge.booked[0]),
                ),
            )
        asker.require("analyst")
        return replace(self, extra=table, charge=charge, known=known, _cache={})

    def _from_paid(
        self, margin: Margin, shapes: Sequence[TableShape]
    ) -> tuple[DpProtector | None, KnownPaid]:
        """The protector that answers from a paid margin, None if none contains the request; and what is paid.

        The margin that was paid first answers permanently: later payments change no answer.
        """
        margins, known = paid_margins(self.ledger, self.plan, *self._records)
        for paid in margins:
            if self.plan.answer is None or not contains(paid, margin, self.source.dataset):
                continue
            answer = replace(self.plan.answer, margin=paid)
            found = replace(self, extra=answer, charge=None, _cache={})
            with suppress(OutsideUniverse):
                found.find(shapes)
                return found, known
        return None, known

    def refuse_excluded(self, margin: Margin) -> None:
        """Refuse a margin that contains an excluded one."""
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
        """Refuse a ledger that does not contain the charge of this version: it has lost entries."""
        mark = self.ledger.file_mark()
        if mark is not None and self._checked.get(self.version_charge) == mark:
            return  # the charge was there, and the file is the same
        if not self.ledger.is_paid(self.plan.terms.name, self.version_charge):
            raise LedgerUnusable(
                "The ledger does not know of this version.", "Restore the newest copy of the ledger."
            )
        self._checked[self.version_charge] = mark
