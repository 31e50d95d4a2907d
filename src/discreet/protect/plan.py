"""The plan of a dataset under `dp`: one noise table for each released margin, written as `noise.json`.

    in epsilon:  epsilon(margin) = share / (changes x records per unit),             shares sum to E
    in rho:      rho(cell) = share / (changes x records per unit^2), V = 1/(2 rho),  shares sum to rho(E, delta)

A record affects one cell of each margin, or two for replace-one neighbours; a unit with r records may put all of them into
one cell, which costs r times (epsilon) or r^2 times (rho) as much. The noise family decides which of the two scales it.
A joint universe has residuals (`joint_plan`) with Gaussian noise instead of tables.

Shares that sum to epsilon are needed for basic composition. With many tables the best composition argument gives a smaller
epsilon, so all shares are multiplied by t (`calibrate`),

    t ← t · E / claim(t),    until  (1 - WITHIN) E ≤ claim(t) ≤ E,

and the last plan whose claim is within E is taken. Everything follows from public facts. The file has every noise table
once: the integers that were charged for are still looked up years later, even if a newer program would design others.

Source: Rinott et al. (2018), section 7; docs/methods/dp.md.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BadDescription, BadNoiseTable, DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
from discreet.model.privacy_budget import Terms
from discreet.model.universe import STYLES, Margin, Universe, contains, dp_terms, margin_cells, noisy_margins
from discreet.noise.families import build, families
from discreet.noise.family import Currency
from discreet.noise.files import from_document, to_document
from discreet.noise.files.document import NoisePlanDocument
from discreet.noise.table import NoiseTable, mechanism_name
from discreet.privacy.accounting import TableCost, rho_at
from discreet.privacy.claim import Claim, float_down, float_up
from discreet.protect.best_composition import Figure, claim_of, figures
from discreet.protect.budget_allocation import shares_of
from discreet.protect.joint_plan import JointPlan, joint_errors, make_joint, read_joint

#: The part of epsilon that may be left.
WITHIN = Fraction(1, 1000)
#: A step aims this much below epsilon, to avoid an end just above it.
_BELOW = Fraction(4, 10_000)
_ROUNDS = 8


def calibrate(plan_at: Callable[[Fraction], NoisePlan]) -> NoisePlan:
    """The plan with the largest shares whose claim is within the epsilon of its terms; `plan_at` multiplies all shares."""
    best = plan_at(Fraction(1))
    granted, times = best.terms.epsilon, Fraction(1)
    claim = _claim(best)
    for _ in range(_ROUNDS):
        if not claim or granted * (1 - WITHIN) <= claim <= granted:  # 0: delta alone is enough
            break
        times = (times * granted / claim * (1 - _BELOW)).limit_denominator(10**6)
        if times <= 1:
            break
        found = plan_at(times)
        claim = _claim(found)
        if claim is not None and claim <= granted:
            best = found
    return best


def _claim(plan: NoisePlan) -> Fraction | None:
    return min((figure.epsilon for figure in figures(plan).values()), default=None)


MODULUS = 2**64


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A released margin: its share of the budget, the epsilon of one changed cell, and its noise."""

    margin: Margin
    share: Fraction
    epsilon: float
    noise: NoiseTable


@dataclass(frozen=True)
class NoisePlan:
    """All noise tables of one version of a dataset.

    Args:
        universe: The declared tables; its `margins` are those of `tables`.
        currency: `epsilon` or `rho`: the unit of the shares.
        answer: The noise and cost of any one margin outside the universe; None if none is available.
        claim: The claim made when the version was loaded, permanently; None before.
        joint: The residuals of a joint universe, which has no `tables`; otherwise None.
    """

    universe: Universe
    terms: Terms
    tables: tuple[PlannedTable, ...]
    currency: str
    answer: PlannedTable | None = None
    claim: Claim | None = None
    joint: JointPlan | None = None

    @property
    def d(self) -> int:
        """The number of cells that each record is counted in; for a joint universe, of residuals with noise."""
        if self.joint is None:
            return len(self.tables)
        return sum(each.noise is not None for each in self.joint.residuals)

    def noise(self) -> dict[Margin, NoiseTable]:
        return {table.margin: table.noise for table in self.tables}

    def variances(self) -> dict[Margin, float]:
        return {table.margin: float(table.noise.rows[0].variance()) for table in self.tables}

    def spent(self) -> tuple[TableCost, ...]:
        """The tables as input of composition, equal ones together."""
        found = Counter((table.noise, table.epsilon) for table in self.tables)
        return tuple(TableCost(noise, epsilon, times) for (noise, epsilon), times in found.items())


