"""Charges: what a version and one more margin cost a budget, and their names in the ledger.

A load charges the whole claim of its universe; a margin outside the universe is charged separately. Both count towards the
budget's lifetime cap. A charge's name contains everything that decides the noise and the unit of privacy: the same name
means the same numbers, and is paid once.

Source: docs/methods/dp.md, sections 2, 4 and 7.
"""

import json
import math
from fractions import Fraction
from typing import Any

from discreet.errors import BadDescription
from discreet.ledger import entries
from discreet.ledger.entries import Budget, Charge, KnownPaid, Receipt, canonical_request, records_name
from discreet.ledger.ledger import Ledger
from discreet.model.dataset import Dataset
from discreet.model.privacy_budget import Terms, format_amount, round_up_to_units
from discreet.model.universe import Margin
from discreet.noise.families import families
from discreet.noise.table import NoiseTable, mechanism_name
from discreet.privacy.accounting import distance_to_ideal, ideal_rho, rho_at, table_delta
from discreet.privacy.claim import float_down, float_up, group_delta, three_digits_up
from discreet.protect.best_composition import basic_figure, figures
from discreet.protect.plan import NoisePlan, PlannedTable


def version_charge(plan: NoisePlan, dataset: Dataset, version: str, fingerprint: str) -> Charge:
    """The charge of a version: the whole claim of its universe, once."""
    loss, failure = version_cost(plan)
    return Charge(plan.terms.name, version_charge_name(plan, dataset, version, fingerprint), loss, failure)


def version_charge_name(plan: NoisePlan, dataset: Dataset, version: str, fingerprint: str) -> str:
    """The name of a version's charge: everything that decides its noise, and the unit of privacy."""
    noise: list[list[object]] = [[list(each.margin), mechanism_name(each.noise)] for each in plan.tables]
    if plan.joint is not None:
        measured = [(r, None if r.noise is None else mechanism_name(r.noise)) for r in plan.joint.residuals]
        noise = [["joint", list(r.margin), r.grid, name] for r, name in measured]
    records = records_name(dataset.id, version, fingerprint)
    return canonical_request("universe", dataset.id, version, records, noise, _unit(plan.terms))


def answer_charge(
    plan: NoisePlan, dataset: Dataset, version: str, fingerprint: str, table: PlannedTable, account: str
) -> Charge:
    """The charge of one whole margin outside the universe to an account.

    Its name is that of the margin and its noise, so every request that the margin answers is paid at once, for all accounts.
    """
    loss, failure = answer_cost(plan.terms, table.noise, table.epsilon)
    named = _answers(dataset, version, fingerprint)
    request = canonical_request(*named, list(table.margin), mechanism_name(table.noise), _unit(plan.terms))
    return Charge(plan.terms.name, request, loss, failure, account)


def paid_margins(
    ledger: Ledger, plan: NoisePlan, dataset: Dataset, version: str, fingerprint: str
) -> tuple[list[Margin], KnownPaid]:
    """The paid margins outside the universe with the plan's noise, in the order of payment, and how they were found."""
    prefix = canonical_request(*_answers(dataset, version, fingerprint)).removesuffix("]")
    requests = ledger.paid(plan.terms.name, prefix)
    alike = None if plan.answer is None else [mechanism_name(plan.answer.noise), _unit(plan.terms)]
    found = [(tuple(margin), [noise, unit]) for *_, margin, noise, unit in map(json.loads, requests)]
    return [margin for margin, paid in found if paid == alike], KnownPaid(prefix, len(requests))


def _answers(dataset: Dataset, version: str, fingerprint: str) -> tuple[str, ...]:
    return "margin", dataset.id, version, records_name(dataset.id, version, fingerprint)


def charge_document(charge: Charge, receipt: Receipt, rule: str) -> dict[str, Any]:
    """The charge of an answer and the amount left, as data and in a sentence."""
    names = entries.AMOUNTS[rule]
    amounts, left = (
        dict(zip(names, map(float, pair), strict=True))
        for pair in ((receipt.loss, receipt.failure), receipt.left)
    )
    whose = "the budget" if charge.account is None else f'the share of "{charge.account}"'
    return {
        "budget": charge.budget,
        "account": charge.account,
        **amounts,
        "left": left,
        "sentence": f'Charged {names[0]} {format_amount(receipt.loss)} to the budget "{charge.budget}"; '
        f"{format_amount(receipt.left[0])} of {whose} is left.",
    }


def answer_cost(terms: Terms, table: NoiseTable, epsilon: float) -> tuple[Fraction, Fraction]:
    """Loss and failure of one more table of disjoint cells; `epsilon` is that of one changed cell, for basic composition."""
    r, changes = terms.records_per_unit, terms.changes
    if terms.composition == "basic":
        delta = float_up(table_delta(table, epsilon, changes))
        whole = changes * Fraction(epsilon)
        return r * whole, Fraction(group_delta(delta, float_up(whole), r))
    rho, distance = ideal_rho(table), distance_to_ideal(table)
    if rho is None or distance is None:
        raise BadDescription(
            f"Noise of the family {table.family} has no ideal law for the zcdp rule.",
            f"Use one of {', '.join(each.name for each in families() if each.distribution)}.",
        )
    return changes * r * r * rho, changes * r * distance


def version_budget(plan: NoisePlan) -> Budget:
    """The budget that a version declares in its sealed terms."""
    terms = plan.terms
    return Budget(terms.name, budget_cap(terms), terms.composition, terms.neighbours)


def budget_cap(terms: Terms) -> tuple[Fraction, Fraction]:
    """The lifetime cap as the ledger books it.

    Basic: epsilon and delta. zCDP: the rho whose delta at the cap's epsilon is half of the cap's delta, and the distance
    whose price (1 + e^epsilon) x distance is the other half.
    """
    if terms.composition == "basic":
        return terms.cap_epsilon, terms.cap_delta
    epsilon, half = float_down(terms.cap_epsilon), float_down(terms.cap_delta / 2)
    return rho_at(terms.cap_epsilon, terms.cap_delta), Fraction(half / (1 + math.exp(epsilon)) * (1 - 1e-12))


def _unit(terms: Terms) -> list[object]:
    """The unit of privacy: the same noise costs a person with two records more than one with one record."""
    return [terms.neighbours, terms.records_per_unit, list(terms.invariants)]


def version_cost(plan: NoisePlan) -> tuple[Fraction, Fraction]:
    """Loss and failure of a universe in the ledger's units: the cost of a load, known before it."""
    if plan.terms.composition == "zcdp" and plan.joint is not None:
        return round_up_to_units(plan.joint.loss(plan.terms) / 2, plan.joint.distance(plan.terms))
    if plan.terms.composition == "zcdp":
        costs = [answer_cost(plan.terms, table.noise, table.epsilon) for table in plan.tables]
        return round_up_to_units(sum(c[0] for c in costs), sum(c[1] for c in costs))
    if plan.claim is not None:
        return round_up_to_units(plan.claim.epsilon, plan.claim.delta)
    found = figures(plan)
    if not found:
        least = basic_figure(plan)
        reached = "" if least is None else f" to {three_digits_up(least.delta)} or more"
        raise BadDescription(
            f"The noise cannot promise delta {float(plan.terms.delta):g}: it ends where its keys end.",
            f"Raise delta{reached}, or leave out the truncation of the noise.",
        )
    return round_up_to_units(*min(found.values()))
