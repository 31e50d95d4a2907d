"""The audit log of requests: JSON lines in one hash chain (`chain`), rotated by size and day.

    log/requests-00-000001.jsonl     the lines of all processes; file number 1
    log/requests-00.head             the end and the start of the chain
    log/requests-00.lock             held by the process that writes at the moment

Each process queues its lines, and a thread writes them every `SECONDS_BETWEEN` seconds under the file lock. A process that
ends flushes its queue; one that is killed loses it, and the next process lists the number of lost lines from its counter
(`chain.LineCounter`). The first line of a file continues the chain of the file before. Files
older than `log_days` are removed, and the head says where the chain starts. If the end of a chain is cut off, the next line
continues from the head, so that the gap stays visible.

If the log cannot be written, `log_failure` decides: `go-on` answers, counts lost lines and logs their number later; `stop`
answers 503.

The fields of a line are made by `AuditMiddleware._write` in `web/audit/middleware.py`; `AuditedService` records the
canonical queries for every route.
No answer, no count and no key is recorded.
"""

import hashlib
import hmac
import ipaddress
import logging
import os
import threading
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from discreet.errors import BadOption, Refused
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetService
from discreet.release.dry_run import Attempt
from discreet.web.audit import chain
from discreet.web.context import request_context
from discreet.web.telemetry import span

CHAIN = "00"
#: Lines are written after this time, or when this many are queued; more than `MAX_QUEUED` are lost.
SECONDS_BETWEEN, FLUSH_AT, MAX_QUEUED = 1.0, 512, 20_000
#: Characters of requests in queued lines: a full disk must not fill the memory.
MAX_QUEUED_CHARS = 20_000_000
#: How long a process waits for another one that writes.
LOCK_SECONDS = 10.0
FAILURES = ("go-on", "stop")
_DAY = 86_400.0
log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class LogPolicy:
    """How the log is stored: one of `FAILURES` if it cannot be written, its size for rotation, and how long files stay."""

    failure: str = FAILURES[0]
    most_bytes: int = 64_000_000
    days: int = 90

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise BadOption(
                f"The option log_failure is {self.failure!r}.", f"Give one of: {', '.join(FAILURES)}."
            )


