"""The budget and the ledger as documents: guarantee, charges, remainder, and the cost of a variable.

The budget is public: it follows from the description and from the charges. Accounts are for custodians. The types are also
the schemas of the OpenAPI document, with their docstrings.
"""

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from discreet.errors import BadDescription, BadRequest, NoBudget
from discreet.ledger.entries import AMOUNTS, BudgetState
from discreet.ledger.requester import require_role
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.messages.text import message, nearest
from discreet.model.privacy_budget import FAILURE_UNIT, LOSS_UNIT, five_digits, format_amount
from discreet.model.request import unit_of
from discreet.model.universe import Margin, dp_terms
from discreet.privacy.accounting import table_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.claim import float_up, group_delta
from discreet.protect.best_composition import best_claim, figures
from discreet.protect.budget_allocation import shares_of
from discreet.protect.charges import budget_cap, version_cost
from discreet.protect.dp_protector import DpProtector
from discreet.protect.joint_plan import JointErrors, joint_errors
from discreet.protect.plan import NoisePlan, PlannedTable, make_plan, style_advice
from discreet.protect.promise import noise_cautions, refuse_exact
from discreet.workspace.ledger_location import ledger_if_any
from discreet.workspace.versions.history import lineage_defaults
from discreet.workspace.workspace import StoredDataset

#: The points of the curve, as multiples of the epsilon of the terms.
CURVE = tuple(Fraction(eighths, 8) for eighths in (1, 2, 4, 6, 8, 12, 16, 24, 32))


class AmountDocument(TypedDict):
    """A loss and a failure: epsilon and delta, or rho and distance under the rule `zcdp`."""

    epsilon: NotRequired[float]
    delta: NotRequired[float]
    rho: NotRequired[float]
    distance: NotRequired[float]


class DeclaredTableDocument(TypedDict):
    """One table of the universe: what it costs alone, and how large its noise is."""

    variables: list[str]
    epsilon: float
    delta: float
    p_exact: float
    expected_abs_error: float
    standard_deviation: float


class GroupOfBudgetDocument(TypedDict):
    """What is promised to several persons together."""

    persons: int
    epsilon: float
    delta: float


class DroppedVariableDocument(TypedDict):
    """What the tables that remain would gain without a variable."""

    variable: str
    d: int
    expected_abs_error: float
    expected_abs_error_now: float


class SpentDocument(TypedDict):
    """What may be spent, what is spent and what is left."""

    cap: AmountDocument
    spent: AmountDocument
    left: AmountDocument


class BudgetFiguresDocument(SpentDocument):
    """What a dataset under `dp` promises and costs, and what its budget has left."""

    family: str
    neighbours: str
    records_per_unit: int
    invariants: list[str]
    spread: str
    margins: str
    tables: list[DeclaredTableDocument]
    d: int
    total: dict[str, AmountDocument]
    tightest: str | None
    price: AmountDocument | None
    promise: str | None
    cautions: list[str]
    groups: list[GroupOfBudgetDocument]


class BudgetDocument(BudgetFiguresDocument):
    """The same, and what it would be with other margins or fewer variables."""

    standard_deviation_by_margins: dict[str, float | str]
    if_dropped: list[DroppedVariableDocument]
    curve: NotRequired[list[dict[str, float]]]


class AccountShareDocument(SpentDocument):
    """What an account may spend and has spent."""

    account: str


class ChargeDocument(TypedDict):
    """One charge: when, to whom, how much and for what."""

    at: str
    account: str | None
    loss: float
    failure: float
    asked: str
    what: str


class LedgerDocument(SpentDocument):
    """What a budget has spent, and by whom."""

    family: str
    rule: str
    accounts: list[AccountShareDocument]
    charges: list[ChargeDocument]


def _joint_curve(plan: NoisePlan, dataset: Dataset) -> list[dict[str, float]]:
    found = []
    for part in CURVE:
        epsilon = plan.terms.epsilon * part
        terms = replace(plan.terms, epsilon=epsilon, cap_epsilon=max(epsilon, plan.terms.cap_epsilon))
        with suppress(BadDescription):  # an epsilon that is too large for tables of 2^64 keys at this delta
            errors = joint_errors(dataset, plan.universe, terms)
            error = _mean_joint_error(errors, plan.universe.noisy)
            found.append({"epsilon": float(epsilon), "expected_abs_error": error})
    return found


def _mean_joint_error(errors: JointErrors, margins: Iterable[Margin]) -> float:
    found = [errors.expected_error(margin) for margin in margins]
    return math.fsum(found) / len(found)


#: The sizes of groups for which the guarantee is computed.
GROUPS = (2, 5)


