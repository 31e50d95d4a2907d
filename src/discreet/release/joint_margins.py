"""Many margins of a dataset released together: planned, charged to its budget, counted, and given keyed noise.

    plan -> rehearse -> check every margin -> charge -> count -> noise -> verdicts -> a Release for each margin

The plan depends on the margins and the budget only. A rehearsal on an empty table comes before the charge, so nothing is
charged that cannot be answered. The same margins at the same budget by the same method have the same name in the ledger, the
same noise and the same numbers, and are charged once. True counts exist between `tabulate` and `plan.release` only. Each
margin must be allowed by the rules on shape, and the rules on counts look at its noisy cells.

Source: docs/methods/margins-advice.md; docs/methods/dp.md, Theorem 2 (what is charged).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, BadRequest, Refused
from discreet.ledger.entries import Charge, Receipt, canonical_request, records_name
from discreet.margins.holistic import Holistic
from discreet.margins.margin_set import Axes, MarginSet, overall_error, parse_margins
from discreet.margins.study import MarginMethod, Run, Study, advise, plan_of
from discreet.model.dataset import Dataset
from discreet.model.privacy_budget import FAILURE_UNIT, read_amount
from discreet.model.release import WITHHELD, Release
from discreet.model.request import TableRequest
from discreet.model.universe import canonical_margin
from discreet.noise.table import NoiseTable, mechanism_name
from discreet.noise.table_distribution import UnstatedDistribution
from discreet.privacy.claim import float_down, float_up, group_delta
from discreet.protect.dp_protector import DpProtector
from discreet.protect.promise import refuse_small_errors
from discreet.records.tabulate import tabulate
from discreet.release.checked_request import ParsedRequest, parse_request
from discreet.release.notes import joint_note
from discreet.release.verdicts import joint_verdict
from discreet.rules.rule_set import refuse_by_rules
from discreet.rules.suppression import layout_for
from discreet.workspace.workspace import StoredDataset

#: Decimals of released numbers: the last bits of a sum differ between machines.
DECIMALS = 6


@dataclass(frozen=True)
class JointMargins:
    """A request for many margins of a dataset at a budget.

    Args:
        stored: The version, under `dp`.
        wanted: The margins.
        method: One of `margins.advice.METHODS`.
        epsilon: The cost of all of them together per record, exactly as written.
        delta: Above 0, Gaussian noise is allowed.
        weights: The weight of each margin: `cells`, `tables` or numbers.
    """

    stored: StoredDataset
    wanted: MarginSet
    method: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    weights: str | Mapping[Axes, float] = "cells"

    @classmethod
    def of(
        cls,
        stored: StoredDataset,
        wanted: MarginSet,
        method: str,
        epsilon: object,
        delta: object = 0,
        weights: str | Mapping[Axes, float] = "cells",
    ) -> JointMargins:
        """A request from epsilon and delta as they were written."""
        loss, failure = read_amount(epsilon, "epsilon"), read_amount(delta, "delta", FAILURE_UNIT)
        return cls(stored, wanted, method, loss, failure, weights)

    @property
    def _dp(self) -> DpProtector:
        dp = self.stored.dp
        if dp is None:
            raise BadRequest(
                f'"{self.stored.dataset.id}" has no privacy budget to charge margins to.',
                'Only datasets with the method "dp" have one.',
            )
        return dp

    def study(self) -> Study:
        """The plan and the advice; nothing is spent and no record is read."""
        terms = self._dp.plan.terms
        if terms.neighbours == "replace-one" and not terms.known_total:
            raise BadDescription(
                "Margins for replace-one neighbours reveal the number of records, which is not declared public.",
                'Write invariants = ["n"] in [protection.budget].',
            )
        chosen = {"neighbours": terms.neighbours, "weights": self.weights}
        # Rounded down, so that the plan never spends more than is charged.
        budget = float_down(self.epsilon), float_down(self.delta)
        plan = plan_of(self.method, self.wanted, *budget, **chosen)  # type: ignore[arg-type]
        advice = advise(self.wanted, *budget, **chosen)  # type: ignore[arg-type]
        refuse_small_errors(terms, (plan.expected_error(margin) for margin in self.wanted.margins))
        return Study(self.method, plan, budget[1], overall_error(plan, self.weights), advice, ())

    def advice_document(self) -> dict[str, Any]:
        """The expected error of each method, and what the chosen one would charge."""
        found = self.study()
        return {
            **found.as_json(),
            **self._charge_document(self.charge(found.plan), None),
            "notes": list(found.notes()),
        }

    def release(self, account: str | None = None) -> JointRelease:
        """Check every margin, charge all of them, count and release; an account pays from its share.

        Raises:
            Refused: By the shape of a margin; nothing was charged.
            BudgetSpent: Nothing was charged, nothing was read.
            LedgerUnusable: The ledger does not have the version, so the remainder is unknown.
        """
        self._dp.refuse_uncharged()
        found = self.study()
        asked = {margin: self._check(margin) for margin in self.wanted.margins}
        charge = self.charge(found.plan, account)
        receipt = self._dp.ledger.charge(charge)
        engine, margins = self.stored.engine, self.wanted.margins
        exact = {m: np.ascontiguousarray(tabulate(engine, asked[m].shape).counts) for m in margins}
        # Noise is keyed by the secret, the records, the noise table, the whole request and the name of the quantity.
        named = self._dp.source.named
        run = _run(found.plan, exact, lambda table, name, size: named(table, (charge.request, name), size))
        notes = (joint_note(), *found.notes())
        releases = {m: self._to_release(asked[m], run.margins[m], notes) for m in margins}
        paid = self._charge_document(charge, receipt)
        return JointRelease(replace(found, runs=(run,)), releases, paid)

    def _check(self, margin: Axes) -> ParsedRequest:
        """A margin as a request, which must be allowed like any other table."""
        dataset = self.stored.dataset
        names = tuple(self.wanted.names[j] for j in margin)
        self._dp.refuse_excluded(canonical_margin(names, dataset))
        asked = parse_request(dataset, TableRequest(dataset.id, names, totals=False))
        refuse_by_rules(asked.request, asked.shape, dataset, self.stored.rules)
        return asked

    def _to_release(self, asked: ParsedRequest, table: NDArray[Any], notes: tuple[str, ...]) -> Release:
        stored, shape = self.stored, asked.shape
        noisy = np.rint(table).astype(np.int64)
        verdict = joint_verdict(stored, asked.request, shape, noisy)
        try:
            withheld = layout_for(verdict, shape, stored.dataset, "independent").withheld
        except Refused:  # it is already paid for
            withheld = np.ones(shape.lengths, dtype=np.bool_)
        return Release(
            dataset=stored.dataset,
            digest=stored.digest,
            request=asked.request,
            dimensions=shape.dimensions,
            values=np.where(withheld, 0, table),
            noisy=np.where(withheld, 0, noisy),
            status=np.where(withheld, WITHHELD, 0).astype(np.uint8),
            distribution=UnstatedDistribution(shape.lengths),
            notes=notes,
            promise=self._dp.promise(stored.dataset),
            verdict=None if verdict is None else verdict.as_json(),
        )

    def charge(self, plan: MarginMethod, account: str | None = None) -> Charge:
        """The charge of the margins; its name covers everything that decides the numbers."""
        dp, dataset = self._dp, self.stored.dataset
        terms, source = dp.plan.terms, dp.source
        if terms.composition != "basic":
            raise BadRequest(
                f"Margins are charged in epsilon and delta, but the budget's rule is {terms.composition}.",
                'Only a budget with rule = "basic" can pay for them.',
            )
        promised = Fraction(0) if isinstance(plan, Holistic) or not plan.delta else self.delta
        failure = promised + Fraction(plan.cut_delta)
        records = records_name(dataset.id, source.version, source.fingerprint)
        r = terms.records_per_unit
        weights: object = self.weights
        if not isinstance(self.weights, str):
            weights = sorted([list(margin), weight] for margin, weight in self.weights.items())
        amounts = [float(self.epsilon), float(self.delta)]
        how = [self.method, *amounts, terms.neighbours, r, weights, self._noise_of(plan)]
        listed = [[self.wanted.names[j] for j in margin] for margin in self.wanted.margins]
        request = canonical_request("margins", dataset.id, source.version, records, sorted(listed), how)
        if r > 1:
            failure = Fraction(group_delta(float_up(failure), float_up(self.epsilon), r))
        return Charge(terms.name, request, r * self.epsilon, failure, account)

    def _noise_of(self, plan: MarginMethod) -> str:
        """A hash of every noise table that the plan uses, found by a rehearsal on an empty table.

        A newer solver may find other scales: that is other noise, with a separate charge.
        """
        used: list[tuple[str, str]] = []

        def rehearse(table: NoiseTable, name: str, size: int) -> NDArray[np.int64]:
            used.append((name, mechanism_name(table)))
            return np.zeros(size, dtype=np.int64)

        wanted = self.wanted
        _run(plan, {m: np.zeros(wanted.margin_shape(m), dtype=np.int64) for m in wanted.margins}, rehearse)
        return hashlib.sha256(canonical_request(*sorted(used)).encode()).hexdigest()

    def _charge_document(self, charge: Charge, receipt: Receipt | None) -> dict[str, Any]:
        paid = receipt is not None and receipt.repeat
        return {
            "dataset": self.stored.dataset.id,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "charged": {
                "family": charge.budget,
                "epsilon": 0.0 if paid else float(charge.booked[0]),
                "delta": 0.0 if paid else float(charge.booked[1]),
                "repeat": paid,
                "spent": receipt is not None,
                "left": None if receipt is None else float(receipt.left[0]),
            },
        }


@dataclass(frozen=True)
class JointRelease:
    """Margins that were released together: the plan with the released run, each as a table, and the charge as data."""

    study: Study
    releases: Mapping[Axes, Release]
    paid: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """The document with its documented keys; a withheld number is null."""
        wanted = self.study.plan.wanted
        document = self.study.as_json()
        margins = {
            wanted.label(margin): np.where(
                release.missing, np.array(None), release.values.astype(object)
            ).tolist()
            for margin, release in self.releases.items()
        }
        document["runs"][0] |= {"max_l1": None, "margins": margins}
        dataset = next(iter(self.releases.values())).dataset
        names = [wanted.names[j] for j in sorted({j for margin in wanted.margins for j in margin})]
        return {
            **document,
            **self.paid,
            "categories": {name: list(dataset.variable(name).codes) for name in names},
            "notes": [joint_note(), *self.study.notes()],
        }


def dataset_margins(dataset: Dataset, wanted: str) -> MarginSet:
    """Parse margins such as "sex*age,sex*region"."""
    named = {part.strip() for word in wanted.split(",") for part in word.split("*") if part.strip()}
    for name in sorted(named):
        dataset.variable(name)
    names = [variable.name for variable in dataset.variables if variable.name in named]
    asked = parse_margins(wanted, names, [len(dataset.variable(name)) for name in names])
    return replace(asked, margins=tuple(sorted(asked.margins)))


def _run(plan: MarginMethod, exact: Mapping[Axes, NDArray[np.int64]], source: Any) -> Run:
    """The plan's release as one run; no figure compares with the true counts."""
    if isinstance(plan, Holistic):
        released = plan.release(exact, source)
        return Run(released.sample_size, 0.0, released.lp_b, released.margins)
    margins = {margin: np.round(table, DECIMALS) for margin, table in plan.release(exact, source).items()}
    return Run(round(float(margins[plan.wanted.margins[0]].sum()), DECIMALS), 0.0, None, margins)
