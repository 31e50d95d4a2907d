"""The Five Safes as a checklist: the facts that the system knows are filled in, the rest is left to people.

    safe projects   is this use appropriate?             mostly open
    safe people     can they be trusted to use it well?  accounts are known, training is open
    safe settings   does access limit misuse?            the workspace's facts are known
    safe data       what risk is left in the data?       protection, exact audit, averaging are known
    safe outputs    are the results non-disclosive?      rules, notes, limits are known

It uses public facts of the description, the rules and the noise table, and counts no records.
Source: Desai, Ritchie & Welpton (2016), Five Safes: designing data access for research.
"""

import math
import stat
from collections import Counter
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from discreet.assess.assessment import DEFAULT_DELTA, privacy_of
from discreet.assess.report_pages import render_page
from discreet.assess.risk_utility import averaging_factor
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService, unlock_service
from discreet.workspace.ledger_location import has_ledger, open_accounts
from discreet.workspace.options import Options
from discreet.workspace.workspace import StoredDataset

NOTICE = "FOR OFFICIAL USE: a checklist for the custodian. It holds no counts; answer what is open before you publish."
KNOWN, OPEN = "known", "open"


@dataclass(frozen=True, slots=True)
class Item:
    """A question that the system answers (`known`), or people must (`open`: then `answer` says what it should contain)."""

    question: str
    status: str
    answer: str


@dataclass(frozen=True, slots=True)
class Safe:
    """One of the five."""

    name: str
    question: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Checklist:
    """All five for one dataset."""

    dataset: str
    version: str
    title: str
    safes: tuple[Safe, ...]

    @property
    def open_items(self) -> int:
        """The number of open questions."""
        return sum(item.status == OPEN for safe in self.safes for item in safe.items)

    def as_json(self) -> dict[str, Any]:
        """The checklist as plain data."""
        return asdict(self) | {"open": self.open_items}

    def as_markdown(self) -> str:
        """The checklist as Markdown, to be filled in and stored with the dataset."""
        lines = [f"# {self.title}", "", NOTICE, ""]
        for safe in self.safes:
            lines += [f"## {safe.name}", "", f"*{safe.question}*", ""]
            for item in safe.items:
                box = "x" if item.status == KNOWN else " "
                lines += [f"- [{box}] **{item.question}** {item.answer}"]
                lines += ["  - Answer:"] if item.status == OPEN else []
            lines.append("")
        return "\n".join(lines)

    def as_html(self) -> str:
        """The checklist as one page, with room for answers."""
        parts = [
            f"<h1>{escape(self.title)}</h1>",
            f'<p class="soft">Version {escape(self.version[:8])}. {self.open_items} questions are open.</p>',
        ]
        for safe in self.safes:
            parts.append(f'<h2>{escape(safe.name)}</h2><p class="soft">{escape(safe.question)}</p>')
            for item in safe.items:
                room = '<div class="answer"></div>' if item.status == OPEN else ""
                parts.append(
                    f'<div class="{item.status}"><h3>{escape(item.question)}</h3>'
                    f"<p>{'Known: ' if not room else 'To answer: '}{escape(item.answer)}</p>{room}</div>"
                )
        return render_page(self.title, NOTICE, "\n".join(parts))


def five_safes(registry: DatasetRegistry, dataset_id: str, options: Options) -> Checklist:
    """The checklist of a dataset, with the answers that the system knows."""
    service = registry.open(dataset_id)
    stored = unlock_service(service)
    safes = (
        _projects(stored),
        _people(registry, stored),
        _settings(registry, options),
        _data(service),
        _outputs(stored),
    )
    return Checklist(dataset_id, stored.digest, f"Five Safes: {stored.dataset.label}", safes)


def _projects(stored: StoredDataset) -> Safe:
    dataset = stored.dataset
    source = dataset.source.rstrip(".") or "not stated"
    counted = (
        f"{dataset.label}: {dataset.unit}, {dataset.population or 'population not stated'}; source: {source}"
    )
    return Safe(
        "Safe projects",
        "Is this use of the data appropriate?",
        (
            Item("What is published?", KNOWN, f"{counted}; version {dataset.version}."),
            Item("For whose good?", OPEN, "Name the public benefit, and who would miss these tables."),
            Item("May it be published at all?", OPEN, "Name the law, the consent or the approval that allows it."),
            Item("What else about these people is public?", OPEN,
                 "List other releases of the same people: they count in any privacy budget and in any differencing."),
        ),
    )  # fmt: skip


def _people(registry: DatasetRegistry, stored: StoredDataset) -> Safe:
    metered = any(rule.kind == "free-groups" and getattr(rule, "per_account", None) for rule in stored.rules)
    who = (
        "Groups of one's own are counted by account; everything else that the rules allow is answered to anybody."
        if metered
        else "Everyone who reaches the server may ask everything that the rules allow; nobody is named."
    )
    return Safe(
        "Safe people",
        "Can the users be trusted to use it properly?",
        (
            Item("Who may ask?", KNOWN, f"{who} {_accounts(registry)}"),
            Item("Who is the custodian?", OPEN, "Name who decides on protection and who holds the secret's backup."),
            Item("What do readers know?", OPEN, "Say where readers learn that counts are perturbed and how to test them."),
        ),
    )  # fmt: skip


def _accounts(registry: DatasetRegistry) -> str:
    if not has_ledger(registry.folder):
        return "There are no accounts."
    active = [holder for holder in open_accounts(registry.folder).listing() if holder.revoked is None]
    by_role = Counter(holder.role for holder in active)
    listed = ", ".join(f"{number} {role}" for role, number in sorted(by_role.items())) or "none"
    return f"Active accounts: {listed}."


