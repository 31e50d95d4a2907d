"""A dry run: the size of a table, the verdict of the rules and its cost, without its numbers.

A request is checked once; size, verdict and cost come from that check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import GroupsOnGeography, Refused, TableNotReleased, TooManyCells, TooManyVariables
from discreet.ledger.requester import Requester
from discreet.model.request import TableRequest
from discreet.protect.dp_protector import DpProtector
from discreet.release.budget_document import cost_document
from discreet.release.checked_request import (
    CheckedRequest,
    ParsedRequest,
    apply_rules,
    parse_listed_request,
    parse_request,
    unlock,
)
from discreet.release.verdicts import verdict_on
from discreet.rules.alternatives import find_alternatives
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import Verdict, needs_table, rule_table
from discreet.workspace.workspace import StoredDataset

#: How many tables a search for an allowed one tries; those that fail by size alone do not count.
MOST_TRIED = 25
_CHEAP = (TooManyVariables, GroupsOnGeography, TooManyCells)


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The outcome of a request that was checked and not answered.

    Args:
        asked: The parsed request.
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


def try_request(
    stored: StoredDataset, request: TableRequest, asker: Requester | None = None, *, counting: bool = True
) -> Attempt:
    """Check a request and, unless it must be paid first, apply the rules on counts.

    Args:
        stored: The version.
        request: The request.
        asker: The requester.
        counting: Whether records may be counted for the rules; otherwise only cached verdicts are used.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request is not valid.
    """
    asked = parse_listed_request(stored, request)
    try:
        question = apply_rules(stored, asked, asker)
    except Refused as refusal:
        return Attempt(asked, refusal=refusal)
    _, protector = unlock(question)
    if protector.unpaid:
        return Attempt(asked, question)
    if not counting and _is_unknown(stored, asked.counted):
        return Attempt(asked, question, sure=False)
    try:
        verdict = verdict_on(stored, protector, asked.counted, asked.shape)
    except Refused as refusal:
        return Attempt(asked, question, refusal=refusal)
    try:
        layout_for(verdict, asked.shape, stored.dataset, question.additivity)
    except Refused as refusal:
        return Attempt(asked, question, verdict, refusal)
    return Attempt(asked, question, verdict)


def _is_unknown(stored: StoredDataset, counted: TableRequest) -> bool:
    """Whether rules on counts apply and their verdict is not cached."""
    needed = needs_table(stored.rules, counted, stored.dataset)
    return needed and rule_table(counted, stored.dataset) not in stored.verdicts


def dry_run(stored: StoredDataset, request: TableRequest, asker: Requester | None = None) -> dict[str, Any]:
    """The size of a table, whether it is allowed, and the verdict of the rules as data.

    Returns:
        `{cells, allowed, verdict: {passed, blocked, total, table_error, rules: [{code, message, advice}]},
        suggestion}`; `suggestion` is the query of the nearest allowed table where this one is not. Under `dp` also
        `cost`, what the table would charge; of one that is not paid for no record is read, so the verdict is that
        of the shape.
    """
    found = try_request(stored, request, None if asker is None else replace(asker, takes=False))
    instead = None if found.refusal is None else suggestion(stored, found.asked.request)
    return dry_run_document(stored, found, instead)


def dry_run_document(stored: StoredDataset, found: Attempt, instead: TableRequest | None) -> dict[str, Any]:
    """The document of an attempt, with the nearest allowed table."""
    return {
        "cells": found.asked.shape.cells,
        "allowed": found.refusal is None,
        "verdict": _verdict(found),
        "suggestion": None if instead is None else instead.permalink,
        **_cost(stored, found),
    }


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


def _verdict(found: Attempt) -> dict[str, Any]:
    """The verdict as data: of the rules on counts if they were applied, else of the shape."""
    if found.verdict is not None and isinstance(found.refusal, TableNotReleased | None):
        return found.verdict.as_json()
    if found.refusal is None:
        return {"passed": 1, "blocked": 0, "total": 1, "table_error": None, "rules": []}
    refusal = found.refusal
    rule = {"code": refusal.code, "message": refusal.message, "advice": refusal.advice}
    return {"passed": 0, "blocked": 1, "total": 1, "table_error": refusal.message, "rules": [rule]}


def _cost(stored: StoredDataset, found: Attempt) -> dict[str, Any]:
    """Under `dp`, what the table would charge: nothing inside the universe, and nothing twice."""
    if stored.dp is None:
        return {}
    answering = None if found.question is None or found.refusal is not None else unlock(found.question)[1]
    charge = answering.charge if isinstance(answering, DpProtector) else None
    return {"cost": cost_document(charge, stored.dp.plan.terms.composition)}
