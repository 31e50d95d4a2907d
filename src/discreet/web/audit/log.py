"""The log of requests: JSON lines, one chain for each process, written in pieces, turned over by size and day.

    log/requests-00-000001.jsonl     the first process; its file number 1
    log/requests-00.head             where its chain has come to and where it begins, sealed
    log/requests-00.lock             held while a process writes this chain

Lines are collected and written every `SECONDS_BETWEEN` seconds, or as soon as `MOST_WAITING` wait; the system brings them
to the disk. A process that is killed loses what it had not written, a machine that falls what the system had not.
The first line of a file carries the chain on from the file before. Files whose last line is older than `log_days` are
removed, and the head says where the chain now begins. A chain whose end was cut off while no server ran is carried on
from its head, so that the gap stays visible.

If the log cannot be written, the option `log_failure` decides: `go-on` answers, counts the lines that were lost and
writes their number when it can; `stop` answers 503.

Whether a log of requests is as it was written: every line in its place, from its beginning to its end.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from discreet.errors import BadOption
from discreet.web.audit.chain import ChainLink, line_mac, sign_line, verify_line
from discreet.workspace.sealed import try_lock

PREFIX = "requests"
SECONDS_BETWEEN, MOST_WAITING, MOST_KEPT = 1.0, 512, 20_000
#: Letters of requests in lines that wait: a disk that is full must not fill the memory.
MOST_LETTERS = 20_000_000
MOST_PROCESSES = 100
FAILURES = ("go-on", "stop")
_DAY = 86_400.0
log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class LogPolicy:
    """How the log is kept.

    Args:
        failure: What happens where it cannot be written, one of `FAILURES`.
        most_bytes: A file that is larger is turned over.
        days: Files are removed after so many days.
    """

    failure: str = FAILURES[0]
    most_bytes: int = 64_000_000
    days: int = 90

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise BadOption(
                f"The option log_failure is {self.failure!r}.", f"Give one of: {', '.join(FAILURES)}."
            )


@dataclass(frozen=True, slots=True)
class ChainHead:
    """What is known of a chain beside its lines.

    Args:
        file: The number of the file that is written.
        link: Its last line.
        first_file: The oldest file that is kept.
        first: What stands before its first line.
    """

    file: int = 0
    link: ChainLink = ChainLink()  # noqa: RUF009 - frozen
    first_file: int = 1
    first: ChainLink = ChainLink()  # noqa: RUF009 - frozen

    def text(self, key: bytes) -> str:
        """The head as it is written, sealed."""
        fields = [self.file, self.link.seq, self.link.mac, self.first_file, self.first.seq, self.first.mac]
        return json.dumps({"head": fields, "mac": line_mac(key, "head", json.dumps(fields))}) + "\n"


def read_head(path: Path, key: bytes) -> ChainHead | None:
    """The head of a chain; None where there is none, or it is not one of ours."""
    try:
        document = json.loads(path.read_text("utf-8"))
        fields = document["head"]
        if line_mac(key, "head", json.dumps(fields)) != document["mac"]:
            return None
        file, seq, mac, first_file, first_seq, first_mac = fields
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ChainHead(file, ChainLink(seq, mac), first_file, ChainLink(first_seq, first_mac))


def chain_files(folder: Path, process: str) -> list[Path]:
    """The files of a chain, the oldest first."""
    return sorted(folder.glob(f"{PREFIX}-{process}-*.jsonl"))


class AuditLog:
    """The chain of this process.

    Args:
        folder: Where logs stand.
        key: Of the seals.
        rules: How it is kept.
        on_lost: Told how many lines were lost, for metrics.
    """

    def __init__(
        self, folder: Path, key: bytes, rules: LogPolicy, on_lost: Callable[[int], None] = lambda _lines: None
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._key, self.rules = folder, key, rules
        self._waiting: list[dict[str, Any]] = []
        self._letters = 0
        self._room, self._writing, self._stopped = threading.Lock(), threading.Lock(), threading.Event()
        self._wake = threading.Event()
        self._process, self._lock = _claim(folder)
        self._head = _resumed(folder, self._process, key, read_head(self._path(".head"), key) or ChainHead())
        self._opened_on, self._size = "", rules.most_bytes  # the first line opens a new file
        self.lost, self.failed, self._on_lost = 0, False, on_lost
        self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def add(self, fields: dict[str, Any]) -> None:
        """Put a line into the log; it is written soon."""
        with self._room:
            self._hold(fields)
            many = len(self._waiting) >= MOST_WAITING
        if many:
            self._wake.set()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            with self._room:
                lines, self._waiting, self._letters = self._waiting, [], 0
            try:
                self._write(lines)
                self.failed = False
            except OSError as error:
                self._keep_again(lines)
                if not self.failed:
                    log.error("The log of requests cannot be written: %s", type(error).__name__)  # noqa: TRY400
                self.failed = True

    def close(self) -> None:
        """Write what waits and let go of the chain."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()
        self._lock.release()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(SECONDS_BETWEEN)
            self._wake.clear()
            self.flush()

    def _keep_again(self, lines: list[dict[str, Any]]) -> None:
        with self._room:
            lines, self._waiting, self._letters = lines + self._waiting, [], 0
            for fields in lines:
                self._hold(fields)

    def _hold(self, fields: dict[str, Any]) -> None:
        """Keep a line until it is written, or count it as lost where there is no room for it."""
        letters = sum(len(note["request"]) + len(note.get("packed", "")) for note in fields.get("asked", ()))
        if len(self._waiting) < MOST_KEPT and self._letters + letters <= MOST_LETTERS:
            self._waiting.append(fields)
            self._letters += letters
        else:
            self.lost += 1
            self._on_lost(1)

    def _write(self, lines: list[dict[str, Any]]) -> None:
        if not lines:
            return
        head = self._head
        if self._size >= self.rules.most_bytes or self._opened_on != _today():
            head, first = self._turn_over()
            lines = [first, *lines]
        if lost := self.lost:
            lines = [*lines, {"lost": lost}]
        made, link = [], head.link
        for fields in lines:
            line, link = sign_line(self._key, link, fields)
            made.append(f"{line}\n")
        text = "".join(made)
        _append(self._file(head.file), text)
        self._size += len(text)
        with self._room:
            self.lost -= lost
        self._head = replace(head, link=link)
        self._write_head()

    def _turn_over(self) -> tuple[ChainHead, dict[str, Any]]:
        """The head of a new file, and what its first line tells."""
        self._remove_old()
        number = self._head.file + 1
        while self._file(number).exists():  # another program's, or one that the head does not know
            number += 1
        self._size, self._opened_on = 0, _today()
        first = {"log": 1, "at": log_timestamp(), "process": self._process, "file": number}
        return replace(self._head, file=number), first

    def _remove_old(self) -> None:
        """Remove files that are old, and remember where the chain now begins."""
        for path in chain_files(self._folder, self._process):
            number = int(path.stem.rpartition("-")[2])
            if number >= self._head.file or time.time() - path.stat().st_mtime < self.rules.days * _DAY:
                return
            link = last_link(path)
            if link is None:
                return
            self._head = replace(self._head, first_file=number + 1, first=link)
            self._write_head()
            path.unlink()

    def _write_head(self) -> None:
        aside = self._path(".head-new")
        aside.write_text(self._head.text(self._key), "utf-8")
        aside.replace(self._path(".head"))

    def _file(self, number: int) -> Path:
        return self._folder / f"{PREFIX}-{self._process}-{number:06}.jsonl"

    def _path(self, suffix: str) -> Path:
        return self._folder / f"{PREFIX}-{self._process}{suffix}"


