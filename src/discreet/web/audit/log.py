"""The audit log of requests: JSON lines in one hash chain (`chain`), rotated by size and day.

    log/requests-00-000001.jsonl     the lines of all processes; file number 1
    log/requests-00.head             the end and the start of the chain
    log/requests-00.lock             held by the process that writes at the moment

Each process queues its lines, and a thread writes them every `SECONDS_BETWEEN` seconds under the file lock. A process that
ends flushes its queue; one that is killed loses it. The first line of a file continues the chain of the file before. Files
older than `log_days` are removed, and the head says where the chain starts. If the end of a chain is cut off, the next line
continues from the head, so that the gap stays visible.

If the log cannot be written, `log_failure` decides: `go-on` answers, counts lost lines and logs their number later; `stop`
answers 503.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from discreet.errors import BadOption
from discreet.web.audit.chain import (
    PREFIX,
    ChainHead,
    ChainLink,
    chain_files,
    file_number,
    last_link,
    read_head,
    resume,
    sign_line,
)

CHAIN = "00"
#: Lines are written after this time, or when this many are queued; more than `MAX_QUEUED` are lost.
SECONDS_BETWEEN, FLUSH_AT, MAX_QUEUED = 1.0, 512, 20_000
#: Characters of requests in queued lines: a full disk must not fill the memory.
MAX_QUEUED_CHARS = 20_000_000
#: How long a process waits for another one that writes.
LOCK_SECONDS = 10.0
FAILURES = ("go-on", "stop")
_DAY = 86_400.0
#: The end of a file that is read to find its last line; no line is longer.
_TAIL = 262_144
log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class LogPolicy:
    """How the log is stored.

    Args:
        failure: What happens if it cannot be written, one of `FAILURES`.
        most_bytes: Rotate a file at this size.
        days: Remove files after this many days.
    """

    failure: str = FAILURES[0]
    most_bytes: int = 64_000_000
    days: int = 90

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise BadOption(
                f"The option log_failure is {self.failure!r}.", f"Give one of: {', '.join(FAILURES)}."
            )


class AuditLog:
    """The log of a server; each process has its own queue.

    Args:
        folder: The folder of the log files.
        key: Of the macs.
        rules: How it is stored.
        on_lost: Called with the number of lost lines, for metrics.
    """

    def __init__(
        self, folder: Path, key: bytes, rules: LogPolicy, on_lost: Callable[[int], None] = lambda _lines: None
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._key, self.rules, self._on_lost = folder, key, rules, on_lost
        self._queue: list[dict[str, Any]] = []
        self._queued_chars = 0
        self._queue_lock, self._flush_lock = threading.Lock(), threading.Lock()
        self._file_lock = FileLock(self._path(".lock"), LOCK_SECONDS)
        self._stopping, self._wake = threading.Event(), threading.Event()
        self.lost, self.failed = 0, False
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def add(self, fields: dict[str, Any]) -> None:
        """Queue a line."""
        with self._queue_lock:
            self._enqueue(fields)
            full = len(self._queue) >= FLUSH_AT
        if full:
            self._wake.set()

    def flush(self) -> None:
        """Write the queue to the log."""
        with self._flush_lock:
            with self._queue_lock:
                lines, self._queue, self._queued_chars = self._queue, [], 0
            try:
                if lines:
                    with self._file_lock:
                        self._write(lines)
                self.failed = False
            except OSError as error:
                with self._queue_lock:
                    lines, self._queue, self._queued_chars = lines + self._queue, [], 0
                    for fields in lines:
                        self._enqueue(fields)
                if not self.failed:
                    log.error("The log of requests cannot be written: %s", type(error).__name__)  # noqa: TRY400
                self.failed = True

    def close(self) -> None:
        """Stop the thread and flush the queue."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(SECONDS_BETWEEN)
            self._wake.clear()
            self.flush()

    def _enqueue(self, fields: dict[str, Any]) -> None:
        """Queue a line, or count it as lost if there is no room."""
        chars = sum(len(note["request"]) + len(note.get("packed", "")) for note in fields.get("asked", ()))
        if len(self._queue) < MAX_QUEUED and self._queued_chars + chars <= MAX_QUEUED_CHARS:
            self._queue.append(fields)
            self._queued_chars += chars
        else:
            self.lost += 1
            self._on_lost(1)

    def _write(self, lines: list[dict[str, Any]]) -> None:
        """Append lines to the chain; the caller holds the file lock."""
        head, rotate = self._find_end()
        if rotate:
            head = self._remove_old(head)
            head = replace(head, file=head.file + 1)
            while self._file(head.file).exists():  # a file that the head does not know
                head = replace(head, file=head.file + 1)
            first = {"log": 1, "at": log_timestamp(), "process": CHAIN, "file": head.file}
            lines = [first, *lines]
        if lost := self.lost:
            lines = [*lines, {"lost": lost}]
        signed, link = [], head.link
        for fields in lines:
            line, link = sign_line(self._key, link, fields)
            signed.append(f"{line}\n")
        _append(self._file(head.file), "".join(signed))
        with self._queue_lock:
            self.lost -= lost
        self._write_head(replace(head, link=link))

    def _find_end(self) -> tuple[ChainHead, bool]:
        """The head of the chain, and whether the next line starts a new file."""
        head = read_head(self._path(".head"), self._key) or ChainHead()
        files = chain_files(self._folder, CHAIN)
        if not files:
            return head, True
        link, torn = _last_line(files[-1])
        if file_number(files[-1]) != head.file or link != head.link:
            head = resume(self._folder, CHAIN, self._key, head)
        status = files[-1].stat()
        full = status.st_size >= self.rules.most_bytes or _day(status.st_mtime) != _day(time.time())
        return head, torn or full or file_number(files[-1]) != head.file

    def _remove_old(self, head: ChainHead) -> ChainHead:
        """Remove files that are old enough, after the head says that the chain starts behind them."""
        for path in chain_files(self._folder, CHAIN):
            number = file_number(path)
            if number >= head.file or time.time() - path.stat().st_mtime < self.rules.days * _DAY:
                break
            link = last_link(path)
            if link is None:
                break
            head = replace(head, first_file=number + 1, first=link)
            self._write_head(head)
            path.unlink()
        return head

    def _write_head(self, head: ChainHead) -> None:
        new = self._path(".head-new")
        new.write_text(head.text(self._key), "utf-8")
        new.replace(self._path(".head"))

    def _file(self, number: int) -> Path:
        return self._folder / f"{PREFIX}-{CHAIN}-{number:06}.jsonl"

    def _path(self, suffix: str) -> Path:
        return self._folder / f"{PREFIX}-{CHAIN}{suffix}"


def _append(path: Path, text: str) -> None:
    """Append a text to a file completely or not at all."""
    before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="ascii") as file:
            file.write(text)
    except OSError:
        if path.exists():
            os.truncate(path, before)
        raise


def _last_line(path: Path) -> tuple[ChainLink | None, bool]:
    """The link of the last complete line of a file, unverified, and whether a torn line follows it."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        *lines, rest = file.read().split(b"\n")
    try:
        fields = json.loads(lines[-1])
        return ChainLink(fields["seq"], fields["mac"]), bool(rest)
    except (IndexError, ValueError, KeyError, TypeError):
        return None, bool(rest)


def log_timestamp() -> str:
    """The current time as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
