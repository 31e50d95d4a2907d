"""The plan of a version as `noise.json`: every margin with its share and epsilon, and every noise table once, as integers.

The integers that were charged for are still looked up years later, even if a newer program would design others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BadNoiseTable, DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.universe import Margin, dp_terms
from discreet.noise.files import from_document, to_document
from discreet.noise.table import NoiseTable, mechanism_name
from discreet.privacy.claim import Claim
from discreet.protect.best_composition import Figure, claim_of
from discreet.protect.joint_plan import JointPlan, Residual, read_joint
from discreet.protect.plan import NoisePlan, PlannedTable

FORMAT = "discreet-noise-plan"
VERSION = 1


@lru_cache(maxsize=4)  # a load uses the text three times
def plan_text(plan: NoisePlan) -> str:
    """The plan as JSON text, always the same for the same plan."""
    tables = [*plan.tables, *([] if plan.answer is None else [plan.answer])]
    laws = {mechanism_name(table.noise): _noise_document(table.noise) for table in tables}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "currency": plan.currency,
        "tables": [_table(table) for table in plan.tables],
        "answer": None if plan.answer is None else _table(plan.answer),
        "noise": laws,
        "claim": None if plan.claim is None else _claim(plan.claim),
    }
    if plan.joint is not None:
        document["residuals"] = [_residual(each) for each in plan.joint.residuals]
        document["noise"] = laws | _joint_noise(plan.joint)
    return json.dumps(document, indent=1, ensure_ascii=True, sort_keys=True) + "\n"


@lru_cache(maxsize=8)
def _joint_noise(joint: JointPlan) -> dict[str, dict[str, Any]]:
    """The noise tables of all residuals."""
    tables = [each.noise for each in joint.residuals if each.noise is not None]
    return {mechanism_name(table): _noise_document(table) for table in tables}


@lru_cache(maxsize=8)
def read_plan(text: str, dataset: Dataset) -> NoisePlan:
    """The plan of a file, for the dataset of its description.

    Raises:
        BadNoiseTable: It is no plan, or its integers contradict themselves.
    """
    terms, universe = dp_terms(dataset)
    try:
        document = json.loads(text)
        laws = {name: from_document(law) for name, law in document["noise"].items()}
        tables = tuple(_read_table(entry, laws) for entry in document["tables"])
        answer = None if document["answer"] is None else _read_table(document["answer"], laws)
        joint = None
        if universe.style == "joint":
            joint = read_joint(dataset, universe, terms, _residuals(document["residuals"], laws))
        else:
            universe = replace(universe, margins=tuple(table.margin for table in tables))
        plan = NoisePlan(universe, terms, tables, str(document["currency"]), answer, joint=joint)
        claim = document["claim"]
        if claim is None:
            return plan
        figure = Figure(Fraction(claim["epsilon"]), Fraction(claim["delta"]))
        return replace(plan, claim=claim_of(plan, str(claim["method"]), figure))
    except (ValueError, KeyError, TypeError, AttributeError, DiscreetError):
        raise BadNoiseTable("The noise plan cannot be read.", "Load the dataset again.") from None


def _noise_document(table: NoiseTable) -> dict[str, Any]:
    """The document of a noise table without provenance, moments and notes."""
    whole = to_document(table)
    return {key: whole[key] for key in whole if key not in {"provenance", "moments", "notes"}}


def _claim(claim: Claim) -> dict[str, Any]:
    return {"method": claim.method, "epsilon": str(claim.epsilon), "delta": str(claim.delta)}


def _table(table: PlannedTable) -> dict[str, Any]:
    return {
        "margin": list(table.margin),
        "share": str(table.share),
        "epsilon": table.epsilon,
        "noise": mechanism_name(table.noise),
    }


def _residual(residual: Residual) -> dict[str, Any]:
    noise = residual.noise
    return {
        "margin": list(residual.margin),
        "grid": residual.grid,
        "noise": None if noise is None else mechanism_name(noise),
    }


def _residuals(
    entries: Sequence[Mapping[str, Any]], laws: Mapping[str, NoiseTable]
) -> dict[Margin, tuple[int, NoiseTable | None]]:
    return {
        tuple(each["margin"]): (int(each["grid"]), None if each["noise"] is None else _noise(each, laws))
        for each in entries
    }


def _noise(entry: Mapping[str, Any], laws: Mapping[str, NoiseTable]) -> NoiseTable:
    noise = laws[entry["noise"]]
    if mechanism_name(noise) != entry["noise"]:
        raise BadNoiseTable(
            "A noise table of the plan is not the one that was charged.", "Load the dataset again."
        )
    return noise


def _read_table(entry: Mapping[str, Any], laws: Mapping[str, NoiseTable]) -> PlannedTable:
    noise = _noise(entry, laws)
    return PlannedTable(tuple(entry["margin"]), Fraction(entry["share"]), float(entry["epsilon"]), noise)
