"""Where the ledger lives: SQLite in a file by default, PostgreSQL by a URL. Any trouble means no answers.

SQLite runs in WAL mode with full synchronisation, and every transaction that writes takes the write lock at its start
(BEGIN IMMEDIATE), so a commit that returned is on disk and two processes never charge at once. On PostgreSQL every
such transaction sets `synchronous_commit = on`, and a server with `fsync = off` is refused: both forget charges when
they fall. With that setting a charge is also on every standby that `synchronous_standby_names` demands.
Reads take no write lock and see one moment. A ledger that is missing is not made anew in passing: an empty
ledger would forget what was spent.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerUnusable
from discreet.ledger.schema import bring_up_to_date, mark, newest_schema
from discreet.ledger.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_TO_WAIT = 60
#: The option of a connection that only reads.
READS = "discreet_reads"


class LedgerDatabase:
    """An open ledger database.

    Args:
        engine: The SQLAlchemy engine; use `create_database` or `open_database`.
        file: Where it is, if it is a file.
    """

    def __init__(self, engine: Engine, file: Path | None = None) -> None:
        self._engine = engine
        self._file = file

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: all of it is on disk when the block ends, or none of it; trouble means no answers."""
        with _no_answers(), self._engine.begin() as connection:
            _refuse_to_forget(connection)
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Reads that all see the same moment, without a write lock: sums and rows belong together."""
        with _no_answers(), self._engine.connect() as connection:
            connection.execution_options(**{READS: True})
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    def mark(self) -> tuple[int, int, int] | None:
        """What changes when another file takes the ledger's place, or is copied over it; None where nobody can tell.

        In WAL mode a charge is not written here at once. It need not be: a charge is never taken back.
        """
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)

    def may_lose_by_fail_over(self) -> bool:
        """Whether a PostgreSQL server has standbys of which none must have a charge before it is answered."""
        if self._engine.dialect.name != "postgresql":
            return False
        asked = "SELECT current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT 1 FROM pg_stat_replication)"
        with self.snapshot() as connection:
            return bool(connection.exec_driver_sql(asked).scalar_one())

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
        with engine.begin() as connection:
            _refuse_to_forget(connection)
            METADATA.create_all(connection)
            mark(connection, newest_schema())
    return LedgerDatabase(engine)


def open_database(place: Path | str, on_step: Callable[[str], None] = lambda _step: None) -> LedgerDatabase:
    """Open an existing ledger, check it, and migrate it if an older Discreet made it.

    Args:
        place: Its file or URL.
        on_step: Told when each of `schema.STEPS` is done; for tests that end the process there.

    Raises:
        LedgerUnusable: It is missing, damaged, out of reach or newer than this program.
    """
    if isinstance(place, Path) and not (place.is_file() and place.stat().st_size):
        raise LedgerUnusable(
            f"The ledger {place.name!r} is missing.",
            "Restore the newest copy: without it nobody knows what was spent.",
        )
    with _no_answers():
        engine = _engine(place)
        if engine.dialect.name == "sqlite":
            _check_sqlite(engine)
        else:
            with engine.begin() as connection:
                _refuse_to_forget(connection)
        bring_up_to_date(engine, on_step)
    return LedgerDatabase(engine, place if isinstance(place, Path) else None)


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
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    _write_ahead(connection)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Journal by write-ahead log, which many processes may ask for at once.

    SQLite refuses this one change at once where another connection holds a lock: it does not wait as it does elsewhere.
    """
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    """Take the write lock at once where something may be written, and never where something is only read."""
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _refuse_to_forget(connection: Connection) -> None:
    """On PostgreSQL: this transaction is on disk when its commit returns, or nothing is written.

    Raises:
        LedgerUnusable: The server runs with `fsync = off`.
    """
    if connection.dialect.name != "postgresql":
        return
    asked = "SELECT set_config('synchronous_commit', 'on', true), current_setting('fsync')"
    if connection.exec_driver_sql(asked).one()[1] != "on":
        raise LedgerUnusable(
            "The PostgreSQL server of the ledger runs with fsync = off: it forgets charges when it falls.",
            "Set fsync = on in postgresql.conf and reload the server.",
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
