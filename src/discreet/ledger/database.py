"""Where the ledger lives: SQLite in a file by default, PostgreSQL by a URL. Any trouble means no answers.

SQLite runs in WAL mode with full synchronisation, and every transaction takes the write lock at its start
(BEGIN IMMEDIATE), so a commit that returned is on disk and two processes never charge at once. A ledger that is missing
is not made anew in passing: an empty ledger would forget what was spent.

Comes from: `workspace` (path or URL). Goes to: `ledger`, `accounts`.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    ForeignKey,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    inspect,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS_TO_WAIT = 60

_METADATA = MetaData()

#: Losses are whole numbers of `LOSS_UNIT`, failures of `FAILURE_UNIT`: sums are exact, caps are never passed by rounding.
FAMILIES = Table(
    "families",
    _METADATA,
    Column("family", String(200), primary_key=True),
    Column("rule", String(16), nullable=False),
    Column("neighbours", String(16), nullable=False),
    Column("cap_loss", BigInteger, nullable=False),
    Column("cap_failure", BigInteger, nullable=False),
    Column("spent_loss", BigInteger, nullable=False, default=0),
    Column("spent_failure", BigInteger, nullable=False, default=0),
    CheckConstraint("spent_loss <= cap_loss AND spent_failure <= cap_failure", name="family_within_cap"),
)
SHARES = Table(
    "shares",
    _METADATA,
    Column("family", String(200), ForeignKey("families.family"), primary_key=True),
    Column("account", String(200), primary_key=True),
    Column("cap_loss", BigInteger, nullable=False),
    Column("cap_failure", BigInteger, nullable=False),
    Column("spent_loss", BigInteger, nullable=False, default=0),
    Column("spent_failure", BigInteger, nullable=False, default=0),
    CheckConstraint("spent_loss <= cap_loss AND spent_failure <= cap_failure", name="share_within_cap"),
)
CHARGES = Table(
    "charges",
    _METADATA,
    Column("family", String(200), ForeignKey("families.family"), primary_key=True),
    Column("request", String(64), primary_key=True),
    Column("account", String(200)),
    Column("loss", BigInteger, nullable=False),
    Column("failure", BigInteger, nullable=False),
    Column("what", String, nullable=False),
    Column("at", String(40), nullable=False),
)
#: One version, one set of records: noise that came again exactly where records did would tell whether they changed.
#: One dataset, one budget: under another cap its persons would be promised less than is spent.
VERSIONS = Table(
    "versions",
    _METADATA,
    Column("dataset", String(64), primary_key=True),
    Column("version", String(200), primary_key=True),
    Column("family", String(200), nullable=False),
    Column("records", String(64), nullable=False),
)
ACCOUNTS = Table(
    "accounts",
    _METADATA,
    Column("account", String(200), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("key_hash", String(64), nullable=False, unique=True),
    Column("created", String(40), nullable=False),
    Column("revoked", String(40)),
)
#: Groups of their own that accounts have made; each counts once (`group_meter`).
GROUPS = Table(
    "free_groups",
    _METADATA,
    Column("account", String(200), primary_key=True),
    Column("dataset", String(64), primary_key=True),
    Column("variable", String(64), primary_key=True),
    Column("members", String(64), primary_key=True),
)


class LedgerDatabase:
    """An open ledger database.

    Args:
        engine: The SQLAlchemy engine; use `create_database` or `open_database`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: all of it is on disk when the block ends, or none of it; trouble means no answers."""
        with _no_answers(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction whose reads all see the same moment: sums and rows belong together."""
        with _no_answers(), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def create_database(place: Path | str) -> LedgerDatabase:
    """Make a new, empty ledger.

    Raises:
        LedgerUnusable: There is one already, or it cannot be made.
    """
    with _no_answers():
        if isinstance(place, Path):
            place.touch(mode=0o600)  # one that a dying process left without tables is finished here
        engine = _engine(place)
        if inspect(engine).get_table_names():
            raise LedgerUnusable("The database is not empty.", "Open it, or give the URL of an empty one.")
        _METADATA.create_all(engine)
    return LedgerDatabase(engine)


def open_database(place: Path | str) -> LedgerDatabase:
    """Open an existing ledger and check it.

    Raises:
        LedgerUnusable: It is missing, damaged or out of reach.
    """
    if isinstance(place, Path) and not (place.is_file() and place.stat().st_size):
        raise LedgerUnusable(
            f"The ledger {place.name!r} is missing.",
            "Restore the newest copy: without it nobody knows what was spent.",
        )
    with _no_answers():
        engine = _engine(place)
        missing = set(_METADATA.tables) - set(inspect(engine).get_table_names())
        if missing:
            raise LedgerUnusable("The ledger lacks tables.", "Restore the newest copy.")
        _refuse_other_columns(engine)
        if engine.dialect.name == "sqlite":
            _check_sqlite(engine)
    return LedgerDatabase(engine)


def is_empty(place: Path | str) -> bool:
    """Whether there is no ledger at a place yet: no file, or a database without tables.

    Raises:
        LedgerUnusable: It is out of reach, which is not the same as empty.
    """
    if isinstance(place, Path) and not (place.exists() and place.stat().st_size):
        return True
    with _no_answers():
        engine = _engine(place)
        try:
            return not inspect(engine).get_table_names()
        finally:
            engine.dispose()


def _engine(place: Path | str) -> Engine:
    if isinstance(place, str):
        return create_engine(place, pool_pre_ping=True)
    # `mode=rw` never makes a file, and without a pool a forked process never shares a connection.
    address = f"file:{quote(str(place.resolve()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            address, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
        )

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _refuse_other_columns(engine: Engine) -> None:
    """A ledger of an earlier Discreet is whole, but it cannot say what this one must know."""
    found = inspect(engine)
    for name, table in _METADATA.tables.items():
        missing = set(table.columns.keys()) - {column["name"] for column in found.get_columns(name)}
        if missing:
            raise LedgerUnusable(
                f"The ledger was made by another version of Discreet: `{name}` has no {', '.join(sorted(missing))}.",
                "Use the version that made it. A demo workspace may be deleted and is then built again.",
            )


def _check_sqlite(engine: Engine) -> None:
    with engine.connect() as connection:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if found != "ok":
        raise LedgerUnusable("The ledger is damaged.", "Restore the newest copy.")


@contextmanager
def _no_answers() -> Iterator[None]:
    """Turn every failure of the database into one that answers nothing and tells nothing."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, ImportError):
        raise LedgerUnusable(
            "The ledger cannot be read or written.",
            "Nothing that must be charged is answered until it can: check its disk, server and driver.",
        ) from None