def make_plan(dataset: Dataset, universe: Universe, terms: Terms, noise: Mapping[str, Any]) -> NoisePlan:
    """Allocate the budget and design the noise of `[protection.noise]`."""
    joint = universe.style == "joint"
    shares = {} if joint else shares_of(dataset, universe, terms, _Source.of(noise).currency)
    if terms.composition == "zcdp" and terms.answer_cost > rho_at(terms.cap_epsilon, terms.cap_delta):
        cap = float(rho_at(terms.cap_epsilon, terms.cap_delta))  # `Terms` checks epsilon
        raise BadDescription(
            f"answer_cost is {float(terms.answer_cost):g}, and the budget has rho {cap:.4g}.",
            'Under rule = "zcdp" it is a rho: give what one table may cost, up to the cap, or leave it out.',
        )
    answer = interactive_table(terms, (), terms.answer_cost, noise) if terms.answer_cost else None
    if joint:
        return NoisePlan(universe, terms, (), "rho", answer, joint=make_joint(dataset, universe, terms))
    source = _Source.of(noise)

    def plan_at(times: Fraction) -> NoisePlan:
        tables = tuple(
            _plan_table(margin, share * times, terms, source)
            for margin, share in sorted(shares.items(), key=lambda item: (len(item[0]), item[0]))
        )
        released = replace(universe, margins=tuple(table.margin for table in tables))
        return NoisePlan(released, terms, tables, source.currency, answer)

    claims_less = terms.calibrate and terms.delta > 0 and terms.composition == "basic"
    return calibrate(plan_at) if claims_less else plan_at(Fraction(1))


def interactive_table(
    terms: Terms, margin: Margin, share: Fraction, noise: Mapping[str, Any]
) -> PlannedTable:
    """One canonical margin outside the universe at a share of the budget: epsilon, or rho under zCDP."""
    source = _Source.of(noise)
    wanted: Currency = "rho" if terms.composition == "zcdp" else "epsilon"
    if source.currency != wanted or share <= 0:
        fitting = ", ".join(each.name for each in families() if each.currency == wanted)
        raise BadDescription(
            f'A share of {float(share):g} of {source.family} noise does not fit the ledger\'s rule "{terms.composition}".',
            f"Use one of {fitting} with that rule, and a share above 0.",
        )
    return _plan_table(margin, share, terms, source)


@dataclass(frozen=True, slots=True)
class _Source:
    """The noise of a plan: a family with a scale, and its other parameters."""

    family: str
    currency: Currency
    parameters: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, noise: Mapping[str, Any]) -> _Source:
        """Read `[protection.noise]`; a family without a scale, or a given scale, is refused."""
        parameters = dict(noise)
        family = str(parameters.pop("family"))
        able = {each.name: each.currency for each in families() if each.currency is not None}
        if family not in able:
            raise BadDescription(
                f'The noise family "{family}" cannot serve `dp`: it depends on the count or has no scale.',
                nearest(family, able),
            )
        for own in ("epsilon", "V", "modulus"):
            if own in parameters:
                raise BadDescription(
                    f"`{own}` of [protection.noise] follows from the budget.",
                    "Take it out; set epsilon in the budget.",
                )
        return cls(family, able[family], tuple(sorted(parameters.items())))


def _plan_table(margin: Margin, share: Fraction, terms: Terms, source: _Source) -> PlannedTable:
    r, changes = terms.records_per_unit, terms.changes
    if source.currency == "epsilon":
        epsilon = float_down(share / (changes * r))
        return PlannedTable(margin, share, epsilon, _noise_table(source, "epsilon", epsilon))
    rho = share / (changes * r * r)
    variance = float_up(1 / (2 * rho))  # rounding never removes noise
    # Such a table has no separate epsilon: all of them are accounted together at the whole one.
    return PlannedTable(margin, share, float_down(terms.epsilon), _noise_table(source, "V", variance))


@lru_cache(maxsize=1024)
def _noise_table(source: _Source, parameter: str, scale: float) -> NoiseTable:
    return build(source.family, {parameter: scale, **dict(source.parameters)}, MODULUS)


def style_advice(plan: NoisePlan, dataset: Dataset) -> dict[str, Any]:
    """The mean standard deviation of the declared tables' cells under each style, and the style with the smallest.

        sd(table) = least over released margins that contain it of  sqrt(cells(margin) / cells(table)) x sd(margin's noise)

    With separate noise a small table has few terms but shares the budget with all others; as a sum it has many terms of
    noise that shares with few. A joint universe has one variance per residual, for the least weighted error of all tables.

    Source: Rinott et al. (2018), section 7, with 14/eps, 8.5/eps and 21/eps (`budget_allocation.margin_advice`).
    """
    found = {style: _mean_deviation(plan, dataset, style) for style in STYLES if style != "joint"}
    with suppress(BadDescription):  # the terms may not fit Gaussian residuals
        errors = joint_errors(dataset, plan.universe, plan.terms)
        tables = plan.universe.noisy
        found["joint"] = math.fsum(map(errors.standard_deviation, tables)) / len(tables)
    best = min(found, key=lambda style: (found[style], style))
    here = plan.universe.style
    advice = (
        f'margins = "{here}" has the smaller mean standard deviation.'
        if best == here
        else f'margins = "{best}" would have the smaller mean standard deviation, {found[best]:.3g} for {found[here]:.3g}.'
    )
    return {**found, "advice": advice}