def budget_document(plan: NoisePlan, dataset: Dataset, state: BudgetState | None = None) -> BudgetDocument:
    """What a universe promises and costs, now and with other margins or fewer variables."""
    document: BudgetDocument = {
        **budget_figures(plan, dataset, state),  # type: ignore[typeddict-item]  # figures have no curve
        "standard_deviation_by_margins": style_advice(plan, dataset),
        "if_dropped": _gains_of_dropping(plan, dataset),
    }
    if plan.joint is not None:
        document["curve"] = _joint_curve(plan, dataset)
    return document


def budget_figures(
    plan: NoisePlan, dataset: Dataset, state: BudgetState | None = None
) -> BudgetFiguresDocument:
    """What a universe promises and costs."""
    terms, found, claim = plan.terms, figures(plan), best_claim(plan)
    spent = (Fraction(0), Fraction(0)) if state is None else state.spent
    cap = budget_cap(terms) if state is None else state.cap
    rule, joint = terms.composition, plan.joint
    groups = [(units, claim.for_group(units)) for units in GROUPS] if claim else []
    return {
        "family": terms.name,
        "cap": amount_document(cap, rule),
        "neighbours": terms.neighbours,
        "records_per_unit": terms.records_per_unit,
        "invariants": list(terms.invariants),
        "spread": terms.spread,
        "margins": plan.universe.style,
        "tables": [_table(table, plan) for table in plan.tables]
        if joint is None
        else [
            {
                "variables": list(margin),
                "epsilon": joint.table_epsilon(margin, terms),
                "delta": float(terms.delta),
                "p_exact": joint.errors.most_exact(margin),
                "expected_abs_error": joint.errors.expected_error(margin),
                "standard_deviation": joint.errors.standard_deviation(margin),
            }
            for margin in plan.universe.noisy
        ],
        "d": plan.d,
        "total": {name: amount_document(each, "basic") for name, each in found.items()},
        "tightest": min(found, key=found.__getitem__, default=None),
        "price": None if claim is None else amount_document(version_cost(replace(plan, claim=claim)), rule),
        "promise": None if claim is None else replace(claim, unit=unit_of(dataset)).sentence,
        "spent": amount_document(spent, rule),
        "left": amount_document((cap[0] - spent[0], cap[1] - spent[1]), rule),
        "cautions": list(noise_cautions(plan)),
        "groups": [
            {"persons": units, "epsilon": float(each.epsilon), "delta": float(each.delta)}
            for units, each in groups
        ],
    }


def ledger_document(state: BudgetState) -> LedgerDocument:
    """What a budget has spent and has left, by account."""
    rule = state.composition
    charges: Iterable[Mapping[str, Any]] = state.charges
    return {
        "family": state.name,
        "rule": rule,
        **_spent_document(state.cap, state.spent, rule),
        "accounts": [
            {"account": each.account, **_spent_document(each.cap, each.spent, rule)}
            for each in state.accounts
        ],
        "charges": [
            {
                "at": charge["at"],
                "account": charge["account"],
                "loss": float(charge["loss"] * LOSS_UNIT),
                "failure": float(charge["failure"] * FAILURE_UNIT),
                "asked": _charge_label(charge["what"]),
                "what": charge["what"],
            }
            for charge in charges
        ],
    }


