"""The budget and the ledger as documents: guarantee, charges, remainder, and the cost of a variable.

    budget      {family, cap, neighbours, invariants, tables, d, total, price, spent, left, if_dropped, ...}
    ledger      {family, rule, cap, spent, left, accounts, charges}
    tables      {variables, epsilon, delta, p_exact, expected_abs_error, standard_deviation}: of each table by itself. The
                tables of a joint universe together cost less than their sum: they are made of the same residuals
    if_dropped  {variable, d, expected_abs_error, expected_abs_error_now}
    curve       of a joint universe {epsilon, expected_abs_error}: the mean over all declared tables

The budget is public: it follows from the description and from the charges. Accounts are for custodians.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import BadDescription, BadRequest, NoBudget
from discreet.ledger.entries import BudgetState, Charge
from discreet.ledger.requester import require_role
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.measure import unit_of
from discreet.model.messages.text import message, nearest
from discreet.model.privacy_budget import FAILURE_UNIT, LOSS_UNIT, Terms, five_digits, format_amount
from discreet.model.universe import Margin, dp_terms
from discreet.privacy.accounting import table_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.claim import Claim, float_up, group_delta
from discreet.protect.best_composition import claim_of, figures
from discreet.protect.budget_allocation import shares_of
from discreet.protect.charges import budget_cap, version_cost
from discreet.protect.dp_protector import DpProtector
from discreet.protect.joint_plan import JointErrors, JointPlan, joint_errors
from discreet.protect.plan import NoisePlan, PlannedTable, make_plan, style_advice
from discreet.protect.promise import noise_cautions, refuse_exact
from discreet.workspace.ledger_location import ledger_if_any
from discreet.workspace.versions.lineage import lineage_defaults
from discreet.workspace.workspace import StoredDataset

#: The points of the curve, as multiples of the epsilon of the terms.
CURVE = tuple(Fraction(eighths, 8) for eighths in (1, 2, 4, 6, 8, 12, 16, 24, 32))


def joint_tables(plan: NoisePlan, joint: JointPlan) -> list[dict[str, Any]]:
    """Each declared table by itself, without those that have no noise."""
    return [
        {
            "variables": list(margin),
            "epsilon": joint.table_epsilon(margin, plan.terms),
            "delta": float(plan.terms.delta),
            "p_exact": joint.errors.most_exact(margin),
            "expected_abs_error": joint.errors.expected_error(margin),
            "standard_deviation": joint.errors.standard_deviation(margin),
        }
        for margin in plan.universe.noisy
    ]


def joint_gains_of_dropping(plan: NoisePlan, joint: JointPlan, dataset: Dataset) -> list[dict[str, Any]]:
    """The expected error of the remaining tables if a variable, or a level of a hierarchy, were left out."""
    found = []
    for variable in plan.universe.variables:
        rest = plan.universe.without(variable, dataset)
        kept = rest.noisy
        if kept:
            then = joint_errors(dataset, rest, plan.terms)
            found.append(
                {
                    "variable": variable,
                    "d": len(kept),
                    "expected_abs_error": _mean_joint_error(then, kept),
                    "expected_abs_error_now": _mean_joint_error(joint.errors, kept),
                }
            )
    return found


def joint_curve(plan: NoisePlan, dataset: Dataset) -> list[dict[str, float]]:
    """The mean expected error of all declared tables at several epsilons."""
    margins, found = plan.universe.noisy, []
    for part in CURVE:
        epsilon = plan.terms.epsilon * part
        with suppress(BadDescription):  # an epsilon that is too large for tables of 2^64 keys at this delta
            error = _mean_joint_error(_errors_at(plan, dataset, epsilon), margins)
            found.append({"epsilon": float(epsilon), "expected_abs_error": error})
    return found


def _errors_at(plan: NoisePlan, dataset: Dataset, epsilon: Fraction) -> JointErrors:
    terms = replace(plan.terms, epsilon=epsilon, cap_epsilon=max(epsilon, plan.terms.cap_epsilon))
    return joint_errors(dataset, plan.universe, terms)


def _mean_joint_error(errors: JointErrors, margins: Iterable[Margin]) -> float:
    found = [errors.expected_error(margin) for margin in margins]
    return math.fsum(found) / len(found)


#: The sizes of groups for which the guarantee is computed.
GROUPS = (2, 5)


def budget_document(plan: NoisePlan, dataset: Dataset, state: BudgetState | None = None) -> dict[str, Any]:
    """What a universe promises and costs, now and with other margins or fewer variables.

    Args:
        plan: The noise of every released margin.
        dataset: The description.
        state: The state of the budget's ledger, if there is one.
    """
    further = {} if plan.joint is None else {"curve": joint_curve(plan, dataset)}
    return {
        **budget_figures(plan, dataset, state),
        "standard_deviation_by_margins": style_advice(plan, dataset),
        "if_dropped": gains_of_dropping(plan, dataset),
        **further,
    }


def budget_figures(plan: NoisePlan, dataset: Dataset, state: BudgetState | None = None) -> dict[str, Any]:
    """What a universe promises and costs."""
    terms = plan.terms
    found = figures(plan)
    best = min(found, key=lambda name: (found[name].epsilon, found[name].delta), default=None)
    claim = plan.claim or (None if best is None else claim_of(plan, best, found[best]))
    spent = (Fraction(0), Fraction(0)) if state is None else state.spent
    cap = budget_cap(terms) if state is None else state.cap
    rule = terms.composition
    return {
        "family": terms.name,
        "cap": amount_document(cap, rule),
        "neighbours": terms.neighbours,
        "records_per_unit": terms.records_per_unit,
        "invariants": list(terms.invariants),
        "spread": terms.spread,
        "margins": plan.universe.style,
        "tables": [_table(table, plan) for table in plan.tables]
        if plan.joint is None
        else joint_tables(plan, plan.joint),
        "d": plan.d,
        "total": {name: amount_document(each, "basic") for name, each in found.items()},
        "tightest": best,
        "price": None if claim is None else amount_document(version_cost(replace(plan, claim=claim)), rule),
        "promise": None if claim is None else replace(claim, unit=unit_of(dataset)).sentence,
        "spent": amount_document(spent, rule),
        "left": amount_document((cap[0] - spent[0], cap[1] - spent[1]), rule),
        "cautions": list(noise_cautions(plan)),
        "groups": [] if claim is None else [_group(claim, units) for units in GROUPS],
    }


def ledger_document(state: BudgetState) -> dict[str, Any]:
    """What a budget has spent and has left, by account."""
    return {
        "family": state.name,
        "rule": state.composition,
        "cap": amount_document(state.cap, state.composition),
        "spent": amount_document(state.spent, state.composition),
        "left": amount_document(state.left, state.composition),
        "accounts": [
            {
                "account": each.account,
                "cap": amount_document(each.cap, state.composition),
                "spent": amount_document(each.spent, state.composition),
                "left": amount_document(
                    (each.cap[0] - each.spent[0], each.cap[1] - each.spent[1]), state.composition
                ),
            }
            for each in state.accounts
        ],
        "charges": [_charge_row(charge) for charge in state.charges],
    }


def _charge_row(charge: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "at": charge["at"],
        "account": charge["account"],
        "loss": float(charge["loss"] * LOSS_UNIT),
        "failure": float(charge["failure"] * FAILURE_UNIT),
        "asked": charge_label(charge["what"]),
        "what": charge["what"],
    }


def charge_label(request: str) -> str:
    """What a charge was for, in words.

    >>> charge_label('["margin","town","1","",["age","sex"],"laplace"]')
    'age x sex of town, version 1'
    """
    kind, dataset, version, _, asked, *_ = json.loads(request)
    if kind == "universe":
        what = "everything declared"
    elif kind == "margins":
        what = "margins " + ", ".join(" x ".join(margin) for margin in asked)
    else:
        what = " x ".join(asked) or "the total"
    return f"{what} of {dataset}, version {version}"


def forecast_budget(
    description: str, state_of: Callable[[str], BudgetState | None], defaults: int | None = None
) -> dict[str, Any]:
    """What a description would promise and cost if it were loaded now; no record is read.

    Args:
        description: The text of `dataset.toml`.
        state_of: Returns the state of a budget; None if it was never declared.
        defaults: The revision of the defaults of its lineage; the newest by default.

    Raises:
        BadDescription: It cannot be read, or its protection is not `dp`.
    """
    dataset = parse_dataset(description, defaults)
    if not dataset.protection.is_dp:
        raise BadDescription(
            f'"{dataset.id}" is protected by the cell key method and has no privacy budget.',
            'Only the method "dp" has one.',
        )
    terms, universe = dp_terms(dataset)
    plan = make_plan(dataset, universe, terms, dataset.protection.noise)
    refuse_exact(plan)
    state = state_of(terms.name)
    document = budget_document(plan, dataset, state)
    if document["price"] is None:
        return {**document, "left_after": None}
    left, price = (budget_cap(terms) if state is None else state.left), version_cost(plan)
    after = (left[0] - price[0], left[1] - price[1])
    return {**document, "left_after": amount_document(after, terms.composition)}


def _group(claim: Claim, units: int) -> dict[str, float]:
    found = claim.for_group(units)
    return {"persons": units, "epsilon": float(found.epsilon), "delta": float(found.delta)}


def left_sentence(state: BudgetState, terms: Terms) -> str:
    """The remainder of a budget's lifetime cap, in a sentence for readers."""
    loss = loss_name(state.composition)
    further = (
        message("Further tables may be charged to accounts with a share of it.")
        if terms.answer_cost
        else message("Only new versions can spend it.")
    )
    return message(
        'The budget "{name}" may spend {loss} {cap} in its lifetime by this workspace; {rest}',
        name=state.name,
        loss=loss,
        cap=format_amount(state.cap[0]),
        rest=message("{left} of it is left. {further}", left=five_digits(state.left[0]), further=further)
        if state.left[0]
        else message("nothing of it is left."),
    )


