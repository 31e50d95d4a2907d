"""A dry run: the size of a table, the verdict of the rules and its cost, without its numbers.

A request is checked once; size, verdict and cost come from that check.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NotRequired

from typing_extensions import TypedDict

from discreet.errors import GroupsOnGeography, Refused, TableNotReleased, TooManyCells, TooManyVariables
from discreet.ledger.entries import AMOUNTS
from discreet.ledger.requester import Requester
from discreet.model.privacy_budget import format_amount
from discreet.model.request import TableRequest
from discreet.protect.dp_protector import DpProtector
from discreet.release.budget_document import AmountDocument, amount_document
from discreet.release.checked_request import (
    CheckedRequest,
    ParsedRequest,
    apply_rules,
    parse_listed_request,
    parse_request,
    unlock,
)
from discreet.release.verdicts import verdict_on
from discreet.rules.rule_set import find_alternatives
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import RuleDocument, Verdict, VerdictDocument, needs_table, rule_table
from discreet.workspace.workspace import StoredDataset

#: How many tables a search for an allowed one tries; those that fail by size alone do not count.
MOST_TRIED = 25
_CHEAP = (TooManyVariables, GroupsOnGeography, TooManyCells)


class DryRunDocument(TypedDict):
    """The size of a table and what the rules say of it; `suggestion` is the query of the nearest allowed one."""

    cells: int
    allowed: bool
    verdict: VerdictDocument
    suggestion: str | None
    cost: NotRequired[AmountDocument]


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The outcome of a request that was checked and not answered.

    Args:
        question: The checked request, if its shape is allowed.
        verdict: The verdict of the rules on counts, if they were applied; nothing unpaid is read.
        refusal: Why it is refused; None if it is not.
        sure: False if rules on counts apply and were not looked at.
    """

    asked: ParsedRequest
    question: CheckedRequest | None = None
    verdict: Verdict | None = None
    refusal: Refused | None = None
    sure: bool = True

    @property
    def price(self) -> str:
        """What the table would charge to the account, as in "epsilon 0.5"; empty if nothing."""
        protector = None if self.question is None or self.refusal is not None else unlock(self.question)[1]
        if not isinstance(protector, DpProtector) or protector.charge is None:
            return ""
        loss = AMOUNTS[protector.plan.terms.composition][0]
        return f"{loss} {format_amount(protector.charge.booked[0])}"


def try_request(
    stored: StoredDataset, request: TableRequest, asker: Requester | None = None, *, counting: bool = True
) -> Attempt:
    """Check a request and, unless it must be paid first, apply the rules on counts.

    Without `counting` no record is counted for them, and only cached verdicts are used.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request is not valid.
    """
    dataset, asked = stored.dataset, parse_listed_request(stored, request)
    question, verdict = None, None
    try:
        question = apply_rules(stored, asked, asker)
        _, protector = unlock(question)
        if protector.unpaid:
            return Attempt(asked, question)
        needed = not counting and needs_table(stored.rules, asked.counted, dataset)
        if needed and rule_table(asked.counted, dataset) not in stored.verdicts:
            return Attempt(asked, question, sure=False)
        verdict = verdict_on(stored, protector, asked.counted, asked.shape)
        layout_for(verdict, asked.shape, dataset, question.additivity)
    except Refused as refusal:
        return Attempt(asked, question, verdict, refusal)
    return Attempt(asked, question, verdict)


def dry_run(stored: StoredDataset, request: TableRequest, asker: Requester | None = None) -> DryRunDocument:
    """The size of a table, whether it is allowed, and the verdict of the rules as data.

    Of a table under `dp` that is not paid for no record is read, so the verdict is that of the shape.
    """
    found = try_request(stored, request, None if asker is None else replace(asker, takes=False))
    instead = None if found.refusal is None else suggestion(stored, found.asked.request)
    return dry_run_document(stored, found, instead)


def dry_run_document(stored: StoredDataset, found: Attempt, instead: TableRequest | None) -> DryRunDocument:
    """The document of an attempt, with the nearest allowed table."""
    document: DryRunDocument = {
        "cells": found.asked.shape.cells,
        "allowed": found.refusal is None,
        "verdict": _verdict(found),
        "suggestion": None if instead is None else instead.permalink,
    }
    if stored.dp is not None:  # what the table would charge: nothing inside the universe, and nothing twice
        answering = None if found.question is None or found.refusal is not None else unlock(found.question)[1]
        charge = answering.charge if isinstance(answering, DpProtector) else None
        cost = (Fraction(0), Fraction(0)) if charge is None else charge.booked
        document["cost"] = amount_document(cost, stored.dp.plan.terms.composition)
    return document


def suggestion(stored: StoredDataset, request: TableRequest) -> TableRequest | None:
    """The nearest allowed request; None if none was found among the first few."""
    return next(repairs(stored, request), None)


def repairs(stored: StoredDataset, request: TableRequest, *, counting: bool = True) -> Iterator[TableRequest]:
    """Allowed requests near this one, the nearest first, among the first few."""
    tried = 0

    def refusal(candidate: TableRequest) -> Refused | None:
        nonlocal tried
        found = try_request(stored, candidate, counting=counting)
        tried += not isinstance(found.refusal, _CHEAP)
        if tried > MOST_TRIED:
            raise _SearchEnd
        return found.refusal

    try:
        asked = parse_request(stored.dataset, request).request
        yield from find_alternatives(asked, stored.dataset, stored.rules, refusal)
    except _SearchEnd:
        return


class _SearchEnd(Exception):
    """The search has tried enough tables."""


def _verdict(found: Attempt) -> VerdictDocument:
    """The verdict as data: of the rules on counts if they were applied, else of the shape."""
    if found.verdict is not None and isinstance(found.refusal, TableNotReleased | None):
        return found.verdict.as_json()
    if found.refusal is None:
        return {"passed": 1, "blocked": 0, "total": 1, "table_error": None, "rules": []}
    refusal = found.refusal
    rule: RuleDocument = {"code": refusal.code, "message": refusal.message, "advice": refusal.advice}
    return {"passed": 0, "blocked": 1, "total": 1, "table_error": refusal.message, "rules": [rule]}
