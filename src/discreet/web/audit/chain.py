"""The hash chain of the audit log: every line is authenticated together with the one before.

    mac(n) = HMAC-SHA256(key, mac(n-1) || line n without its mac)        {"seq": 7, ..., "mac": "5e88..."}

Nobody without the key can change, move or remove a line unnoticed. A chain cannot show that its end is missing: the
head, authenticated as well, stores the last sequence number and mac, and where the chain starts after old files were
removed. Nor can it show lines that a killed process had not written: each process counts its lines in a small file, and
the last field of a line is its process and number, so that the missing ones can be counted.

    requests-00.5c1e09d2.count       the lines of one process: due, settled, and the file that it wrote last
    requests-00.5c1e09d2.lock        held until the process ends
"""

import hashlib
import hmac
import json
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from discreet.workspace.sealed import try_lock

PREFIX = "requests"
#: The mac before the first line.
START = "0" * 32
#: Hexadecimal digits of a mac: 128 bits.
DIGITS = 32
_MAC = ', "mac": "'
_LOST = '"lost": '
_COUNTS = struct.Struct("<QQQ")
#: The end of a file that is read to find its last line; no line is longer.
_TAIL = 262_144


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A position in a chain: the sequence number and the mac of a line."""

    seq: int = 0
    mac: str = START


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last line and its file, and where the chain starts: the number of the oldest file and the line before it."""

    file: int = 0
    link: ChainLink = ChainLink()
    first_file: int = 1
    first: ChainLink = ChainLink()

    def text(self, key: bytes) -> str:
        """The head as a file, with its mac."""
        fields = [self.file, self.link.seq, self.link.mac, self.first_file, self.first.seq, self.first.mac]
        return json.dumps({"head": fields, "mac": line_mac(key, "head", json.dumps(fields))}) + "\n"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of verifying one chain.

    Args:
        first, last: The sequence numbers of the first stored line and of the last.
        mac: The mac of the last line. Stored elsewhere, it proves later that nothing up to it was changed.
        faults: What is wrong, in sentences; empty for an intact chain.
        lost: How many requests have no line: those that the chain lists as lost, and those of killed processes.
    """

    process: str
    first: int
    last: int
    mac: str
    faults: tuple[str, ...]
    lost: int = 0


class LineCounter:
    """How many lines this process must add to a chain, in a file that outlives it.

    A request counts in `due` before it is answered, and in `added` when its line is queued, which is the number of the
    line. `settled` is how many of these the chain has or lists as lost, and `file` the file that was written last.
    """

    def __init__(self, folder: Path, process: str) -> None:
        self.id = token_hex(4)
        self.due = self.added = self.settled = self.file = 0
        stem = f"{PREFIX}-{process}.{self.id}"
        self._path = folder / f"{stem}.count"
        self._lock = try_lock(folder / f"{stem}.lock")
        self._open = self._path.open("wb", buffering=0)
        self.save()

    def save(self) -> None:
        """Write the counter; it is still there if this process is killed."""
        with suppress(OSError, ValueError):  # the disk fails, or the counter is closed
            self._open.seek(0)
            self._open.write(_COUNTS.pack(self.due, self.settled, self.file))

    def close(self) -> None:
        """Remove the file if the chain has every line; else it stays until this process has ended."""
        if self.settled >= self.due:
            self._open.close()
            if self._lock is not None:
                self._lock.release()
            remove_counter(self._path)


@dataclass(frozen=True, slots=True)
class Missing:
    """Lines that a process which has ended did not write; `last` is the name that its last line would have."""

    path: Path
    lines: int
    last: str


def missing_lines(folder: Path, process: str) -> Iterator[Missing]:
    """The counters of processes that have ended; each process is locked out until the next one is asked for."""
    for path in sorted(folder.glob(f"{PREFIX}-{process}.*.count")):
        lock = try_lock(path.with_suffix(".lock"))
        if lock is None:
            continue  # it is running, and may have lines in its queue
        with lock, suppress(FileNotFoundError):
            raw, name = path.read_bytes(), path.stem.rpartition(".")[2]
            due, settled, file = _COUNTS.unpack(raw) if len(raw) == _COUNTS.size else (0, 0, 0)
            for written in chain_files(folder, process):
                if due > settled and file_number(written) >= file:
                    settled += _settled_in(written, name, settled)
            yield Missing(path, due - settled, f"{name}:{due}")


def remove_counter(path: Path) -> None:
    """Remove the counter of a process that has ended."""
    path.unlink(missing_ok=True)
    path.with_suffix(".lock").unlink(missing_ok=True)


def _settled_in(path: Path, name: str, settled: int) -> int:
    """The lines in a file that a process wrote or listed as lost after its counter was saved for the last time."""
    found = 0
    for fields in read_log_file(path):
        process, _, number = str(fields.get("line", "")).partition(":")
        if process == name and number.isdigit() and int(number) > settled:
            found += fields.get("lost", 1)
    return found


def _lost_in(path: Path) -> int:
    """The lines that a file lists as lost."""
    with path.open(encoding="ascii", errors="replace") as file:
        return sum(json.loads(line).get("lost", 0) for line in file if _LOST in line)


def line_mac(key: bytes, *parts: str) -> str:
    """The mac of some texts, each prefixed with its length."""
    raw = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return hmac.digest(key, raw, hashlib.sha256).hex()[:DIGITS]


def sign_line(key: bytes, last: ChainLink, fields: dict[str, Any]) -> tuple[str, ChainLink]:
    """The next line of a chain, without its line break, and its link.

    >>> line, link = sign_line(b"key", ChainLink(), {"who": "anna"})
    >>> verify_line(b"key", ChainLink(), line) == link, verify_line(b"key", ChainLink(), line.replace("anna", "otto"))
    (True, None)
    """
    text = json.dumps({"seq": last.seq + 1, **fields}, ensure_ascii=True)
    mac = line_mac(key, last.mac, text)
    return f'{text[:-1]}{_MAC}{mac}"}}', ChainLink(last.seq + 1, mac)


def verify_line(key: bytes, last: ChainLink, line: str) -> ChainLink | None:
    """The link of a line; None if the line does not follow the last one."""
    text, found, mac = line.rpartition(_MAC)
    if not found or not hmac.compare_digest(line_mac(key, last.mac, text + "}"), mac.removesuffix('"}')):
        return None
    try:
        seq = json.loads(line)["seq"]
    except (ValueError, KeyError, TypeError):
        return None
    return ChainLink(seq, mac.removesuffix('"}')) if seq == last.seq + 1 else None


def read_head(path: Path, key: bytes) -> ChainHead | None:
    """The head of a chain; None if it is missing or its mac is wrong."""
    try:
        document = json.loads(path.read_text("utf-8"))
        fields = document["head"]
        if line_mac(key, "head", json.dumps(fields)) != document["mac"]:
            return None
        file, seq, mac, first_file, first_seq, first_mac = fields
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ChainHead(file, ChainLink(seq, mac), first_file, ChainLink(first_seq, first_mac))


def log_chains(folder: Path) -> list[str]:
    """The names of the chains in a folder: `00`, and more where several processes of 0.2 wrote."""
    paths = (path for path in folder.glob(f"{PREFIX}-*") if path.suffix != ".lock")
    names = {path.name.split("-")[1].partition(".")[0] for path in paths}
    return sorted(name for name in names if name.isdigit())


def chain_files(folder: Path, process: str) -> list[Path]:
    """The files of a chain, the oldest first."""
    return sorted(folder.glob(f"{PREFIX}-{process}-*.jsonl"))


def file_number(path: Path) -> int:
    """The number of a file of a chain."""
    return int(path.stem.rpartition("-")[2])


def read_log_file(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file, unverified; a torn last one is skipped."""
    with path.open(encoding="ascii", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def last_link(path: Path) -> tuple[ChainLink | None, bool]:
    """The link of the last complete line of a file, unverified, and whether a torn line follows it."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        *lines, rest = file.read().split(b"\n")
    try:
        fields = json.loads(lines[-1])
        return ChainLink(fields["seq"], fields["mac"]), bool(rest)
    except (IndexError, ValueError, KeyError, TypeError):
        return None, bool(rest)


def has_line(folder: Path, words: str) -> bool:
    """Whether the log still has a line that was noted as CHAIN:LINE:MAC."""
    process, _, rest = words.partition(":")
    seq, _, mac = rest.partition(":")
    return any(
        str(fields.get("seq")) == seq and fields.get("mac") == mac
        for path in chain_files(folder, process)
        for fields in read_log_file(path)
    )


def resume(folder: Path, process: str, key: bytes, head: ChainHead) -> ChainHead:
    """The head, moved to the last valid line: a process may have been killed between a line and its head."""
    for path in chain_files(folder, process):
        if file_number(path) >= head.file:
            for link in filter(None, _links(path, key, head.link)):
                head = ChainHead(file_number(path), link, head.first_file, head.first)
    return head


def _links(path: Path, key: bytes, link: ChainLink) -> Iterator[ChainLink | None]:
    """The link of each complete line of a file; None for a line that does not follow the last valid one."""
    with path.open(encoding="ascii", errors="replace") as file:
        for line in file:
            if line.endswith("\n"):  # torn when a process was killed: the next file continues before it
                found = verify_line(key, link, line[:-1])
                link = found or link
                yield found


def verify_log(folder: Path, key: bytes) -> list[ChainReport]:
    """Verify every chain of a folder."""
    return [_verify_chain(folder, process, key) for process in log_chains(folder)]


def _verify_chain(folder: Path, process: str, key: bytes) -> ChainReport:
    files, faults = chain_files(folder, process), []
    path = folder / f"{PREFIX}-{process}.head"
    head = read_head(path, key)
    if head is None and (files or path.exists()):  # else the first process was killed before it wrote a line
        faults.append(
            f"The head of chain {process} is missing, was changed, or was sealed with another secret."
        )
    head = head or ChainHead()
    link = head.first
    if files and file_number(files[0]) > head.first_file:
        faults.append(f"Chain {process} lacks its files before {files[0].name}.")
    for path in files:
        link, fault = _verify_file(path, key, link)
        if fault:
            faults.append(fault)
            break
    if not faults and link.seq < head.link.seq:
        faults.append(f"Chain {process} ends at line {link.seq}, and {head.link.seq} lines were written.")
    lost = sum(map(_lost_in, files))
    if missing := sum(each.lines for each in missing_lines(folder, process)):
        faults.append(
            f"Chain {process} lacks {missing} lines: a server was killed before it wrote them. The next server"
            " lists them as lost."
        )
    return ChainReport(process, head.first.seq + 1, link.seq, link.mac, tuple(faults), lost + missing)


def _verify_file(path: Path, key: bytes, link: ChainLink) -> tuple[ChainLink, str]:
    """The last valid link of a file, and what is wrong in it."""
    for number, found in enumerate(_links(path, key, link), 1):
        if found is None:
            return link, f"{path.name}, line {number}: it was changed, or lines before it are missing."
        link = found
    return link, ""
