"""The schema of a ledger: which tables and columns it has, by number, and how an older one becomes the newest.

    schema 0   ledgers of the first days: a budget has no neighbours, a version no budget
    schema 1   budgets have neighbours, versions a budget; one that was made before schemas had numbers has no mark
    schema 2   the method and the budget of every lineage (`lineages`)
    schema 3   every charge has a position in a chain (`chain`), which begins when a workspace opens the ledger
    schema 4   an account has any number of keys, each with a role, datasets and an end (`api_keys`)

A ledger is never thrown away: what it holds was spent. An older one is migrated when it is opened, in one transaction
that nobody else may write beside. Before the commit every sum must be what it was, or the ledger stays as it is. A
newer schema than this program knows is refused.

To change the tables: change `tables`, and append one function to `MIGRATIONS`.

Source: docs/decisions/0007-versions.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, insert, inspect, select, text, update

from discreet.errors import LedgerUnusable
from discreet.ledger.tables import (
    ACCOUNTS,
    BUDGETS,
    CHAIN,
    CHARGES,
    KEYS,
    LINEAGES,
    METADATA,
    SCHEMA,
    SHARES,
    VERSIONS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    Sums = tuple[list[tuple[object, ...]], ...]

#: What the column `neighbours` says of a budget that was charged before the column was there.
UNKNOWN_NEIGHBOURS = "unknown"
#: The columns that a ledger of schema 0 lacks.
_LATER_THAN_0 = {("families", "neighbours"), ("versions", "family")}
#: The tables that older ledgers lack, and a column that all but the newest lack.
_LATER_TABLES = {LINEAGES.name, CHAIN.name, KEYS.name}
_LATER_COLUMN = (CHARGES.name, CHARGES.c.position.name)
#: The steps of a migration, at which tests end the process.
STEPS = ("locked", "migrated", "marked", "migration committed")


def _from_0(connection: Connection) -> None:
    """Give budgets their neighbours, which nobody knows, and versions their budget, which their charge tells."""
    for table, column, default in (
        ("families", "neighbours", UNKNOWN_NEIGHBOURS),
        ("versions", "family", ""),
    ):
        kind = METADATA.tables[table].c[column].type.compile(connection.dialect)
        connection.execute(
            text(f"ALTER TABLE {table} ADD COLUMN {column} {kind} DEFAULT '{default}' NOT NULL")
        )
    for family, what in connection.execute(select(CHARGES.c.family, CHARGES.c.what)).all():
        charged, dataset, version, *_ = json.loads(what)
        if charged == "universe":
            where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.version == version)
            connection.execute(update(VERSIONS).where(where).values(family=family))


def _from_1(connection: Connection) -> None:
    """Write down the method and the budget of every dataset that was charged; its lineage was its id, as far as is known."""
    LINEAGES.create(connection)
    charged = select(VERSIONS.c.dataset, VERSIONS.c.family).distinct().order_by(VERSIONS.c.dataset)
    for dataset, family in connection.execute(charged).all():
        row = {"dataset": dataset, "lineage": dataset, "method": "dp", "family": family}
        connection.execute(insert(LINEAGES).values(**row))


def _from_2(connection: Connection) -> None:
    """Make room for the chain; it is begun by `Ledger.open`, which has the key."""
    CHAIN.create(connection)
    name, column = _LATER_COLUMN
    connection.execute(text(f"ALTER TABLE {name} ADD COLUMN {column} BIGINT"))
    connection.execute(text(f"CREATE UNIQUE INDEX {name}_{column} ON {name} ({column})"))


def _from_3(connection: Connection) -> None:
    """Give the one key of every account a row of its own: for all datasets, in the account's role, without an end."""
    rows = connection.execute(
        text("SELECT account, role, key_hash, created, revoked FROM accounts")
    ).mappings()
    kept = [dict(row) for row in rows]
    connection.execute(text("DROP TABLE accounts"))
    ACCOUNTS.create(connection)
    KEYS.create(connection)
    for row in kept:
        key = {"key_hash": row.pop("key_hash"), **row}
        connection.execute(insert(ACCOUNTS).values(**row))
        connection.execute(insert(KEYS).values(**key))


#: `MIGRATIONS[n]` makes a ledger of schema n one of schema n + 1.
MIGRATIONS: list[Callable[[Connection], None]] = [_from_0, _from_1, _from_2, _from_3]