class AuditLog:
    """The log of a server; each process has its own queue. `on_lost` gets numbers of lost lines, for metrics."""

    def __init__(
        self, folder: Path, key: bytes, rules: LogPolicy, on_lost: Callable[[int], None] = lambda _lines: None
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._key, self.rules, self._on_lost = folder, key, rules, on_lost
        self._queue: list[dict[str, Any]] = []
        self._queued_chars = 0
        self._queue_lock, self._flush_lock = threading.Lock(), threading.Lock()
        self._file_lock = FileLock(self._path(".lock"), LOCK_SECONDS, mode=0o600)
        self._stopping, self._wake = threading.Event(), threading.Event()
        self.lost, self.failed = 0, False
        self._counter = chain.LineCounter(folder, CHAIN)
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)

    def __enter__(self) -> Self:
        self._list_lost()
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def expect_line(self) -> None:
        """Count a line before its request is answered: if this process is killed, it is known to be missing."""
        with self._queue_lock:
            self._counter.due += 1
            self._counter.save()

    def add(self, fields: dict[str, Any]) -> None:
        """Queue a line; one that was not expected is counted now."""
        with self._queue_lock:
            self._counter.added += 1
            if self._counter.due < self._counter.added:
                self._counter.due = self._counter.added
                self._counter.save()
            self._enqueue({**fields, "line": self._line_name()})
            full = len(self._queue) >= FLUSH_AT
        if self._stopping.is_set():  # a response that ends after the server
            self.flush()
            self._counter.close()
        elif full:
            self._wake.set()

    def flush(self) -> None:
        """Write the queue to the log."""
        with self._flush_lock:
            with self._queue_lock:
                lines, self._queue, self._queued_chars = self._queue, [], 0
                lost, last = self.lost, self._line_name()
                self.lost, added = 0, self._counter.added
            try:
                if lines or lost:
                    listed = [{"at": log_timestamp(), "lost": lost, "line": last}] if lost else []
                    with self._file_lock:
                        file = self._write([*lines, *listed])
                    with self._queue_lock:
                        self._counter.settled, self._counter.file = added, file
                        self._counter.save()
                self.failed = False
            except OSError as error:
                with self._queue_lock:
                    self.lost += lost
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
        self._counter.close()

    def _line_name(self) -> str:
        return f"{self._counter.id}:{self._counter.added}"

    def _list_lost(self) -> None:
        """List the lines that killed processes lost, as the last lines of these, and remove their counters."""
        with suppress(OSError), self._file_lock:  # what cannot be listed now is listed by the next process
            for missing in chain.missing_lines(self._folder, CHAIN):
                if missing.lines:
                    self._write([{"at": log_timestamp(), "lost": missing.lines, "line": missing.last}])
                    self._on_lost(missing.lines)
                chain.remove_counter(missing.path)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(SECONDS_BETWEEN)
            self._wake.clear()
            self.flush()

    def _enqueue(self, fields: dict[str, Any]) -> None:
        chars = sum(len(note["request"]) + len(note.get("packed", "")) for note in fields.get("asked", ()))
        if len(self._queue) < MAX_QUEUED and self._queued_chars + chars <= MAX_QUEUED_CHARS:
            self._queue.append(fields)
            self._queued_chars += chars
        else:
            self.lost += 1
            self._on_lost(1)

    def _write(self, lines: list[dict[str, Any]]) -> int:
        """Append lines to the chain, and return the number of their file; the caller holds the file lock."""
        head, rotate = self._find_end()
        if rotate:
            head = self._remove_old(head)
            head = replace(head, file=head.file + 1)
            while self._file(head.file).exists():  # a file that the head does not know
                head = replace(head, file=head.file + 1)
            first = {"log": 1, "at": log_timestamp(), "process": CHAIN, "file": head.file}
            lines = [first, *lines]
        signed, link = [], head.link
        for fields in lines:
            line, link = chain.sign_line(self._key, link, fields)
            signed.append(f"{line}\n")
        _append(self._file(head.file), "".join(signed))
        self._write_head(replace(head, link=link))
        return head.file

    def _find_end(self) -> tuple[chain.ChainHead, bool]:
        """The head of the chain, and whether the next line starts a new file."""
        head = chain.read_head(self._path(".head"), self._key) or chain.ChainHead()
        files = chain.chain_files(self._folder, CHAIN)
        if not files:
            return head, True
        link, torn = chain.last_link(files[-1])
        if chain.file_number(files[-1]) != head.file or link != head.link:
            head = chain.resume(self._folder, CHAIN, self._key, head)
        status = files[-1].stat()
        full = status.st_size >= self.rules.most_bytes or _day(status.st_mtime) != _day(time.time())
        return head, torn or full or chain.file_number(files[-1]) != head.file

    def _remove_old(self, head: chain.ChainHead) -> chain.ChainHead:
        """Remove files that are old enough, after the head says that the chain starts behind them."""
        for path in chain.chain_files(self._folder, CHAIN):
            number = chain.file_number(path)
            if number >= head.file or time.time() - path.stat().st_mtime < self.rules.days * _DAY:
                break
            link, _ = chain.last_link(path)
            if link is None:
                break
            head = replace(head, first_file=number + 1, first=link)
            self._write_head(head)
            path.unlink()
        return head

    def _write_head(self, head: chain.ChainHead) -> None:
        new = self._path(".head-new")
        new.write_text(head.text(self._key), "utf-8")
        new.replace(self._path(".head"))

    def _file(self, number: int) -> Path:
        return self._folder / f"{chain.PREFIX}-{CHAIN}-{number:06}.jsonl"

    def _path(self, suffix: str) -> Path:
        return self._folder / f"{chain.PREFIX}-{CHAIN}{suffix}"


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


