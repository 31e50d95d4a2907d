"""Many margins of a dataset released together: planned, charged to its budget, counted, and given keyed noise.

    plan -> rehearse -> charge -> count -> noise -> margins

The plan and everything that can go wrong with it depend on the wanted margins and the budget alone: a rehearsal on an
empty table comes before the charge, so that nothing is charged that cannot be answered. The same margins at the same
budget by the same method have the same name in the ledger, the same noise and the same numbers, and cost nothing
twice. True counts exist between `tabulate` and `plan.release`; nothing that is returned compares with them.

Comes from: `discreet margins DATASET`. Goes to: its document.
Source: docs/methods/margins-advice.md; docs/methods/dp.md, Theorem 2 (what is charged).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadDescription, BadRequest
from discreet.ledger.entries import Charge, canonical_request, records_name
from discreet.margins.advice import advise, plan_of
from discreet.margins.closure import MarginSet, parse_margins
from discreet.margins.holistic import Holistic
from discreet.margins.importance import overall_error
from discreet.margins.study import Run, Study
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.noise.identity import mechanism_name
from discreet.privacy.claim import group_delta
from discreet.records.tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.ledger.entries import Receipt
    from discreet.margins.advice import MarginMethod
    from discreet.margins.closure import Axes
    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable
    from discreet.protect.dp_protector import DpProtector
    from discreet.workspace.workspace import StoredDataset

#: Released numbers are written with so many decimals: what a program adds up last differs between machines.
DECIMALS = 6


@dataclass(frozen=True)
class JointMargins:
    """A wish for many margins of a dataset at a budget.

    Args:
        stored: The version that is asked, under `dp`.
        wanted: The margins.
        method: One of `margins.advice.METHODS`.
        epsilon: What all of them together may cost a record.
        delta: Above 0: Gaussian noise is allowed.
        weights: How much each margin counts: `cells`, `tables` or numbers.
    """

    stored: StoredDataset
    wanted: MarginSet
    method: str
    epsilon: float
    delta: float = 0.0
    weights: str | Mapping[Axes, float] = "cells"

    @property
    def _published(self) -> DpProtector:
        published = self.stored.published
        if published is None:
            raise BadRequest(
                f'"{self.stored.dataset.id}" has no privacy budget that margins could be charged to.',
                'Only datasets with the method "dp" have one.',
            )
        return published

    def study(self) -> Study:
        """The plan and the advice before anything is spent; no record is read."""
        terms = self._published.plan.terms
        if terms.neighbours == "replace-one" and not terms.known_total:
            raise BadDescription(
                "Margins for replace-one neighbours tell the number of records, which is not declared public.",
                'Write invariants = ["n"] in [protection.budget].',
            )
        chosen = {"neighbours": terms.neighbours, "weights": self.weights}
        plan = plan_of(self.method, self.wanted, self.epsilon, self.delta, **chosen)  # type: ignore[arg-type]
        advice = advise(self.wanted, self.epsilon, self.delta, **chosen)  # type: ignore[arg-type]
        return Study(self.method, plan, self.delta, overall_error(plan, self.weights), advice, ())

    def advice_document(self) -> dict[str, Any]:
        """What each method's error will be, and what the chosen one would charge."""
        found = self.study()
        return {
            **found.as_json(),
            **self._charged(self.charge(found.plan), None),
            "notes": list(found.notes()),
        }

    def release(self, account: str | None = None) -> dict[str, Any]:
        """Charge, count and release.

        Args:
            account: Who pays from a share of their own; None for the custodian.

        Raises:
            BudgetSpent: Nothing was charged, nothing was read.
            LedgerUnusable: The ledger has forgotten the version: what is left is not known.
        """
        self._published.refuse_uncharged()
        found = self.study()
        charge = self.charge(found.plan, account)
        receipt = self._published.ledger.charge(charge)
        run = _run(found.plan, self._exact(), _Keyed(self._published, charge.request))
        document = Study(
            found.method, found.plan, found.delta, found.expected_error, found.advice, (run,)
        ).as_json()
        document["runs"][0]["max_l1"] = None
        names = [self.wanted.names[j] for j in sorted({j for m in self.wanted.margins for j in m})]
        return {
            **document,
            **self._charged(charge, receipt),
            "categories": {name: list(self.stored.dataset.variable(name).codes) for name in names},
            "notes": list(found.notes()),
        }

    def charge(self, plan: MarginMethod, account: str | None = None) -> Charge:
        """What the margins cost a person, named by everything that decides them."""
        published, dataset = self._published, self.stored.dataset
        terms, source = published.plan.terms, published.source
        if terms.rule != "basic":
            raise BadRequest(
                f"Margins are charged in epsilon and delta, and the budget's rule is {terms.rule}.",
                'Only families with rule = "basic" can pay for them.',
            )
        promised = 0.0 if isinstance(plan, Holistic) else plan.delta
        failure = promised + plan.cut_delta
        records = records_name(dataset.id, source.version, source.fingerprint)
        r = terms.records_per_unit
        how = [
            self.method,
            self.epsilon,
            self.delta,
            terms.neighbours,
            r,
            self._weights(),
            self._noise_of(plan),
        ]
        listed = [[self.wanted.names[j] for j in margin] for margin in self.wanted.margins]
        request = canonical_request("margins", dataset.id, source.version, records, sorted(listed), how)
        loss = r * Fraction(self.epsilon)
        return Charge(terms.name, request, loss, Fraction(group_delta(failure, self.epsilon, r)), account)

    def _noise_of(self, plan: MarginMethod) -> str:
        """A hash of every noise table that the plan looks up, found by a rehearsal on an empty table.

        A newer solver may find slightly other scales: that is other noise, and a charge of its own.
        """
        rehearsal = _Rehearsal()
        _run(plan, _empty(self.wanted), rehearsal)
        return hashlib.sha256(canonical_request(*sorted(rehearsal.tables)).encode()).hexdigest()

    def _weights(self) -> object:
        if isinstance(self.weights, str):
            return self.weights
        return sorted([list(margin), weight] for margin, weight in self.weights.items())

    def _exact(self) -> dict[Axes, NDArray[np.int64]]:
        """The true counts of every wanted margin, its variables in the order of their axes."""
        return {
            margin: self._counts([self.wanted.names[j] for j in margin]) for margin in self.wanted.margins
        }

    def _counts(self, names: list[str]) -> NDArray[np.int64]:
        dataset = self.stored.dataset
        asked = canonical(TableRequest(dataset.id, tuple(names), totals=False), dataset)
        shape = table_shape(asked, dataset)
        counts = tabulate(self.stored.engine, shape).counts
        shown = [dimension.name for dimension in shape.dimensions]
        return np.ascontiguousarray(counts.transpose([shown.index(name) for name in names]))

    def _charged(self, charge: Charge, receipt: Receipt | None) -> dict[str, Any]:
        paid = receipt is not None and receipt.repeat
        return {
            "dataset": self.stored.dataset.id,
            "charged": {
                "family": charge.budget,
                "epsilon": 0.0 if paid else float(charge.loss),
                "delta": 0.0 if paid else float(charge.failure),
                "repeat": paid,
                "spent": receipt is not None,
            },
        }