def cost_document(charge: Charge | None, rule: str) -> dict[str, float]:
    """What an answer costs, as the ledger books it; 0 without a charge."""
    return amount_document((Fraction(0), Fraction(0)) if charge is None else charge.booked, rule)


def gains_of_dropping(plan: NoisePlan, dataset: Dataset) -> list[dict[str, Any]]:
    """The expected error of the remaining tables if a variable were left out of the universe."""
    if plan.joint is not None:
        return joint_gains_of_dropping(plan, plan.joint, dataset)
    found = []
    for variable in plan.universe.variables:
        rest = plan.universe.without(variable, dataset)
        if not rest.margins:
            continue
        kept = shares_of(dataset, rest, plan.terms, plan.currency)
        now = {table.margin: table.share for table in plan.tables if table.margin in kept}
        found.append(
            {
                "variable": variable,
                "d": len(kept),
                "expected_abs_error": _mean_error(list(kept.values()), plan),
                "expected_abs_error_now": _mean_error(list(now.values()), plan),
            }
        )
    return found


def _table(table: PlannedTable, plan: NoisePlan) -> dict[str, Any]:
    row = table.noise.rows[0]
    epsilon, delta = _table_cost(table, plan)
    return {
        "variables": list(table.margin),
        "epsilon": epsilon,
        "delta": delta,
        "p_exact": float(row.probabilities().get(0, Fraction(0))),
        "expected_abs_error": float(sum(abs(v) * p for v, p in row.probabilities().items())),
        "standard_deviation": math.sqrt(row.variance()),
    }


