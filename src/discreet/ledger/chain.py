"""The chain of a ledger: every charge, cap, share, lineage and version is an entry, and each has a keyed MAC.

    tag(n) = BLAKE2b-256 with a key of (tag(n - 1), n, kind, body),   tag(0) = empty

The key is derived from the secret of the workspace, so that nobody without it can change, remove, add or swap an entry
and make the tags again; an unkeyed hash could be made again by anybody. The rows of all tables must be what the entries
say (`books`). What a removed tail has lost is told by marks alone (`marks`).

    begun    [id, at, entries that were taken as found]     rekeyed  [at, the tag before]
    budget   [budget, rule, neighbours, loss, failure]      share    [budget, account, loss, failure]
    lineage  [dataset, lineage, method, budget]             version  [dataset, version, budget, records]
    charge   [budget, request, account, loss, failure, at]  `request` is the hash of the whole request

A ledger of before there were chains begins one with all that it holds, which is taken as found.

Source: docs/methods/ledger.md.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select, update

from discreet.errors import LedgerUnusable
from discreet.ledger.marks import START, Mark
from discreet.ledger.tables import BUDGETS, CHAIN, CHARGES, LINEAGES, SHARES, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection, Table

BEGUN, REKEYED = "begun", "rekeyed"
#: What can be done about a ledger that lacks what was answered.
_ADVICE = (
    "Bring back the newest ledger, or the server that has this entry: nothing is answered from this one. If it is lost "
    "for good, see docs/methods/ledger.md."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What an entry of a kind says: the columns of a row, of which the first so many name it."""

    table: Table
    columns: tuple[str, ...]
    named_by: int


KINDS = {
    "budget": Kind(BUDGETS, ("family", "rule", "neighbours", "cap_loss", "cap_failure"), 1),
    "share": Kind(SHARES, ("family", "account", "cap_loss", "cap_failure"), 2),
    "lineage": Kind(LINEAGES, ("dataset", "lineage", "method", "family"), 2),
    "version": Kind(VERSIONS, ("dataset", "version", "family", "records"), 2),
    "charge": Kind(CHARGES, ("family", "request", "account", "loss", "failure", "at"), 2),
}


def next_tag(key: bytes, before: str, position: int, kind: str, body: str) -> str:
    """The tag of an entry after the one with the tag `before`."""
    message = json.dumps([before, position, kind, body]).encode()
    return hashlib.blake2b(message, key=key, digest_size=32, person=b"discreet-ledger").hexdigest()


@dataclass
class Writer:
    """A transaction that may append to a chain, whose lock it holds.

    Args:
        connection: The transaction.
        key: Of the chain.
        last: The newest entry.
        relied_on: The position of the newest entry that an answer will rest on.
    """

    connection: Connection
    key: bytes
    last: Mark
    relied_on: int = 0

    @property
    def next_position(self) -> int:
        """Where the next entry will stand."""
        return self.last.position + 1

    def append(self, kind: str, *body: object) -> None:
        """Add an entry."""
        position, text = self.next_position, json.dumps(body)
        tag = next_tag(self.key, self.last.tag, position, kind, text)
        self.connection.execute(insert(CHAIN).values(position=position, kind=kind, body=text, tag=tag))
        self.last, self.relied_on = Mark(position, tag), position


@dataclass
class Reader:
    """A snapshot of a ledger, and the newest entry that an answer will rest on."""

    connection: Connection
    relied_on: int = 0


def open_writer(connection: Connection, key: bytes) -> Writer:
    """Lock a chain and go to its end."""
    if connection.dialect.name == "postgresql":  # on SQLite the transaction has the write lock already
        connection.exec_driver_sql("LOCK TABLE chain IN SHARE ROW EXCLUSIVE MODE")
    return Writer(connection, key, newest_mark(connection) or START)


def begin(writer: Writer) -> None:
    """Begin a chain with all rows that the ledger holds, which are taken as found; one that has begun is left alone."""
    if writer.last.position:
        return
    rows = list(_rows(writer.connection))
    writer.append(BEGUN, secrets.token_hex(16), now(), len(rows))
    for kind, body in rows:
        writer.append(kind, *body)
        if kind == "charge":
            where = (CHARGES.c.family == body[0]) & (CHARGES.c.request == body[1])
            placed = update(CHARGES).where(where).values(position=writer.last.position)
            writer.connection.execute(placed)


def _rows(connection: Connection) -> Iterator[tuple[str, list[Any]]]:
    """The rows of all tables as entries, charges in the order of payment."""
    for name, kind in KINDS.items():
        order = ("at", "request") if name == "charge" else kind.columns[: kind.named_by]
        columns = (kind.table.c[column] for column in kind.columns)
        for row in connection.execute(select(*columns).order_by(*order)):
            yield name, list(row)


def retag(connection: Connection, key: bytes) -> Writer:
    """Give every entry its tag under another key, and go to the end; the caller holds the lock of the chain.

    The same entries under the same key have the same tags: marks that were made under it hold again.
    """
    last, again = START, []
    for row in connection.execute(select(CHAIN).order_by("position")):
        last = Mark(row.position, next_tag(key, last.tag, row.position, row.kind, row.body))
        again.append({"here": last.position, "new": last.tag})
    where = CHAIN.c.position == bindparam("here")
    connection.execute(update(CHAIN).where(where).values(tag=bindparam("new")), again)
    return Writer(connection, key, last)


def now() -> str:
    """The time, as entries and charges say it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def newest_mark(connection: Connection) -> Mark | None:
    """The last entry of a chain; None where it has not begun."""
    row = connection.execute(
        select(CHAIN.c.position, CHAIN.c.tag).order_by(CHAIN.c.position.desc()).limit(1)
    ).one_or_none()
    return None if row is None else Mark(row.position, row.tag)


def refuse_other_history(connection: Connection, marks: Iterable[tuple[str, Mark]]) -> None:
    """Refuse a ledger that does not extend a mark.

    Raises:
        LedgerUnusable: It is older than the mark, or has another entry in its place.
    """
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
                f"The ledger is older than the answers that were given: it ends with entry {last}, and {whose} was "
                f"answered after entry {mark.position}.",
                _ADVICE,
            )
        if found[mark.position] != mark.tag:
            raise LedgerUnusable(
                f"The ledger is not the one that was charged: its entry {mark.position} is not the one after which "
                f"{whose} was answered.",
                _ADVICE,
            )
