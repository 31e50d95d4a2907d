"""Whether a log of requests is as it was written: every line in its place, from its beginning to its end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.server.audit.chain import Link, follows
from discreet.server.audit.log import PREFIX, Head, chain_files, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Verified:
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


def processes(folder: Path) -> list[str]:
    """The chains in a folder."""
    names = {path.stem.split("-")[1] for path in folder.glob(f"{PREFIX}-*") if path.suffix != ".lock"}
    return sorted(name for name in names if name.isdigit())


def verify_log(folder: Path, key: bytes) -> list[Verified]:
    """Verify every chain of a folder."""
    return [_verify(folder, process, key) for process in processes(folder)]


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that can be read, as they stand; a torn last one is left out."""
    with path.open(encoding="ascii", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def last_link(path: Path) -> Link | None:
    """The last line of a file, as it tells itself."""
    found = None
    for fields in lines_of(path):
        found = Link(fields.get("seq", 0), fields.get("mac", ""))
    return found


def has_line(folder: Path, words: str) -> bool:
    """Whether a line is still there that was written down as CHAIN:LINE:MAC."""
    process, _, rest = words.partition(":")
    seq, _, mac = rest.partition(":")
    return any(
        str(fields.get("seq")) == seq and fields.get("mac") == mac
        for path in chain_files(folder, process)
        for fields in lines_of(path)
    )


def _verify(folder: Path, process: str, key: bytes) -> Verified:
    head, faults = read_head(folder / f"{PREFIX}-{process}.head", key), []
    if head is None:
        head = Head()
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
    return Verified(process, head.first.seq + 1, link.seq, link.mac, tuple(faults))


def _file(path: Path, key: bytes, link: Link) -> tuple[Link, str]:
    """Where the chain has come to after a file, and what is wrong in it."""
    with path.open(encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):  # a process was ended while it wrote: the next file goes on before it
                break
            found = follows(key, link, line.rstrip("\n"))
            if found is None:
                return link, f"{path.name}, line {number}: it was changed, or lines before it are missing."
            link = found
    return link, ""