def _mean_deviation(plan: NoisePlan, dataset: Dataset, style: str) -> float:
    """The mean over declared tables of the least deviation that a released margin gives, from the ideal distributions."""
    universe, r, changes = plan.universe, plan.terms.records_per_unit, plan.terms.changes
    margins = noisy_margins(universe.declared, style, dataset, universe.known)
    shares = shares_of(dataset, replace(universe, style=style, margins=margins), plan.terms, plan.currency)

    def noise(share: float) -> float:
        if plan.currency == "epsilon":
            return 1 / (math.sqrt(2) * math.sinh(share / (2 * changes * r)))
        return math.sqrt(changes * r * r / (2 * share))

    def deviation(table: Margin) -> float:
        cells = margin_cells(table, dataset)
        return min(
            math.sqrt(margin_cells(margin, dataset) / cells) * noise(float(share))
            for margin, share in shares.items()
            if contains(margin, table, dataset)
        )

    return math.fsum(map(deviation, universe.noisy)) / len(universe.noisy)


FORMAT = "discreet-noise-plan"
VERSION = 1


@lru_cache(maxsize=4)  # a load uses the text three times
def plan_text(plan: NoisePlan) -> str:
    """The plan as JSON text, always the same for the same plan."""
    tables = [*plan.tables, *([] if plan.answer is None else [plan.answer])]
    claim = plan.claim
    document: NoisePlanDocument = {
        "format": FORMAT,
        "version": VERSION,
        "currency": plan.currency,
        "tables": [_table(table) for table in plan.tables],
        "answer": None if plan.answer is None else _table(plan.answer),
        "noise": _noise_documents(table.noise for table in tables),
        "claim": None
        if claim is None
        else {"method": claim.method, "epsilon": str(claim.epsilon), "delta": str(claim.delta)},
    }
    if plan.joint is not None:
        residuals = plan.joint.residuals
        document["residuals"] = [
            {
                "margin": list(each.margin),
                "grid": each.grid,
                "noise": None if each.noise is None else mechanism_name(each.noise),
            }
            for each in residuals
        ]
        document["noise"] = document["noise"] | _joint_noise(plan.joint)
    return json.dumps(document, indent=1, ensure_ascii=True, sort_keys=True) + "\n"


@lru_cache(maxsize=8)  # by identity: tables are equal whatever their parameters
def _joint_noise(joint: JointPlan) -> dict[str, dict[str, Any]]:
    return _noise_documents(each.noise for each in joint.residuals if each.noise is not None)


def _noise_documents(tables: Iterable[NoiseTable]) -> dict[str, dict[str, Any]]:
    """The documents of noise tables by name, without provenance, moments and notes."""
    left_out = {"provenance", "moments", "notes"}
    return {
        mechanism_name(table): {
            key: value for key, value in to_document(table).items() if key not in left_out
        }
        for table in tables
    }


@lru_cache(maxsize=8)
def read_plan(text: str, dataset: Dataset) -> NoisePlan:
    """The plan of a file, for the dataset of its description."""
    terms, universe = dp_terms(dataset)
    try:
        document = json.loads(text)
        distributions = {
            name: from_document(distribution) for name, distribution in document["noise"].items()
        }
        tables = tuple(_read_table(entry, distributions) for entry in document["tables"])
        answer = None if document["answer"] is None else _read_table(document["answer"], distributions)
        joint = None
        if universe.style == "joint":
            stored = {
                tuple(each["margin"]): (
                    int(each["grid"]),
                    None if each["noise"] is None else _parse_noise(each, distributions),
                )
                for each in document["residuals"]
            }
            joint = read_joint(dataset, universe, terms, stored)
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


def _table(table: PlannedTable) -> dict[str, Any]:
    return {
        "margin": list(table.margin),
        "share": str(table.share),
        "epsilon": table.epsilon,
        "noise": mechanism_name(table.noise),
    }


def _parse_noise(entry: Mapping[str, Any], distributions: Mapping[str, NoiseTable]) -> NoiseTable:
    noise = distributions[entry["noise"]]
    if mechanism_name(noise) != entry["noise"]:
        raise BadNoiseTable(
            "A noise table of the plan is not the one that was charged.", "Load the dataset again."
        )
    return noise


def _read_table(entry: Mapping[str, Any], distributions: Mapping[str, NoiseTable]) -> PlannedTable:
    noise = _parse_noise(entry, distributions)
    return PlannedTable(tuple(entry["margin"]), Fraction(entry["share"]), float(entry["epsilon"]), noise)
