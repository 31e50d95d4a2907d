"""The database of a ledger: tables, migrations and connections. SQLite in a file by default, PostgreSQL by a URL.

SQLite runs in WAL mode with full synchronisation, and every writing transaction takes the write lock at its start
(BEGIN IMMEDIATE), so a commit that returned is on disk and two processes never charge at once. On PostgreSQL every
such transaction sets `synchronous_commit = on`, and a server with `fsync = off` is refused. With that setting a charge is
also on every standby that `synchronous_standby_names` demands. Reads take no write lock and see one snapshot. A missing
ledger is never created implicitly: an empty ledger would forget the charges. Any failure means no answers.

Names in the database are those of the first ledger: the column of a budget is `family`, that of its composition `rule`.

    schema 0   first ledgers: a budget has no neighbours, a version no budget
    schema 1   budgets have neighbours, versions a budget; the schema number may be missing
    schema 2   the method and the budget of every lineage (`lineages`)
    schema 3   every charge has a position in a hash chain (`hash_chain`), which begins when a workspace opens the ledger
    schema 4   an account has any number of keys, each with a role, datasets and an end (`api_keys`)

An older ledger is migrated when it is opened, in one exclusive transaction. Before the commit every sum must be unchanged,
or the ledger stays as it is. A newer schema is refused. To change the tables: change them here, and append one
function to `MIGRATIONS`.

Source: docs/decisions/0007-versions.md.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import SchemaItem

from discreet.errors import LedgerUnusable

METADATA = sa.MetaData()


def _cap_columns(constraint: str) -> list[SchemaItem]:
    names = ("cap_loss", "cap_failure", "spent_loss", "spent_failure")
    within = sa.CheckConstraint("spent_loss <= cap_loss AND spent_failure <= cap_failure", name=constraint)
    return [*(sa.Column(name, sa.BigInteger, nullable=False) for name in names), within]


#: Losses are integers in units of `LOSS_UNIT`, failures of `FAILURE_UNIT`: sums are exact, and rounding never passes a cap.
BUDGETS = sa.Table(
    "families",
    METADATA,
    sa.Column("family", sa.String(200), primary_key=True, key="budget"),
    sa.Column("rule", sa.String(16), nullable=False, key="composition"),
    sa.Column("neighbours", sa.String(16), nullable=False),
    *_cap_columns("family_within_cap"),
)
SHARES = sa.Table(
    "shares",
    METADATA,
    sa.Column("family", sa.String(200), sa.ForeignKey("families.budget"), primary_key=True, key="budget"),
    sa.Column("account", sa.String(200), primary_key=True),
    *_cap_columns("share_within_cap"),
)
CHARGES = sa.Table(
    "charges",
    METADATA,
    sa.Column("family", sa.String(200), sa.ForeignKey("families.budget"), primary_key=True, key="budget"),
    sa.Column("request", sa.String(64), primary_key=True),
    sa.Column("account", sa.String(200)),
    sa.Column("loss", sa.BigInteger, nullable=False),
    sa.Column("failure", sa.BigInteger, nullable=False),
    sa.Column("what", sa.String, nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("position", sa.BigInteger, unique=True),
)
#: Every change of the tables above and of the next two is an entry with a keyed tag (`hash_chain`).
CHAIN = sa.Table(
    "chain",
    METADATA,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("body", sa.String, nullable=False),
    sa.Column("tag", sa.String(64), nullable=False),
)
#: A version belongs to one set of records: reused noise would reveal whether records changed.
VERSIONS = sa.Table(
    "versions",
    METADATA,
    sa.Column("dataset", sa.String(64), primary_key=True),
    sa.Column("version", sa.String(200), primary_key=True),
    sa.Column("family", sa.String(200), nullable=False, key="budget"),
    sa.Column("records", sa.String(64), nullable=False),
)
#: A lineage keeps one method and one budget permanently, even if its folders are gone.
LINEAGES = sa.Table(
    "lineages",
    METADATA,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("lineage", sa.String(200), primary_key=True),
    sa.Column("method", sa.String(16), nullable=False),
    sa.Column("family", sa.String(200), nullable=False, key="budget"),
)
ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("account", sa.String(200), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("revoked", sa.String(40)),
)
#: The API keys of accounts, as hashes. `datasets` is a JSON list, or NULL for all of them.
KEYS = sa.Table(
    "api_keys",
    METADATA,
    sa.Column("key_hash", sa.String(64), primary_key=True),
    sa.Column("account", sa.String(200), sa.ForeignKey("accounts.account"), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("datasets", sa.String),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("expires", sa.String(40)),
    sa.Column("revoked", sa.String(40)),
)
#: Free groups that accounts have made; each counts once (`requester`).
GROUPS = sa.Table(
    "free_groups",
    METADATA,
    sa.Column("account", sa.String(200), primary_key=True),
    sa.Column("dataset", sa.String(64), primary_key=True),
    sa.Column("variable", sa.String(64), primary_key=True),
    sa.Column("members", sa.String(64), primary_key=True),
)
#: One row: the schema number. The oldest ledgers lack the table.
SCHEMA = sa.Table(
    "ledger_schema", METADATA, sa.Column("schema", sa.Integer, primary_key=True, autoincrement=False)
)


#: `neighbours` of a budget that was charged before the column existed.
UNKNOWN_NEIGHBOURS = "unknown"
#: Columns that a ledger of schema 0 lacks.
_LATER_THAN_0 = {("families", "neighbours"), ("versions", "family")}
#: Tables that older ledgers lack, and a column that schemas before 3 lack.
_LATER_TABLES = {LINEAGES.name, CHAIN.name, KEYS.name}
_LATER_COLUMN = (CHARGES.name, CHARGES.c.position.name)
#: The steps of a migration, at which tests end the process.
MIGRATION_STEPS = ("locked", "migrated", "marked", "migration committed")


def _from_0(connection: sa.Connection) -> None:
    """Add neighbours, which are unknown, to budgets, and to versions the budget of their charge."""
    for table, column, default in (
        (BUDGETS, BUDGETS.c.neighbours, UNKNOWN_NEIGHBOURS),
        (VERSIONS, VERSIONS.c.budget, ""),
    ):
        kind = column.type.compile(connection.dialect)
        connection.execute(
            sa.text(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind} DEFAULT '{default}' NOT NULL")
        )
    for budget, what in connection.execute(sa.select(CHARGES.c.budget, CHARGES.c.what)).all():
        charged, dataset, version, *_ = json.loads(what)
        if charged == "universe":
            where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.version == version)
            connection.execute(sa.update(VERSIONS).where(where).values(budget=budget))


def _from_1(connection: sa.Connection) -> None:
    """Add the method and the budget of every charged dataset; its lineage was its id."""
    LINEAGES.create(connection)
    charged = sa.select(VERSIONS.c.dataset, VERSIONS.c.budget).distinct().order_by(VERSIONS.c.dataset)
    for dataset, budget in connection.execute(charged).all():
        row = {"dataset": dataset, "lineage": dataset, "method": "dp", "budget": budget}
        connection.execute(sa.insert(LINEAGES).values(**row))


def _from_2(connection: sa.Connection) -> None:
    """Add the hash chain; `Ledger.open`, which has the key, begins it."""
    CHAIN.create(connection)
    name, column = _LATER_COLUMN
    connection.execute(sa.text(f"ALTER TABLE {name} ADD COLUMN {column} BIGINT"))
    connection.execute(sa.text(f"CREATE UNIQUE INDEX {name}_{column} ON {name} ({column})"))


def _from_3(connection: sa.Connection) -> None:
    """Move the one key of every account to a separate row: for all datasets, in the account's role, without an end."""
    rows = connection.execute(
        sa.text("SELECT account, role, key_hash, created, revoked FROM accounts")
    ).mappings()
    kept = [dict(row) for row in rows]
    connection.execute(sa.text("DROP TABLE accounts"))
    ACCOUNTS.create(connection)
    KEYS.create(connection)
    for row in kept:
        key = {"key_hash": row.pop("key_hash"), **row}
        connection.execute(sa.insert(ACCOUNTS).values(**row))
        connection.execute(sa.insert(KEYS).values(**key))