def _table_cost(table: PlannedTable, plan: NoisePlan) -> tuple[float, float]:
    """The (epsilon, delta) of one table by itself; a Gaussian one at its share of the delta."""
    terms = plan.terms
    r, changes = terms.records_per_unit, terms.changes
    if plan.currency == "epsilon":
        epsilon = float_up(changes * Fraction(table.epsilon))
        delta = float_up(table_delta(table.noise, table.epsilon, changes))
    else:
        part = terms.delta / plan.d
        epsilon = changes * exact_epsilon(table.noise, delta=part / changes)
        delta = float_up(part)
    return r * epsilon, group_delta(delta, epsilon, r)


def _mean_error(shares: list[Fraction], plan: NoisePlan) -> float:
    """The mean over tables of the expected absolute error of a cell, from the ideal distributions."""
    return math.fsum(_error(float(share), plan) for share in shares) / len(shares) if shares else 0.0


def _error(share: float, plan: NoisePlan) -> float:
    r, changes = plan.terms.records_per_unit, plan.terms.changes
    if plan.currency == "epsilon":
        return 1 / math.sinh(share / (changes * r))
    return math.sqrt(changes * r * r / (math.pi * share))


def loss_name(rule: str) -> str:
    """The name of the loss under a composition rule."""
    return "epsilon" if rule == "basic" else "rho"