def _settings(registry: DatasetRegistry, options: Options) -> Safe:
    mode = stat.S_IMODE(registry.folder.stat().st_mode)
    readers = "by its owner only" if not mode & 0o077 else f"by others too (mode {mode:o}): close it"
    local = options.host in {"127.0.0.1", "localhost", "::1"}
    where = (
        "this machine only"
        if local
        else f"{options.host}: put a reverse proxy with TLS and a rate limit before it"
    )
    return Safe(
        "Safe settings",
        "Does the way of access limit misuse?",
        (
            Item("Where are the records?", KNOWN, f"In the workspace, which can be read {readers}. Ids are not stored."),
            Item("Is the secret safe here?", KNOWN, "It is there, long enough, and readable by its owner only: checked."),
            Item("Where is the secret's backup?", OPEN, "Without it no number can be made again; whoever has it and the "
                 "ids can undo the noise."),
            Item("Who is served?", KNOWN, f"The server would listen on {where}, port {options.port}."),
            Item("Who watches?", OPEN, "Name who reads the logs, and what many questions from one place lead to."),
        ),
    )  # fmt: skip


def _data(service: DatasetService) -> Safe:
    dataset, protection = service.dataset, service.dataset.protection
    geography = dataset.finest_geography
    finest = (
        f"; finest geography {geography} ({len(dataset.variable(geography)):,} areas)" if geography else ""
    )
    known = ", ".join(f"{name} = {value}" for name, value in protection.noise.items())
    keyed = f"; keys {protection.keys}" if protection.method == "cellkey" else ", keyed by description"
    return Safe(
        "Safe data",
        "What risk is left in the data as they are released?",
        (
            Item("What can be asked about?", KNOWN, f"{len(dataset.variables)} variables{finest}; "
                 f"{len(dataset.structural_zeros)} structural zeros are declared."),
            Item("How is it protected?", KNOWN, f"Method {protection.method}, noise {known}{keyed}."),
            *_promise_items(service),
            Item("Which variables are sensitive?", OPEN, "Name them, and the harm if somebody's value became known."),
            Item("Which counts are small?", OPEN, "Run `discreet assess` on the tables that matter and keep its report "
                 "under lock."),
        ),
    )  # fmt: skip


def _promise_items(service: DatasetService) -> tuple[Item, ...]:
    """The guarantee for one count, and for many tables."""
    stored = unlock_service(service)
    if stored.dp is not None:
        return (
            Item("What do all tables promise together?", KNOWN, " ".join(service.promise()[:2])),
            Item("What is left of the budget?", KNOWN, service.budget_left() or ""),
        )
    many = (
        "Nothing is bounded under composition by the cell key method; averaging gains about "
        f"{_most_averaging(stored):.2f} in variance for a table of one variable."
    )
    return (
        Item("What does one count promise?", KNOWN, _audit_sentence(stored)),
        Item("What do many tables promise?", KNOWN, many),
    )


def _audit_sentence(stored: StoredDataset) -> str:
    (noise,) = stored.protector.tables
    found = privacy_of(noise, None, DEFAULT_DELTA)
    at = "no epsilon" if math.isinf(found.epsilon_above) else f"epsilon {found.epsilon_above:.3g}"
    return (
        f"At epsilon 1, delta {found.delta:.3g} for the worst count and {found.delta_above:.3g} for counts above "
        f"{found.largest}; at delta {DEFAULT_DELTA:g}, {at} for counts above {found.largest}. Exact, one person added "
        "or removed."
    )


def _most_averaging(stored: StoredDataset) -> float:
    """The largest averaging factor of a table of one variable."""
    return max(
        averaging_factor(stored, TableRequest(stored.dataset.id, rows=(variable.name,))).factor
        for variable in stored.dataset.variables
    )


def _by_shape(stored: StoredDataset) -> str:
    """The tables that are refused by their dimensions."""
    protection = stored.dataset.protection
    if stored.dp is None:
        return (
            f"By shape: at most {protection.max_variables} variables beside geography and {protection.max_cells:,} "
            "cells a table."
        )
    plan = stored.dp.plan
    unless = ", unless an account with a share pays for it" if plan.answer is not None else ""
    declared = f"what the {len(plan.universe.declared)} declared tables do not contain{unless}"
    return f"By shape: {declared}; more than {protection.max_cells:,} cells a table."


def _outputs(stored: StoredDataset) -> Safe:
    protection = stored.dataset.protection
    kinds = Counter(rule.kind for rule in stored.rules)
    declared = (
        ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in kinds.items()) or "none"
    )
    negative = "counts below zero are shown as zero" if protection.clips else "negative counts are shown"
    narrow = any(rule.kind == "max-variables" for rule in stored.rules)
    return Safe(
        "Safe outputs",
        "Are the results non-disclosive?",
        (
            Item("Which tables are refused?", KNOWN, f"{_by_shape(stored)} Declared rules: {declared}."),
            Item("How do totals behave?", KNOWN, f"Additivity {protection.additivity}; {negative}."),
            Item("What is every reader told?", KNOWN, "Each table carries its note that counts are perturbed, what its "
                 "protection promises and what it does not; withheld cells are marked c, impossible ones z."),
            Item("Are small areas limited?", KNOWN if narrow else OPEN, "A rule limits the number of variables."
                 if narrow else "No rule limits variables in small areas: say why none is needed, or declare one."),
            Item("Who checks what is published elsewhere?", OPEN, "Name who looks at tables that users publish on."),
        ),
    )  # fmt: skip