#: `MIGRATIONS[n]` migrates schema n to n + 1.
MIGRATIONS: list[Callable[[sa.Connection], None]] = [_from_0, _from_1, _from_2, _from_3]


def newest_schema() -> int:
    """The schema of ledgers that this program makes."""
    return len(MIGRATIONS)


def write_schema(connection: sa.Connection, schema: int) -> None:
    """Write the number of its schema into a ledger."""
    SCHEMA.create(connection, checkfirst=True)
    connection.execute(sa.delete(SCHEMA))
    connection.execute(sa.insert(SCHEMA).values(schema=schema))


def schema_of(connection: sa.Connection) -> int:
    """The schema of a ledger: by its number, or by its columns where it has none."""
    found = sa.inspect(connection)
    names = set(found.get_table_names())
    if set(METADATA.tables) - {SCHEMA.name} - _LATER_TABLES - names:
        raise LedgerUnusable("The ledger lacks tables.", "Restore the newest copy.")
    if SCHEMA.name in names:
        return int(connection.execute(sa.select(SCHEMA.c.schema)).scalar_one())
    missing = {column for column in _missing_columns(connection) if column[0] not in _LATER_TABLES}
    return 0 if missing - {_LATER_COLUMN} == _LATER_THAN_0 else 1


def bring_up_to_date(engine: sa.Engine, on_step: Callable[[str], None] = lambda _step: None) -> None:
    """Migrate a ledger of an older schema; one of the newest is only validated."""
    with engine.begin() as connection:
        if _require_schema(connection) == newest_schema():
            _refuse_missing_columns(connection)
            return
    with engine.begin() as connection:
        _migrate(connection, on_step)
        _refuse_missing_columns(connection)
    on_step("migration committed")


