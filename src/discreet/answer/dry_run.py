"""A dry run: how large a table is and what the rules say of it, without its numbers.

Comes from: the faces. Goes to: a reader who is still choosing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.answer.budget_document import cost_document
from discreet.answer.pipeline import ask
from discreet.answer.verdicts import verdict_on
from discreet.answer.weighted import counted_by_strata
from discreet.errors import Refused
from discreet.model.request import canonical
from discreet.model.shape import table_shape
from discreet.protect.dp_protector import DpProtector
from discreet.rules.advice import nearest_allowed
from discreet.rules.shape_rules import shape_rules
from discreet.rules.withheld import withheld_cells

if TYPE_CHECKING:
    from discreet.ledger.group_meter import Asker
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.workspace.workspace import StoredDataset

#: How many tables are judged at most in search of one that is allowed.
MOST_TRIED = 25


def dry_run(stored: StoredDataset, request: TableRequest, asker: Asker | None = None) -> dict[str, Any]:
    """The size of a table, whether it is allowed, and the verdict of the rules as data.

    Returns:
        `{cells, allowed, verdict: {passed, blocked, total, table_error, rules: [{code, message, advice}]},
        suggestion}`; `suggestion` is the query of the nearest allowed table where this one is not. Under `dp` also
        `cost`, what the table would charge; of one that is not paid for no record is read, so the verdict is that
        of the shape.
    """
    asker = None if asker is None else replace(asker, takes=False)
    asked = canonical(request, stored.dataset)
    shape = table_shape(asked, stored.dataset)
    refusal = refusal_of(stored, asked, asker)
    instead = None if refusal is None else suggestion(stored, asked)
    return {
        "cells": shape.cells,
        "allowed": refusal is None,
        "verdict": _verdict(stored, asked, shape, refusal, asker),
        "suggestion": None if instead is None else instead.permalink,
        **_cost(stored, asked, refusal, asker),
    }


def refusal_of(stored: StoredDataset, request: TableRequest, asker: Asker | None = None) -> Refused | None:
    """Why a request is not answered, or None if it is; nothing of the table is told, nothing unpaid is read."""
    try:
        question = ask(stored, request, asker)
        if question.protector.unpaid:
            return None
        judged = counted_by_strata(question.request, stored.dataset)
        verdict = verdict_on(stored, question.protector, judged, question.shape)
        withheld_cells(verdict, question.shape, stored.dataset, question.additivity)
    except Refused as refusal:
        return refusal
    return None


def suggestion(stored: StoredDataset, request: TableRequest) -> TableRequest | None:
    """The nearest request that is allowed; None where none was found among the first few."""
    asked = canonical(request, stored.dataset)
    judged_so_far = 0

    def refusal(candidate: TableRequest) -> Refused | None:
        nonlocal judged_so_far
        shape = table_shape(candidate, stored.dataset)
        by_shape = next(
            filter(None, (rule(candidate, shape, stored.dataset) for rule in shape_rules(stored.dataset))),
            None,
        )
        judged_so_far += by_shape is None
        if by_shape is not None or judged_so_far <= MOST_TRIED:
            return by_shape or refusal_of(stored, candidate)
        raise _Enough

    try:
        return nearest_allowed(asked, stored.dataset, stored.rules, refusal)
    except _Enough:
        return None


class _Enough(Exception):
    """So many tables were judged that the search ends."""


def _verdict(
    stored: StoredDataset,
    asked: TableRequest,
    shape: TableShape,
    refusal: Refused | None,
    asker: Asker | None,
) -> dict[str, Any]:
    """What the rules say as data: of the counts where they were looked at, else of the shape alone."""
    by_counts = None
    if refusal is None or refusal.code == "table-not-released":
        protector = ask(stored, asked, asker).protector
        if not protector.unpaid:
            by_counts = verdict_on(stored, protector, counted_by_strata(asked, stored.dataset), shape)
    if by_counts is not None:
        return by_counts.as_json()
    if refusal is None:
        return {"passed": 1, "blocked": 0, "total": 1, "table_error": None, "rules": []}
    rule = {"code": refusal.code, "message": refusal.message, "advice": refusal.advice}
    return {"passed": 0, "blocked": 1, "total": 1, "table_error": refusal.message, "rules": [rule]}


def _cost(
    stored: StoredDataset, asked: TableRequest, refusal: Refused | None, asker: Asker | None
) -> dict[str, Any]:
    """Under `dp`, what the table would charge: nothing inside the universe, and nothing twice."""
    if stored.published is None:
        return {}
    protector = None if refusal is not None else ask(stored, asked, asker).protector
    charge = protector.charge if isinstance(protector, DpProtector) else None
    return {"cost": cost_document(charge, stored.published.plan.terms.rule)}
