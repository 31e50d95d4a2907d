"""The hash chain of a ledger: every charge, cap, share, lineage and version is an entry with a keyed MAC.

    tag(n) = BLAKE2b-256 with a key of (tag(n - 1), n, kind, body),   tag(0) = empty

The key is derived from the secret of the workspace, so without it no one can change, remove, add or swap an entry and
recompute the tags. Removed entries at the end are detected by checkpoints alone (`entries.Checkpoints`).

    begun    [id, at, entries that were taken as found]     rekeyed  [at, the tag before]
    budget   [budget, rule, neighbours, loss, failure]      share    [budget, account, loss, failure]
    lineage  [dataset, lineage, method, budget]             version  [dataset, version, budget, records]
    charge   [budget, request, account, loss, failure, at]  `request` is the hash of the whole request

A ledger from before hash chains begins one with all its rows, taken as found. The chain is verified from its first entry
when a ledger is opened, and from the last known entry before each charge. Every row of every table must equal its newest
entry, and the amount spent must be the sum of the charges.

An auditor verifies a signed statement without a workspace: the signature, the sums, and that it extends an earlier one.

    message   = "discreet ledger statement 1", a line end, and the document without its signature, as canonical JSON
    spent     = sum of the listed charges, of loss and of failure apart, in exact decimals
    left      = cap - spent >= 0

Source: docs/methods/ledger.md.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, func, insert, select, update

from discreet.errors import LedgerUnusable, SignatureUnusable
from discreet.ledger.database import BUDGETS, CHAIN, CHARGES, LINEAGES, SHARES, VERSIONS, by_key, find_row
from discreet.ledger.entries import AMOUNTS, START, Checkpoint, now, request_key
from discreet.model.privacy_budget import read_amount
from discreet.records.signing import PublicKey

BEGUN, REKEYED = "begun", "rekeyed"
#: Advice about a ledger that lacks entries.
_ADVICE = (
    "Restore the newest ledger, or the server that has this entry; this one is not used. If it is lost, "
    "see docs/methods/ledger.md."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """The content of an entry of a kind: the columns of a row, of which the first `named_by` are its key."""

    table: Table
    columns: tuple[str, ...]
    named_by: int


KINDS = {
    "budget": Kind(BUDGETS, ("budget", "composition", "neighbours", "cap_loss", "cap_failure"), 1),
    "share": Kind(SHARES, ("budget", "account", "cap_loss", "cap_failure"), 2),
    "lineage": Kind(LINEAGES, ("dataset", "lineage", "method", "budget"), 2),
    "version": Kind(VERSIONS, ("dataset", "version", "budget", "records"), 2),
    "charge": Kind(CHARGES, ("budget", "request", "account", "loss", "failure", "at"), 2),
}


def next_tag(key: bytes, before: str, position: int, kind: str, body: str) -> str:
    """The tag of an entry after the one with the tag `before`."""
    message = json.dumps([before, position, kind, body]).encode()
    return hashlib.blake2b(message, key=key, digest_size=32, person=b"discreet-ledger").hexdigest()


@dataclass
class Writer:
    """A transaction that may append to the chain, and holds its lock.

    Args:
        connection: The transaction.
        key: Of the chain.
        last: The newest entry.
        relied_on: The position of the newest entry that an answer will depend on.
    """

    connection: Connection
    key: bytes
    last: Checkpoint
    relied_on: int = 0

    @property
    def next_position(self) -> int:
        """The position of the next entry."""
        return self.last.position + 1

    def append(self, kind: str, *body: object) -> None:
        """Add an entry."""
        position, text = self.next_position, json.dumps(body)
        tag = next_tag(self.key, self.last.tag, position, kind, text)
        self.connection.execute(insert(CHAIN).values(position=position, kind=kind, body=text, tag=tag))
        self.last, self.relied_on = Checkpoint(position, tag), position


@dataclass
class Reader:
    """A snapshot of a ledger, and the newest entry that an answer will depend on."""

    connection: Connection
    relied_on: int = 0


def open_writer(connection: Connection, key: bytes) -> Writer:
    """Lock the chain and read its end."""
    if connection.dialect.name == "postgresql":  # on SQLite the transaction has the write lock already
        connection.exec_driver_sql("LOCK TABLE chain IN SHARE ROW EXCLUSIVE MODE")
    return Writer(connection, key, newest_checkpoint(connection) or START)


def begin_chain(writer: Writer) -> None:
    """Begin a chain with all rows of the ledger, taken as found; an existing chain is unchanged."""
    if writer.last.position:
        return
    rows = list(_rows(writer.connection))
    writer.append(BEGUN, secrets.token_hex(16), now(), len(rows))
    for kind, body in rows:
        writer.append(kind, *body)
        if kind == "charge":
            placed = update(CHARGES).where(by_key(CHARGES, *body[:2]))
            writer.connection.execute(placed.values(position=writer.last.position))


def _rows(connection: Connection) -> Iterator[tuple[str, list[Any]]]:
    """The rows of all tables as entries, charges in the order of payment."""
    for name, kind in KINDS.items():
        order = ("at", "request") if name == "charge" else kind.columns[: kind.named_by]
        columns = (kind.table.c[column] for column in kind.columns)
        for row in connection.execute(select(*columns).order_by(*order)):
            yield name, list(row)


def retag(connection: Connection, key: bytes) -> Writer:
    """Compute every tag under another key; the caller holds the lock of the chain.

    The same entries under the same key have the same tags, so checkpoints made under it are valid again.
    """
    last, again = START, []
    for row in connection.execute(select(CHAIN).order_by("position")):
        last = Checkpoint(row.position, next_tag(key, last.tag, row.position, row.kind, row.body))
        again.append({"here": last.position, "new": last.tag})
    where = CHAIN.c.position == bindparam("here")
    connection.execute(update(CHAIN).where(where).values(tag=bindparam("new")), again)
    return Writer(connection, key, last)


def newest_checkpoint(connection: Connection) -> Checkpoint | None:
    """The last entry of a chain; None before it has begun."""
    row = connection.execute(
        select(CHAIN.c.position, CHAIN.c.tag).order_by(CHAIN.c.position.desc()).limit(1)
    ).one_or_none()
    return None if row is None else Checkpoint(row.position, row.tag)


def refuse_other_history(connection: Connection, marks: Iterable[tuple[str, Checkpoint]]) -> None:
    """Refuse a ledger that is older than a checkpoint, or has another entry at its position."""
    wanted = sorted((each for each in marks if each[1].position), key=lambda each: each[1].position)
    if not wanted:
        return
    positions = {mark.position for _, mark in wanted}
    asked = select(CHAIN.c.position, CHAIN.c.tag).where(CHAIN.c.position.in_(positions))
    found = {row.position: row.tag for row in connection.execute(asked)}
    for whose, mark in wanted:
        if mark.position not in found:
            last = connection.execute(select(func.coalesce(func.max(CHAIN.c.position), 0))).scalar_one()
            raise LedgerUnusable(
                f"The ledger is older than released tables: it ends with entry {last}, but {whose} was released after "
                f"entry {mark.position}.",
                _ADVICE,
            )
        if found[mark.position] != mark.tag:
            raise LedgerUnusable(
                f"The ledger is not the one that was charged: its entry {mark.position} is not the one after which "
                f"{whose} was released.",
                _ADVICE,
            )


#: The rows of a table by key.
Rows = dict[tuple[Any, ...], tuple[Any, ...]]

_RESTORE = "Restore the newest unchanged copy."


@dataclass
class ChainState:
    """The content of the entries up to a position.

    Args:
        last: The last entry that was read.
        rows: By kind, the newest entry of each row except charges.
        spent: Loss and failure by budget, and by budget and account.
    """

    last: Checkpoint = START
    rows: dict[str, Rows] = field(default_factory=lambda: {kind: {} for kind in KINDS if kind != "charge"})
    spent: dict[tuple[Any, ...], tuple[int, int]] = field(default_factory=dict)

    def read(self, connection: Connection, key: bytes) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Read on to the end of the chain and validate every tag; yields the charges with their positions."""
        later = select(CHAIN).where(CHAIN.c.position > self.last.position).order_by("position")
        for row in connection.execute(later):
            position = self.last.position + 1
            tag = next_tag(key, self.last.tag, position, row.kind, row.body)
            if (row.position, row.tag) != (position, tag):
                raise _break_at(position)
            self.last, body = Checkpoint(position, tag), tuple(json.loads(row.body))
            if row.kind == "charge":
                budget, _, account, loss, failure, _ = body
                for payer in ((budget,), *([(budget, account)] if account is not None else [])):
                    before = self.spent.get(payer, (0, 0))
                    self.spent[payer] = (before[0] + loss, before[1] + failure)
                yield row.position, body
            elif row.kind in KINDS:
                named_by = KINDS[row.kind].named_by
                self.rows[row.kind][body[:named_by]] = body[named_by:]

    def catch_up(self, connection: Connection, key: bytes) -> None:
        """Read the entries that other processes have appended."""
        for _ in self.read(connection, key):
            pass

    def refuse_other_row(self, connection: Connection, kind: str, *name: str) -> None:
        """Refuse a budget or a share whose cap or sum differs from the chain."""
        table, said = KINDS[kind].table, self.rows[kind].get(name)
        row = find_row(connection, table, *name)
        if (None if row is None else _body(row, kind)[len(name) :]) != said:
            raise _row_differs(kind, name)
        if row is not None and (row.spent_loss, row.spent_failure) != self.spent.get(name, (0, 0)):
            raise _sums_differ()