def _migrate(connection: sa.Connection, on_step: Callable[[str], None]) -> None:
    """Run all needed migrations in one transaction; another process may have run them meanwhile."""
    if connection.dialect.name == "postgresql":  # on SQLite the transaction has the write lock
        connection.execute(sa.text("LOCK TABLE charges IN ACCESS EXCLUSIVE MODE"))
    on_step("locked")
    schema, before = _require_schema(connection), _sums(connection)
    for migration in MIGRATIONS[schema:]:
        migration(connection)
    on_step("migrated")
    if _sums(connection) != before:
        raise LedgerUnusable(
            f"The ledger has schema {schema} and cannot be migrated: a sum of charges would change.",
            "It was not changed. Use the version of Discreet that wrote it, and report this.",
        )
    write_schema(connection, newest_schema())
    on_step("marked")


def _require_schema(connection: sa.Connection) -> int:
    schema = schema_of(connection)
    if schema > newest_schema():
        raise LedgerUnusable(
            f"The ledger has schema {schema}, but this version of Discreet supports schemas up to "
            f"{newest_schema()}.",
            "Use the newer version of Discreet that wrote it.",
        )
    return schema


def by_key(table: sa.Table, *key: object) -> sa.ColumnElement[bool]:
    """The condition that a row has a primary key."""
    return sa.and_(*(column == value for column, value in zip(table.primary_key, key, strict=True)))


def find_row(connection: sa.Connection, table: sa.Table, *key: object) -> sa.Row[Any] | None:
    """The row with a primary key; None if there is none."""
    return connection.execute(sa.select(table).where(by_key(table, *key))).one_or_none()


def _sums(connection: sa.Connection) -> tuple[list[tuple[object, ...]], ...]:
    """The amounts spent: by charges, by budgets and by shares."""
    keys = (CHARGES.c.budget, CHARGES.c.account)
    amounts = (sa.func.count(), sa.func.sum(CHARGES.c.loss), sa.func.sum(CHARGES.c.failure))
    booked = sa.select(*keys, *amounts).group_by(*keys)
    columns = ("budget", "cap_loss", "cap_failure", "spent_loss", "spent_failure")
    budgets = sa.select(*(BUDGETS.c[name] for name in columns))
    shares = sa.select(SHARES.c.account, *(SHARES.c[name] for name in columns))
    return tuple(
        sorted((tuple(row) for row in connection.execute(query)), key=repr)
        for query in (booked, budgets, shares)
    )


def _missing_columns(connection: sa.Connection) -> set[tuple[str, str]]:
    found = sa.inspect(connection)
    present = {
        (name, column["name"]) for name in found.get_table_names() for column in found.get_columns(name)
    }
    needed = {(table.name, column.name) for table in METADATA.tables.values() for column in table.columns}
    return {each for each in needed if each[0] != SCHEMA.name} - present


def _refuse_missing_columns(connection: sa.Connection) -> None:
    """Refuse a ledger without a column of its schema: it was changed by hand, or by an unknown program."""
    for table, column in sorted(_missing_columns(connection)):
        raise LedgerUnusable(
            f"The ledger was made by another version of Discreet: `{table}` has no {column}.",
            "Use that version. A demo workspace can be deleted and is then rebuilt.",
        )


SECONDS_TO_WAIT = 60
#: The execution option of read-only connections.
READS = "discreet_reads"


