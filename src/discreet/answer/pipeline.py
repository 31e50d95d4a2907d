"""From a request to a release, on one page: the only place where all stages meet.

    request -> canonical -> shape -> rules -> charge -> tabulate -> keys and noise -> weights -> adjust -> release

The shape rules run before a record is read, and what must be charged is charged before. Exact counts exist
between `tabulate` and `protect` and nowhere else. A release is a pure function of the stored records, the
protection, the canonical request and the secret.

Comes from: the faces. Goes to: the faces, as a `Release`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.additivity import additive, adjusted_note
from discreet.additivity.non_negative import non_negative
from discreet.answer.verdicts import counted_shapes, verdict_on
from discreet.answer.weighted import counted_by_strata, weighted_cells
from discreet.ledger.group_meter import metered_groups
from discreet.model.release import NOT_APPLICABLE, UNRELIABLE, WITHHELD, Release, table_title
from discreet.model.request import canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.records.tabulate import tabulate
from discreet.rules.declared import is_metered, refuse_by_rules
from discreet.rules.withheld import withheld_cells

if TYPE_CHECKING:
    from discreet.ledger.group_meter import Asker
    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.protect.protector import Protector
    from discreet.workspace.workspace import StoredDataset


@dataclass(frozen=True, slots=True)
class Question:
    """A request that may be answered: readable, canonical, allowed by its shape; nothing is counted yet.

    `metered` says that the answer was allowed to one account: nobody may keep it for others.
    """

    stored: StoredDataset
    request: TableRequest
    shape: TableShape
    protector: Protector
    metered: bool = False

    @property
    def cells(self) -> int:
        """How many cells the answer has, totals included."""
        return self.shape.cells

    @property
    def additivity(self) -> str:
        """How totals relate to their parts."""
        return self.request.additivity or self.stored.dataset.protection.additivity

    @property
    def title(self) -> str:
        """The title of the answer."""
        return table_title(self.stored.dataset, self.shape.dimensions, self.request)


def ask(stored: StoredDataset, request: TableRequest, asker: Asker | None = None) -> Question:
    """Check a request against its dataset and the rules of shape, before a record is read.

    Groups of one's own that a rule counts are counted here, for the account that asks.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        Refused: A rule does not allow it; the message says which and what to do.
    """
    asked = canonical(request, stored.dataset)
    shape = table_shape(asked, stored.dataset)
    counted = _with_strata(stored, asked)
    metered = is_metered(asked, stored.rules)
    if asker is not None and metered:
        with metered_groups(asker, asked) as meter:
            refuse_by_rules(asked, shape, stored.dataset, stored.rules, meter=meter, account=asker.account)
    else:
        refuse_by_rules(asked, shape, stored.dataset, stored.rules)
    admitted = stored.protector.admit(counted, counted_shapes(stored, counted, shape), asker)
    return Question(stored, asked, shape, admitted, metered)


def _with_strata(stored: StoredDataset, asked: TableRequest) -> TableRequest:
    """A table made stratum by stratum must be allowed with its strata shown."""
    counted = counted_by_strata(asked, stored.dataset)
    if counted != asked:
        refuse_by_rules(counted, table_shape(counted, stored.dataset), stored.dataset, stored.rules)
    return counted


def answer(question: Question) -> Release:
    """Charge, count, protect and release."""
    stored, shape, asked, protector = question.stored, question.shape, question.request, question.protector
    protector.pay()
    dataset = stored.dataset
    survey = dataset.survey if asked.measure == "weighted" else None
    exact = tabulate(stored.engine, shape, weights=survey is not None)
    protected = protector.protect(exact)
    noisy = protected.noisy
    verdict = verdict_on(stored, protector, counted_by_strata(asked, dataset), shape, noisy)
    withheld = withheld_cells(verdict, shape, dataset, question.additivity)
    weighted = None if survey is None else weighted_cells(stored, protector, survey, exact, protected)
    impossible = structural_zeros(shape, dataset) | protected.impossible
    cells = noisy if weighted is None else weighted.values
    display = non_negative(cells) if dataset.protection.non_negative else cells
    values, adjustment = additive(display, shape, question.additivity, impossible)
    doubtful = np.zeros_like(impossible) if weighted is None else weighted.unreliable
    return Release(
        dataset=dataset,
        digest=stored.digest,
        request=asked,
        dimensions=shape.dimensions,
        values=np.where(withheld, 0, values),
        noisy=np.where(withheld, 0, noisy),
        status=np.select([impossible, withheld, doubtful], [NOT_APPLICABLE, WITHHELD, UNRELIABLE], 0).astype(
            np.uint8
        ),
        noise=protector.noise,
        laws=protected.laws,
        notes=tuple(filter(None, (perturbed_note(dataset, asked.additivity), adjustment))),
        promise=protector.promise(dataset.protection, asked.additivity, asked.measure)
        + (weighted.promise if weighted else ()),
        errors=None if weighted is None else np.where(withheld, -1, weighted.errors),
        noise_shares=None if weighted is None else np.where(withheld, -1, weighted.noise_shares),
        verdict=None if verdict is None else verdict.as_json(),
    )


def perturbed_note(dataset: Dataset, additivity: str = "") -> str:
    """What every reader of a dataset's tables must be told."""
    return adjusted_note(dataset.protection, additivity)


def release_table(stored: StoredDataset, request: TableRequest, asker: Asker | None = None) -> Release:
    """Answer a request, or refuse it."""
    return answer(ask(stored, request, asker))
