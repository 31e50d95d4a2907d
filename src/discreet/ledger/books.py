"""The books: what a chain says, entry by entry, and whether the tables of a ledger are so.

The chain is read from its first entry when a ledger is opened, and from where it was left before each charge. Its tags
are made again with the key. Then every row of every table must be the newest entry about it, and no row may be missing
or be too many; what is spent must be the sum of the charges.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from discreet.errors import LedgerUnusable
from discreet.ledger.chain import BEGUN, KINDS, next_tag
from discreet.ledger.entries import request_key
from discreet.ledger.marks import START, Mark
from discreet.ledger.tables import BUDGETS, CHAIN, CHARGES, SHARES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Row

    #: A table's row by what names it.
    Rows = dict[tuple[Any, ...], tuple[Any, ...]]

_RESTORE = "Restore the newest copy that was not changed."


@dataclass
class Books:
    """What the entries up to a position say.

    Args:
        last: The last entry that was read.
        rows: By kind, the newest entry about each row but charges.
        spent: Loss and failure by budget, and by budget and account.
        begun: What the first entry says: the chain's id, when it was begun, and how many entries were taken as found.
    """

    last: Mark = START
    rows: dict[str, Rows] = field(default_factory=lambda: {kind: {} for kind in KINDS if kind != "charge"})
    spent: dict[tuple[Any, ...], tuple[int, int]] = field(default_factory=dict)
    begun: tuple[Any, ...] = ()

    def read(self, connection: Connection, key: bytes) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Read on to the end of the chain; yields the charges with their positions.

        Raises:
            LedgerUnusable: An entry is missing, or its tag is not that of the key.
        """
        later = select(CHAIN).where(CHAIN.c.position > self.last.position).order_by("position")
        for row in connection.execute(later):
            position = self.last.position + 1
            tag = next_tag(key, self.last.tag, position, row.kind, row.body)
            if (row.position, row.tag) != (position, tag):
                raise _broken(position)
            self.last, body = Mark(position, tag), tuple(json.loads(row.body))
            if row.kind == "charge":
                self._add(body)
                yield row.position, body
            elif row.kind in KINDS:
                named_by = KINDS[row.kind].named_by
                self.rows[row.kind][body[:named_by]] = body[named_by:]
            elif row.kind == BEGUN:
                self.begun = body

    def _add(self, body: tuple[Any, ...]) -> None:
        budget, _, account, loss, failure, _ = body
        for payer in ((budget,), *([(budget, account)] if account is not None else [])):
            before = self.spent.get(payer, (0, 0))
            self.spent[payer] = (before[0] + loss, before[1] + failure)

    def catch_up(self, connection: Connection, key: bytes) -> None:
        """Read what others have appended since."""
        for _ in self.read(connection, key):
            pass

    def refuse_other_row(self, connection: Connection, kind: str, *name: str) -> None:
        """Refuse a budget or a share whose cap or sum is not what the chain says.

        Raises:
            LedgerUnusable: It was changed.
        """
        table, said = KINDS[kind].table, self.rows[kind].get(name)
        where = [column == value for column, value in zip(table.primary_key, name, strict=True)]
        row = connection.execute(select(table).where(*where)).one_or_none()
        if (None if row is None else _body(row, kind)[len(name) :]) != said:
            raise _changed(kind, name)
        if row is not None and (row.spent_loss, row.spent_failure) != self.spent.get(name, (0, 0)):
            raise _does_not_add_up()


def read_books(connection: Connection, key: bytes) -> Books:
    """The books of a whole ledger, whose tables must be what its chain says.

    Raises:
        LedgerUnusable: With the first thing that is not so.
    """
    refuse_other_sums(connection)
    books = Books()
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
            raise _changed("charge", (position,))
    for kind, said in books.rows.items():
        bodies = [_body(row, kind) for row in connection.execute(select(KINDS[kind].table))]
        found = {body[: KINDS[kind].named_by]: body[KINDS[kind].named_by :] for body in bodies}
        for name in sorted({*found, *said}):
            if found.get(name) != said.get(name):
                raise _changed(kind, name)
    return books


def refuse_other_sums(connection: Connection) -> None:
    """What is spent must be the sum of the charges, for every budget and every account.

    Raises:
        LedgerUnusable: It is not.
    """
    for table, keys in ((BUDGETS, ["family"]), (SHARES, ["family", "account"])):
        columns = [CHARGES.c[key] for key in keys]
        amounts = (func.sum(CHARGES.c.loss), func.sum(CHARGES.c.failure))
        booked = connection.execute(select(*columns, *amounts).group_by(*columns))
        sums = {tuple(row[: len(keys)]): (int(row[-2]), int(row[-1])) for row in booked}
        for row in connection.execute(select(table)):
            wanted = sums.get(tuple(getattr(row, key) for key in keys), (0, 0))
            if (row.spent_loss, row.spent_failure) != wanted:
                raise _does_not_add_up()


def _body(row: Row[Any], kind: str) -> tuple[Any, ...]:
    """What an entry about a row says."""
    return tuple(getattr(row, column) for column in KINDS[kind].columns)


def _changed(kind: str, name: tuple[object, ...]) -> LedgerUnusable:
    return LedgerUnusable(
        f"The ledger was changed: its {kind} {' of '.join(map(repr, name))} is not what its chain says.",
        _RESTORE,
    )


def _broken(position: int) -> LedgerUnusable:
    if position == 1:
        return LedgerUnusable(
            "The ledger was not written with the secret of this workspace.",
            "It is the ledger of another workspace, or of before or after a new secret. Bring back the one that "
            "belongs to this secret; a rotation that did not finish is finished by `discreet secret rotate`.",
        )
    return LedgerUnusable(f"The ledger was changed: its chain breaks at entry {position}.", _RESTORE)


def _does_not_add_up() -> LedgerUnusable:
    return LedgerUnusable(
        "The ledger does not add up: what is spent is not the sum of its charges.",
        "Restore the newest copy that does.",
    )