def _append(path: Path, text: str) -> None:
    """Write all of a text at the end of a file, or none of it."""
    before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="ascii") as file:
            file.write(text)
    except OSError:
        if path.exists():
            os.truncate(path, before)
        raise


def _resumed(folder: Path, process: str, key: bytes, head: ChainHead) -> ChainHead:
    """The head with the lines that were written after it: a process may be ended between the two."""
    for path in chain_files(folder, process):
        number = int(path.stem.rpartition("-")[2])
        if number < head.file:
            continue
        with path.open(encoding="ascii", errors="replace") as file:
            for line in file:
                link = verify_line(key, head.link, line.rstrip("\n")) if line.endswith("\n") else None
                if link is not None:
                    head = replace(head, file=number, link=link)
    return head


def log_timestamp() -> str:
    """The time as the log tells it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _claim(folder: Path) -> tuple[str, Any]:
    """The first chain that no other process writes."""
    for number in range(MOST_PROCESSES):
        lock = try_lock(folder / f"{PREFIX}-{number:02}.lock")
        if lock is not None:
            return f"{number:02}", lock
    raise BadOption("More processes write the log than there are chains.", f"Use at most {MOST_PROCESSES}.")


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What was found of one chain.

    Args:
        process: Which chain.
        first: The number of the first line that is kept.
        last: The number of the last.
        mac: The mac of the last line: written down elsewhere, it proves later that nothing up to it was changed.
        faults: What is wrong, in sentences; empty for a sound chain.
    """

    process: str
    first: int
    last: int
    mac: str
    faults: tuple[str, ...]