class LedgerDatabase:
    """An open ledger database, by `create_database` or `open_database`."""

    def __init__(self, engine: sa.Engine, file: Path | None = None) -> None:
        self._engine = engine
        self._file = file

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """One transaction: all of it is on disk when the block ends, or none of it."""
        with _no_answers(), self._engine.begin() as connection:
            _refuse_to_forget(connection)
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Reads of one snapshot, without a write lock."""
        with _no_answers(), self._engine.connect() as connection:
            connection.execution_options(**{READS: True})
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    def mark(self) -> tuple[int, int, int] | None:
        """Inode, modification time and size, which change when another file replaces the ledger; None if unknown.

        In WAL mode a charge does not change them at once. It need not: a charge is never removed.
        """
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)

    def may_lose_by_fail_over(self) -> bool:
        """Whether a PostgreSQL server has standbys of which none must confirm a charge."""
        if self._engine.dialect.name != "postgresql":
            return False
        asked = "SELECT current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT 1 FROM pg_stat_replication)"
        with self.snapshot() as connection:
            return bool(connection.exec_driver_sql(asked).scalar_one())

    def close(self) -> None:
        """Dispose of the connections."""
        self._engine.dispose()


def create_database(place: Path | str) -> LedgerDatabase:
    """Create a new, empty ledger; refused if there is one already."""
    with _no_answers():
        if isinstance(place, Path):
            place.touch(mode=0o600)  # a file without tables, left by a crash, is completed here
        engine = _engine(place)
        if sa.inspect(engine).get_table_names():
            raise LedgerUnusable("The database is not empty.", "Open it, or give the URL of an empty one.")
        with engine.begin() as connection:
            _refuse_to_forget(connection)
            METADATA.create_all(connection)
            write_schema(connection, newest_schema())
    return LedgerDatabase(engine)


def open_database(place: Path | str, on_step: Callable[[str], None] = lambda _step: None) -> LedgerDatabase:
    """Open an existing ledger, validate it, and migrate it if its schema is older; tests interrupt it at `on_step`."""
    if isinstance(place, Path) and not (place.is_file() and place.stat().st_size):
        raise LedgerUnusable(
            f"The ledger {place.name!r} is missing.",
            "Restore the newest copy; without it the spent privacy budget is unknown.",
        )
    with _no_answers():
        engine = _engine(place)
        if engine.dialect.name == "sqlite":
            with engine.connect() as connection:
                if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                    raise LedgerUnusable("The ledger is damaged.", "Restore the newest copy.")
        else:
            with engine.begin() as connection:
                _refuse_to_forget(connection)
        bring_up_to_date(engine, on_step)
    return LedgerDatabase(engine, place if isinstance(place, Path) else None)


def is_empty(place: Path | str) -> bool:
    """Whether there is no ledger at a place yet: no file, or a database without tables.

    A database that is out of reach is not empty: it raises `LedgerUnusable`.
    """
    if isinstance(place, Path) and not (place.exists() and place.stat().st_size):
        return True
    with _no_answers():
        engine = _engine(place)
        try:
            return not sa.inspect(engine).get_table_names()
        finally:
            engine.dispose()


def _engine(place: Path | str) -> sa.Engine:
    if isinstance(place, str):
        return sa.create_engine(place, pool_pre_ping=True)
    # `mode=rw` never creates a file, and without a pool a forked process never shares a connection.
    address = f"file:{quote(str(place.resolve()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            address, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
        )

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Switch to the write-ahead log; SQLite does not wait for locks in this statement, so it is retried until a timeout."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    """Take the write lock at the start of writing transactions only."""
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _refuse_to_forget(connection: sa.Connection) -> None:
    """On PostgreSQL, make the commit of this transaction durable; a server with `fsync = off` is refused."""
    if connection.dialect.name != "postgresql":
        return
    asked = "SELECT set_config('synchronous_commit', 'on', true), current_setting('fsync')"
    if connection.exec_driver_sql(asked).one()[1] != "on":
        raise LedgerUnusable(
            "The PostgreSQL server of the ledger runs with fsync = off and can lose charges in a crash.",
            "Set fsync = on in postgresql.conf and reload the server.",
        )


@contextmanager
def _no_answers() -> Iterator[None]:
    """Turn every database failure into a refusal that reveals nothing."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, ImportError):
        raise LedgerUnusable(
            "The ledger cannot be read or written.",
            "Tables that must be charged are unavailable until then: check its disk, server and driver.",
        ) from None