def dataset_margins(dataset: Dataset, wanted: str) -> MarginSet:
    """Margins of a dataset as people write them: "sex*age,sex*region"; only the variables that are named."""
    named = {part.strip() for word in wanted.split(",") for part in word.split("*") if part.strip()}
    for name in sorted(named):
        dataset.variable(name)
    names = [variable.name for variable in dataset.variables if variable.name in named]
    asked = parse_margins(wanted, names, [len(dataset.variable(name)) for name in names])
    return replace(asked, margins=tuple(sorted(asked.margins)))


def _run(plan: MarginMethod, exact: Mapping[Axes, NDArray[np.int64]], source: Any) -> Run:
    """The plan's release as one run; nothing of it compares with the true counts."""
    if isinstance(plan, Holistic):
        released = plan.release(exact, source)
        return Run(released.sample_size, 0.0, released.lp_b, released.margins)
    margins = {margin: np.round(table, DECIMALS) for margin, table in plan.release(exact, source).items()}
    return Run(round(float(margins[plan.wanted.margins[0]].sum()), DECIMALS), 0.0, None, margins)


def _empty(wanted: MarginSet) -> dict[Axes, NDArray[np.int64]]:
    return {margin: np.zeros(wanted.margin_shape(margin), dtype=np.int64) for margin in wanted.margins}


class _Rehearsal:
    """No noise, and a list of what would have been looked up."""

    def __init__(self) -> None:
        self.tables: list[tuple[str, str]] = []

    def __call__(self, table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:
        self.tables.append((name, mechanism_name(table)))
        return np.zeros(size, dtype=np.int64)


@dataclass(frozen=True)
class _Keyed:
    """Noise keyed by the secret, the records, the noise table, the whole request and the name of the thing."""

    published: DpProtector
    request: str

    def __call__(self, table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:
        return self.published.source.named(table, (self.request, name), size)