def amount_document(pair: tuple[Fraction, Fraction], rule: str) -> dict[str, float]:
    """A loss and a failure by their names under a composition rule."""
    return dict(
        zip((loss_name(rule), "delta" if rule == "basic" else "distance"), map(float, pair), strict=True)
    )


def budget_of(stored: StoredDataset) -> dict[str, Any]:
    """The budget document of a version.

    Raises:
        NoBudget: The dataset has none.
        LedgerUnusable: The charges are not known.
    """
    dp = _dp_protector(stored)
    state = dp.ledger.state(dp.plan.terms.name)
    return budget_document(dp.plan, stored.dataset, state)


def forecast_workspace_budget(folder: Path | None, description: str) -> dict[str, Any]:
    """The budget document of a description that is not loaded yet, with what a workspace has spent of it.

    Raises:
        BadDescription: It cannot be read, or its protection is not `dp`.
        LedgerUnusable: The charges are not known.
    """

    def state_of(budget: str) -> BudgetState | None:
        ledger = None if folder is None else ledger_if_any(folder)
        if ledger is None:
            return None
        try:
            return ledger.state(budget)
        except BadRequest:
            return None
        finally:
            ledger.close()

    defaults = None if folder is None else lineage_defaults(folder, description)
    return forecast_budget(description, state_of, defaults)


def ledger_of(stored: StoredDataset) -> dict[str, Any]:
    """The ledger document of a version's budget; for custodians."""
    dp = _dp_protector(stored)
    return ledger_document(dp.ledger.state(dp.plan.terms.name))


def budget_left(stored: StoredDataset) -> str | None:
    """The remainder of the budget's lifetime cap, in a sentence; None without a budget."""
    dp = stored.dp
    if dp is None:
        return None
    return left_sentence(dp.ledger.state(dp.plan.terms.name), dp.plan.terms)


def open_share(stored: StoredDataset, account: str, cap: tuple[Fraction, Fraction]) -> None:
    """Give an account a share of a dataset's budget, up to a cap."""
    from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - no other budget asks the database here

    dp = _dp_protector(stored)
    if dp.plan.answer is None:
        raise BadRequest(
            message('"{id}" answers nothing outside its universe.', id=stored.dataset.id),
            message("Set answer_cost in [protection.budget] and load it again."),
        )
    known = {
        each.account: each.role for each in Accounts(dp.ledger.database).listing() if each.revoked is None
    }
    if account not in known:
        raise BadRequest(
            message('There is no account "{account}".', account=account),
            nearest(account, known)
            if known
            else message("Create it with `discreet account create --role analyst`."),
        )
    require_role(account, known[account], "analyst")
    dp.ledger.allow(dp.plan.terms.name, account, cap)


def _dp_protector(stored: StoredDataset) -> DpProtector:
    if stored.dp is None:
        raise NoBudget(
            message(
                '"{id}" is protected by the cell key method and has no privacy budget.', id=stored.dataset.id
            ),
            message("Only datasets with the method dp have one."),
        )
    return stored.dp