def log_timestamp() -> str:
    """The current time as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


#: Queries of one request that are recorded.
MOST_ASKED = 20
#: Of a longer request the log has the beginning, its SHA-256 and, if there is room, all of it compressed.
LONGEST = 2_000
#: Characters of compressed requests in a line: some 5,000 codes of areas.
MOST_PACKED = 16_000
#: Characters that a compressed request decompresses to at most.
MOST_UNPACKED = 400_000
#: What is stored of client addresses: a keyed hash, the network (/24 or /48), the address, or nothing.
ADDRESS_FORMS = ("hashed", "truncated", "full", "none")
_HASH_DIGITS = 16


def record_query(request: TableRequest, digest: str, **outcome: Any) -> None:
    """Record a query of the current request, without the names of its groups; the first record of a query counts."""
    queries = request_context().queries
    request = replace(request, names=())
    text = request.permalink
    sha256 = hashlib.sha256(text.encode()).hexdigest() if len(text) > LONGEST else ""
    key = (request.dataset, sha256 or text)
    if len(queries) >= MOST_ASKED or key in queries:
        return
    entry = {"dataset": request.dataset, "version": digest[:8], "request": text[:LONGEST], **outcome}
    if sha256:
        entry["sha256"] = sha256
        room = MOST_PACKED - sum(len(each.get("packed", "")) for each in queries.values())
        packed = b64encode(zlib.compress(text[:MOST_UNPACKED].encode())).decode()
        if len(packed) <= room and len(text) <= MOST_UNPACKED:
            entry["packed"] = packed
    queries[key] = entry


def unpack_request(entry: Mapping[str, Any]) -> str | None:
    """The complete request of a recorded query; None if its line had no room for it."""
    if "sha256" not in entry:
        return str(entry["request"])
    try:
        text = zlib.decompressobj().decompress(b64decode(entry["packed"]), MOST_UNPACKED).decode()
    except (KeyError, ValueError, zlib.error):
        return None
    return text if hashlib.sha256(text.encode()).hexdigest() == entry["sha256"] else None


class AuditedService(DatasetService):
    """A dataset service that records its queries."""

    __slots__ = ()

    def check(self, request: TableRequest) -> CheckedRequest:
        """Check a request and record it with the outcome."""
        with span("check"), self._recording(request):
            checked = super().check(request)
        context = request_context()
        context.metered = context.metered or not checked.lasting
        record_query(checked.request, self.digest, cells=checked.cells)
        return checked

    def answer(self, asked: CheckedRequest) -> Release:
        """Charge, count, protect and release; rules on counts may still refuse."""
        with span("answer"):
            return super().answer(asked)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """Check a request without answering it, and record it as a dry run."""
        with self._recording(request):
            found = super().dry_run(request)
        self._record_dry_run(request, "" if found.get("allowed", True) else "refused")
        return found

    def foresee(self, request: TableRequest) -> Attempt:
        """Check a request without answering it, and record it as a dry run."""
        with self._recording(request):
            found = super().foresee(request)
        self._record_dry_run(request, found.refusal.code if found.refusal is not None else "")
        return found

    def _record_dry_run(self, request: TableRequest, code: str) -> None:
        outcome = {"refused": code} if code else {}
        record_query(self.read(request).request, self.digest, dry=True, **outcome)

    @contextmanager
    def _recording(self, request: TableRequest) -> Iterator[None]:
        try:
            yield
        except Refused as refusal:
            record_query(self.read(request).request, self.digest, refused=refusal.code)
            raise


class AddressPolicy:
    """What is stored of client addresses: one of `ADDRESS_FORMS`.

    Rate limits use the keyed hash in every case. IPv6 addresses are hashed by their /64, which is one household.
    """

    def __init__(self, key: bytes, form: str = ADDRESS_FORMS[0]) -> None:
        if form not in ADDRESS_FORMS:
            raise BadOption(
                f"The option log_addresses is {form!r}.", f"Give one of: {', '.join(ADDRESS_FORMS)}."
            )
        self.pseudonym = lru_cache(65_536)(partial(_keyed_hash, key))
        truncated = lru_cache(65_536)(lambda address: _network(address, 24, 48))
        stored = (self.pseudonym, truncated, str, lambda _address: "")
        self.stored: Callable[[str], str] = stored[ADDRESS_FORMS.index(form)]


def _keyed_hash(key: bytes, address: str) -> str:
    return hmac.digest(key, _network(address, 32, 64).encode(), hashlib.sha256).hex()[:_HASH_DIGITS]


def _network(address: str, prefix_v4: int, prefix_v6: int) -> str:
    """The network of an address; what is no address stays as it is.

    >>> _network("203.0.113.7", 24, 48), _network("2001:db8:1:2::3", 24, 48)
    ('203.0.113.0/24', '2001:db8:1::/48')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    plain = getattr(found, "ipv4_mapped", None) or found
    return str(ipaddress.ip_network((plain, prefix_v4 if plain.version == 4 else prefix_v6), strict=False))
