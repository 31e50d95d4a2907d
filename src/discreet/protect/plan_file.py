"""The plan of a version as a file: every margin with its share and epsilon, and every noise table once, as integers.

Years later the integers that were charged for are still looked up, even if a newer program would design others.

Comes from: `make_plan` at load. Goes to: `noise.json` of a version, and back.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import BadNoiseTable, DiscreetError
from discreet.model.declared_dp import declared_dp
from discreet.noise.files import from_document, to_document
from discreet.noise.identity import mechanism_name
from discreet.protect.plan import NoisePlan, PlannedTable
from discreet.protect.tightest import Figure, claim_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable
    from discreet.privacy.claim import Claim

FORMAT = "discreet-noise-plan"
VERSION = 1


def plan_text(plan: NoisePlan) -> str:
    """The plan as JSON text, always the same for the same plan."""
    tables = [*plan.tables, *([] if plan.answer is None else [plan.answer])]
    laws = {mechanism_name(table.noise): _law(table.noise) for table in tables}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "currency": plan.currency,
        "tables": [_table(table) for table in plan.tables],
        "answer": None if plan.answer is None else _table(plan.answer),
        "noise": laws,
        "claim": None if plan.claim is None else _claim(plan.claim),
    }
    return json.dumps(document, indent=1, ensure_ascii=True, sort_keys=True) + "\n"


def read_plan(text: str, dataset: Dataset) -> NoisePlan:
    """The plan of a file, for the dataset whose description it was made from.

    Raises:
        BadNoiseTable: It is no plan, or its integers contradict themselves.
    """
    terms, universe = declared_dp(dataset)
    try:
        document = json.loads(text)
        laws = {name: from_document(law) for name, law in document["noise"].items()}
        tables = tuple(_planned(entry, laws) for entry in document["tables"])
        answer = None if document["answer"] is None else _planned(document["answer"], laws)
        released = replace(universe, margins=tuple(table.margin for table in tables))
        plan = NoisePlan(released, terms, tables, str(document["currency"]), answer)
        return replace(plan, claim=_read_claim(plan, document["claim"]))
    except (ValueError, KeyError, TypeError, AttributeError, DiscreetError):
        raise BadNoiseTable("The noise plan cannot be read.", "Load the dataset again.") from None


def _law(table: NoiseTable) -> dict[str, Any]:
    """The document of a noise table without what an audit or a person would add."""
    whole = to_document(table)
    return {key: whole[key] for key in whole if key not in {"provenance", "moments", "notes"}}


def _claim(claim: Claim) -> dict[str, Any]:
    return {"method": claim.method, "epsilon": str(claim.epsilon), "delta": str(claim.delta)}


def _read_claim(plan: NoisePlan, entry: Mapping[str, Any] | None) -> Claim | None:
    if entry is None:
        return None
    return claim_of(plan, str(entry["method"]), Figure(Fraction(entry["epsilon"]), Fraction(entry["delta"])))


def _table(table: PlannedTable) -> dict[str, Any]:
    return {
        "margin": list(table.margin),
        "share": str(table.share),
        "epsilon": table.epsilon,
        "noise": mechanism_name(table.noise),
    }


def _planned(entry: Mapping[str, Any], laws: Mapping[str, NoiseTable]) -> PlannedTable:
    noise = laws[entry["noise"]]
    if mechanism_name(noise) != entry["noise"]:
        raise BadNoiseTable(
            "A noise table of the plan is not the one that was charged.", "Load the dataset again."
        )
    return PlannedTable(tuple(entry["margin"]), Fraction(entry["share"]), float(entry["epsilon"]), noise)