def replay_chain(connection: Connection, key: bytes) -> ChainState:
    """The state of a whole chain, to which all tables must agree; refused with the first difference."""
    refuse_other_sums(connection)
    books = ChainState()
    entries = list(books.read(connection, key))
    charges = connection.execute(select(CHARGES).order_by(CHARGES.c.position)).all()
    if len(charges) != len(entries):
        raise LedgerUnusable(
            f"The ledger was changed: it has {len(charges)} charges, and its chain has {len(entries)}.",
            _RESTORE,
        )
    for row, (position, body) in zip(charges, entries, strict=True):
        is_whole = row.position == position and request_key(row.what) == row.request
        if not is_whole or _body(row, "charge") != body:
            raise _row_differs("charge", (position,))
    for kind, said in books.rows.items():
        bodies = [_body(row, kind) for row in connection.execute(select(KINDS[kind].table))]
        found = {body[: KINDS[kind].named_by]: body[KINDS[kind].named_by :] for body in bodies}
        for name in sorted({*found, *said}):
            if found.get(name) != said.get(name):
                raise _row_differs(kind, name)
    return books


def refuse_other_sums(connection: Connection) -> None:
    """Refuse a ledger whose spent amounts are not the sums of its charges, for every budget and account."""
    for table, keys in ((BUDGETS, ["budget"]), (SHARES, ["budget", "account"])):
        columns = [CHARGES.c[key] for key in keys]
        amounts = (func.sum(CHARGES.c.loss), func.sum(CHARGES.c.failure))
        booked = connection.execute(select(*columns, *amounts).group_by(*columns))
        sums = {tuple(row[: len(keys)]): (int(row[-2]), int(row[-1])) for row in booked}
        for row in connection.execute(select(table)):
            wanted = sums.get(tuple(getattr(row, key) for key in keys), (0, 0))
            if (row.spent_loss, row.spent_failure) != wanted:
                raise _sums_differ()