def _charge_label(request: str) -> str:
    """What a charge was for, in words.

    >>> _charge_label('["margin","town","1","",["age","sex"],"laplace"]')
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


def _gains_of_dropping(plan: NoisePlan, dataset: Dataset) -> list[DroppedVariableDocument]:
    """The expected error of the remaining tables if a variable, or a level of a hierarchy, were left out."""
    found: list[DroppedVariableDocument] = []
    for variable in plan.universe.variables:
        rest = plan.universe.without(variable, dataset)
        if plan.joint is not None and rest.noisy:
            count, now = len(rest.noisy), _mean_joint_error(plan.joint.errors, rest.noisy)
            then = _mean_joint_error(joint_errors(dataset, rest, plan.terms), rest.noisy)
        elif plan.joint is None and rest.margins:
            kept = shares_of(dataset, rest, plan.terms, plan.currency)
            count, then = len(kept), _mean_error(list(kept.values()), plan)
            now = _mean_error([table.share for table in plan.tables if table.margin in kept], plan)
        else:
            continue
        found.append(
            {"variable": variable, "d": count, "expected_abs_error": then, "expected_abs_error_now": now}
        )
    return found


def _table(table: PlannedTable, plan: NoisePlan) -> DeclaredTableDocument:
    """A table by itself, with its (epsilon, delta); a Gaussian one at its share of the delta."""
    row, terms = table.noise.rows[0], plan.terms
    r, changes = terms.records_per_unit, terms.changes
    if plan.currency == "epsilon":
        epsilon = float_up(changes * Fraction(table.epsilon))
        delta = float_up(table_delta(table.noise, table.epsilon, changes))
    else:
        part = terms.delta / plan.d
        epsilon = changes * exact_epsilon(table.noise, delta=part / changes)
        delta = float_up(part)
    return {
        "variables": list(table.margin),
        "epsilon": r * epsilon,
        "delta": group_delta(delta, epsilon, r),
        "p_exact": float(row.probabilities().get(0, Fraction(0))),
        "expected_abs_error": float(sum(abs(v) * p for v, p in row.probabilities().items())),
        "standard_deviation": math.sqrt(row.variance()),
    }


def _mean_error(shares: list[Fraction], plan: NoisePlan) -> float:
    """The mean over tables of the expected absolute error of a cell, from the ideal distributions."""
    r, changes = plan.terms.records_per_unit, plan.terms.changes
    if plan.currency == "epsilon":
        errors = [1 / math.sinh(float(share) / (changes * r)) for share in shares]
    else:
        errors = [math.sqrt(changes * r * r / (math.pi * float(share))) for share in shares]
    return math.fsum(errors) / len(errors) if errors else 0.0


def amount_document(pair: tuple[Fraction, Fraction], rule: str) -> AmountDocument:
    """A loss and a failure by their names under a composition rule."""
    loss, failure = map(float, pair)
    return {"epsilon": loss, "delta": failure} if rule == "basic" else {"rho": loss, "distance": failure}


def _spent_document(
    cap: tuple[Fraction, Fraction], spent: tuple[Fraction, Fraction], rule: str
) -> SpentDocument:
    left = (cap[0] - spent[0], cap[1] - spent[1])
    return {
        "cap": amount_document(cap, rule),
        "spent": amount_document(spent, rule),
        "left": amount_document(left, rule),
    }


def budget_of(stored: StoredDataset) -> BudgetDocument:
    """The budget document of a version.

    Raises:
        NoBudget: The dataset has none.
        LedgerUnusable: The charges are not known.
    """
    dp = _dp_protector(stored)
    state = dp.ledger.state(dp.plan.terms.name)
    return budget_document(dp.plan, stored.dataset, state)


def forecast_workspace_budget(folder: Path | None, description: str) -> dict[str, Any]:
    """The budget document of a description that is not loaded yet, with the charges of a workspace; no record is read.

    Raises:
        BadDescription: It cannot be read, or its protection is not `dp`.
        LedgerUnusable: The charges are not known.
    """
    dataset = parse_dataset(description, None if folder is None else lineage_defaults(folder, description))
    if not dataset.protection.is_dp:
        raise BadDescription(
            f'"{dataset.id}" is protected by the cell key method and has no privacy budget.',
            'Only the method "dp" has one.',
        )
    terms, universe = dp_terms(dataset)
    plan = make_plan(dataset, universe, terms, dataset.protection.noise)
    refuse_exact(plan)
    state = None
    ledger = None if folder is None else ledger_if_any(folder)
    if ledger is not None:
        with closing(ledger), suppress(BadRequest):  # the budget may not be declared yet
            state = ledger.state(terms.name)
    document, after = budget_document(plan, dataset, state), None
    if document["price"] is not None:
        left, price = (budget_cap(terms) if state is None else state.left), version_cost(plan)
        after = amount_document((left[0] - price[0], left[1] - price[1]), terms.composition)
    return {**document, "left_after": after}


def ledger_of(stored: StoredDataset) -> LedgerDocument:
    """The ledger document of a version's budget; for custodians."""
    dp = _dp_protector(stored)
    return ledger_document(dp.ledger.state(dp.plan.terms.name))


def budget_left(stored: StoredDataset) -> str:
    """The remainder of the budget's lifetime cap, in a sentence."""
    dp = _dp_protector(stored)
    state = dp.ledger.state(dp.plan.terms.name)
    further = message("Only new versions can spend it.")
    if dp.plan.terms.answer_cost:
        further = message("Further tables may be charged to accounts with a share of it.")
    rest = message("nothing of it is left.")
    if state.left[0]:
        rest = message("{left} of it is left. {further}", left=five_digits(state.left[0]), further=further)
    return message(
        'The budget "{name}" may spend {loss} {cap} in its lifetime by this workspace; {rest}',
        name=state.name,
        loss=AMOUNTS[state.composition][0],
        cap=format_amount(state.cap[0]),
        rest=rest,
    )


def open_share(stored: StoredDataset, account: str, cap: tuple[Fraction, Fraction]) -> None:
    """Give an account a share of a dataset's budget, up to a cap."""
    from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - no other budget asks the database here

    dp = _dp_protector(stored)
    if dp.plan.answer is None:
        raise BadRequest(
            message('"{id}" has no tables outside its universe.', id=stored.dataset.id),
            message("Set answer_cost in [protection.budget] and load it again."),
        )
    listed = Accounts(dp.ledger.database).listing()
    known = {each.account: each.role for each in listed if each.revoked is None}
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