def log_chains(folder: Path) -> list[str]:
    """The chains in a folder."""
    names = {path.stem.split("-")[1] for path in folder.glob(f"{PREFIX}-*") if path.suffix != ".lock"}
    return sorted(name for name in names if name.isdigit())


def verify_log(folder: Path, key: bytes) -> list[ChainReport]:
    """Verify every chain of a folder."""
    return [_verify(folder, process, key) for process in log_chains(folder)]


def read_log_file(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that can be read, as they stand; a torn last one is left out."""
    with path.open(encoding="ascii", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def last_link(path: Path) -> ChainLink | None:
    """The last line of a file, as it tells itself."""
    found = None
    for fields in read_log_file(path):
        found = ChainLink(fields.get("seq", 0), fields.get("mac", ""))
    return found


def has_line(folder: Path, words: str) -> bool:
    """Whether a line is still there that was written down as CHAIN:LINE:MAC."""
    process, _, rest = words.partition(":")
    seq, _, mac = rest.partition(":")
    return any(
        str(fields.get("seq")) == seq and fields.get("mac") == mac
        for path in chain_files(folder, process)
        for fields in read_log_file(path)
    )


def _verify(folder: Path, process: str, key: bytes) -> ChainReport:
    head, faults = read_head(folder / f"{PREFIX}-{process}.head", key), []
    if head is None:
        head = ChainHead()
        faults.append(
            f"The head of chain {process} is missing, was changed, or was sealed with another secret."
        )
    link, passed = head.first, False
    files = chain_files(folder, process)
    numbers = [int(path.stem.rpartition("-")[2]) for path in files]
    if numbers and numbers[0] > head.first_file:
        faults.append(f"Chain {process} lacks its files before {files[0].name}.")
    for path in files:
        found, fault = _file(path, key, link)
        link = found
        if fault:
            faults.append(fault)
            break
        passed = passed or link.seq >= head.link.seq
    if not faults and link.seq < head.link.seq:
        faults.append(f"Chain {process} ends at line {link.seq}, and {head.link.seq} lines were written.")
    return ChainReport(process, head.first.seq + 1, link.seq, link.mac, tuple(faults))


def _file(path: Path, key: bytes, link: ChainLink) -> tuple[ChainLink, str]:
    """Where the chain has come to after a file, and what is wrong in it."""
    with path.open(encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):  # a process was ended while it wrote: the next file goes on before it
                break
            found = verify_line(key, link, line.rstrip("\n"))
            if found is None:
                return link, f"{path.name}, line {number}: it was changed, or lines before it are missing."
            link = found
    return link, ""