def _body(row: Row[Any], kind: str) -> tuple[Any, ...]:
    return tuple(getattr(row, column) for column in KINDS[kind].columns)


def _row_differs(kind: str, name: tuple[object, ...]) -> LedgerUnusable:
    return LedgerUnusable(
        f"The ledger was changed: its {kind} {' of '.join(map(repr, name))} is not what its chain says.",
        _RESTORE,
    )


def _break_at(position: int) -> LedgerUnusable:
    if position == 1:
        return LedgerUnusable(
            "The ledger was not written with the secret of this workspace.",
            "It belongs to another workspace or to another secret of this one. Restore the ledger of this "
            "secret; `discreet secret rotate` completes an interrupted rotation.",
        )
    return LedgerUnusable(f"The ledger was changed: its chain breaks at entry {position}.", _RESTORE)


def _sums_differ() -> LedgerUnusable:
    return LedgerUnusable(
        "The ledger does not add up: what is spent is not the sum of its charges.",
        "Restore the newest unchanged copy.",
    )


KIND, SCHEMA = "discreet ledger statement", 1

NOT_CHECKED = (
    "That the listed charges are all charges: the tags of the chain need the secret. `discreet doctor` checks them in "
    "the workspace.",
    "That the noise was what was charged, and that the published numbers are those of the workspace.",
    "What other workspaces have released about the same persons, and that datasets share persons only as declared.",
    "That no older copy of the whole workspace was brought back; a statement of before that tells it (--earlier).",
)