def newest_schema() -> int:
    """The schema of ledgers that this program makes."""
    return len(MIGRATIONS)


def mark(connection: Connection, schema: int) -> None:
    """Write the number of its schema into a ledger."""
    SCHEMA.create(connection, checkfirst=True)
    connection.execute(delete(SCHEMA))
    connection.execute(insert(SCHEMA).values(schema=schema))


def schema_of(connection: Connection) -> int:
    """The schema of a ledger: as it is marked, or by its columns where it has no mark.

    Raises:
        LedgerUnusable: It is no ledger, or not whole.
    """
    found = inspect(connection)
    names = set(found.get_table_names())
    if set(METADATA.tables) - {SCHEMA.name} - _LATER_TABLES - names:
        raise LedgerUnusable("The ledger lacks tables.", "Restore the newest copy.")
    if SCHEMA.name in names:
        return int(connection.execute(select(SCHEMA.c.schema)).scalar_one())
    missing = {column for column in _missing_columns(connection) if column[0] not in _LATER_TABLES}
    return 0 if missing - {_LATER_COLUMN} == _LATER_THAN_0 else 1


def bring_up_to_date(engine: Engine, on_step: Callable[[str], None] = lambda _step: None) -> None:
    """Migrate a ledger of an older schema; one of the newest is only read.

    Raises:
        LedgerUnusable: Its schema is newer than this program, it lacks something, or a migration would lose a charge.
    """
    with engine.begin() as connection:
        if _known_schema(connection) == newest_schema():
            _refuse_missing_columns(connection)
            return
    with engine.begin() as connection:
        _migrate(connection, on_step)
        _refuse_missing_columns(connection)
    on_step("migration committed")


def _migrate(connection: Connection, on_step: Callable[[str], None]) -> None:
    """All migrations that a ledger needs, within one transaction; another process may have made them meanwhile."""
    if connection.dialect.name == "postgresql":  # SQLite took the write lock when the transaction began
        connection.execute(text("LOCK TABLE charges IN ACCESS EXCLUSIVE MODE"))
    on_step("locked")
    schema, before = _known_schema(connection), _sums(connection)
    for migration in MIGRATIONS[schema:]:
        migration(connection)
    on_step("migrated")
    if _sums(connection) != before:
        raise LedgerUnusable(
            f"The ledger has schema {schema} and cannot be migrated: a sum of charges would change.",
            "It was left as it is. Use the version of Discreet that made it, and tell us.",
        )
    mark(connection, newest_schema())
    on_step("marked")


def _known_schema(connection: Connection) -> int:
    schema = schema_of(connection)
    if schema > newest_schema():
        raise LedgerUnusable(
            f"The ledger has schema {schema}, and this version of Discreet knows schemas up to {newest_schema()}.",
            "Use the newer version of Discreet that wrote it.",
        )
    return schema


def _sums(connection: Connection) -> Sums:
    """What is spent: by charges, by budgets and by shares."""
    keys = (CHARGES.c.family, CHARGES.c.account)
    amounts = (func.count(), func.sum(CHARGES.c.loss), func.sum(CHARGES.c.failure))
    booked = select(*keys, *amounts).group_by(*keys)
    columns = ("family", "cap_loss", "cap_failure", "spent_loss", "spent_failure")
    budgets = select(*(BUDGETS.c[name] for name in columns))
    shares = select(SHARES.c.account, *(SHARES.c[name] for name in columns))
    return tuple(
        sorted((tuple(row) for row in connection.execute(query)), key=repr)
        for query in (booked, budgets, shares)
    )


def _missing_columns(connection: Connection) -> set[tuple[str, str]]:
    """The columns that a whole ledger has and this one has not."""
    found = inspect(connection)
    present = {
        (name, column["name"]) for name in found.get_table_names() for column in found.get_columns(name)
    }
    return {
        (name, column)
        for name, table in METADATA.tables.items()
        for column in table.columns.keys()  # noqa: SIM118 - iterating gives columns, not names
        if name != SCHEMA.name
    } - present


def _refuse_missing_columns(connection: Connection) -> None:
    """A ledger that lacks a column of its schema was changed by hand, or by a program that nobody knows."""
    for table, column in sorted(_missing_columns(connection)):
        raise LedgerUnusable(
            f"The ledger was made by another version of Discreet: `{table}` has no {column}.",
            "Use the version that made it. A demo workspace may be deleted and is then built again.",
        )