def signature_message(document: Mapping[str, Any]) -> bytes:
    """The signed bytes of a statement: all of it except the signature."""
    unsigned = {key: value for key, value in document.items() if key != "signature"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{KIND} {SCHEMA}\n{text}".encode()


def verify_statement(
    document: Mapping[str, Any], key: PublicKey, earlier: Mapping[str, Any] | None = None
) -> list[str]:
    """The verified facts, in sentences.

    Args:
        document: The statement.
        key: Of the workspace that signed it, from a separate source.
        earlier: An earlier statement of the same workspace.

    Raises:
        SignatureUnusable: It is no statement, this key did not sign it, or its content is inconsistent.
    """
    try:
        _refuse_other_signature(document, key)
        found = [f"The statement of {document['made']} was signed by the key {key.fingerprint}."]
        found += [_check_sums(budget) for budget in document["budgets"]]
        found.append(_check_positions(document))
        if earlier is not None:
            _refuse_other_signature(earlier, key)
            found.append(_check_continues(document, earlier))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SignatureUnusable(
            "This file is not a complete ledger statement.",
            "Use the HTML or JSON file written by `discreet ledger statement`.",
        ) from None
    return found


def _refuse_other_signature(document: Mapping[str, Any], key: PublicKey) -> None:
    if (document["kind"], document["schema"]) != (KIND, SCHEMA):
        raise ValueError
    key.verify(bytes.fromhex(document["signature"]), signature_message(document))


def _check_sums(budget: Mapping[str, Any]) -> str:
    name, rule = budget["name"], budget["rule"]
    if rule not in AMOUNTS:
        raise _wrong(f'The budget "{name}" is composed by the unknown rule "{rule}".')
    for amount in AMOUNTS[rule]:
        total = sum((_amount(charge[amount]) for charge in budget["charges"]), Fraction(0))
        cap, spent, left = (_amount(budget[each][amount]) for each in ("cap", "spent", "left"))
        if min(_amount(charge[amount]) for charge in budget["charges"] or [{amount: "0"}]) < 0:
            raise _wrong(f'A charge of the budget "{name}" is below zero.')
        if total != spent or left != cap - spent or left < 0:
            raise _wrong(f'The charges of the budget "{name}" do not add up to the stated {amount}.')
    told = ", ".join(f"{amount} {budget['spent'][amount]}" for amount in AMOUNTS[rule])
    caps = ", ".join(f"{amount} {budget['cap'][amount]}" for amount in AMOUNTS[rule])
    return f'The {len(budget["charges"])} charges of the budget "{name}" add up to {told}, within {caps}.'


def _check_positions(document: Mapping[str, Any]) -> str:
    entries = [charge["entry"] for budget in document["budgets"] for charge in budget["charges"]]
    last = document["chain"]["entries"]
    if len(set(entries)) != len(entries) or not all(1 <= entry <= last for entry in entries):
        raise _wrong("Two charges have the same position in the hash chain, or one has none.")
    return f"Each charge has its own position among the {last} entries of the hash chain."


def _check_continues(document: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    if document["chain"]["id"] != earlier["chain"]["id"]:
        raise _wrong("The two statements are of different ledgers.")
    if document["chain"]["entries"] < earlier["chain"]["entries"]:
        raise _wrong("The ledger is older than the earlier statement: charges are missing.")
    now, before = (dict(_entries(each)) for each in (document, earlier))
    if not all(said.items() <= now.get(entry, {}).items() for entry, said in before.items()):
        raise _wrong("A charge of the earlier statement is missing or was changed.")
    for name, caps in _caps(earlier).items():
        later = _caps(document).get(name)
        if later is None or any(new > old for new, old in zip(later, caps, strict=True)):
            raise _wrong(f'The cap of the budget "{name}" was raised since the earlier statement.')
    return (
        f"All {len(before)} charges of the statement of {earlier['made']} are still there, and no cap was "
        "raised."
    )


def _entries(document: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, str]]]:
    """The facts of each charge; a later program may add more."""
    for budget in document["budgets"]:
        for charge in budget["charges"]:
            said = {**charge, "budget": budget["name"], "rule": budget["rule"]}
            yield charge["entry"], {name: json.dumps(each) for name, each in said.items()}


def _caps(document: Mapping[str, Any]) -> dict[str, list[Fraction]]:
    return {
        each["name"]: [_amount(each["cap"][amount]) for amount in AMOUNTS[each["rule"]]]
        for each in document["budgets"]
    }


def _amount(text: str) -> Fraction:
    return read_amount(text, "an amount", Fraction(1, 10**18))


def _wrong(message: str) -> SignatureUnusable:
    return SignatureUnusable(message, "Ask the signer for another statement and for the reason.")
