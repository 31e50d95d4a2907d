"""Answers that were given before: a release never changes, so neither does its document. Bounded in bytes.

    key = ETag of the document        after the question was checked for whoever asks
    key = (mark of the dataset, address, what chose the answer)        for public answers, as they left (`front`)

An ETag follows from the version, the canonical request, the format, the view, the language and the root of the links
(`answer`). What is not used longest is forgotten first. With a folder, documents are kept on disk too: a restart finds
them, and so do the other processes. A file holds the hash of its own bytes; one that is torn or foreign is not read.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from discreet.server.turns import Turns
from discreet.workspace.disk import make_own

if TYPE_CHECKING:
    from collections.abc import Hashable

    from discreet.workspace.options import Options

#: What an answer takes beside its bytes.
OVERHEAD = 1_000
#: One answer may take so much of the memory, and no more.
LARGEST_SHARE = 16
#: Threads that wait for an answer that another makes, and for how long.
MOST_WAITING, SECONDS_TO_WAIT = 4, 5.0
#: A folder that is full is emptied to this share.
EMPTIED_TO = 0.8
_SUFFIX = ".answer"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer with status 200: its headers and its bytes, and how long they are given again, by the monotonic clock."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    until: float = float("inf")

    @property
    def size(self) -> int:
        """What it takes in memory, about."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers) + OVERHEAD


class KeptAnswers:
    """Answers in memory, as many as fit, and in a folder where there is one.

    Args:
        most_bytes: Of all answers in memory.
        folder: On disk.

    >>> kept = KeptAnswers(32_000)
    >>> for name in "abcdefghijklmnopqrstuvwxyz":
    ...     kept.keep(name, KeptAnswer((), b"x" * 500))
    >>> kept.find("a"), kept.find("z").size, kept.size <= 32_000
    (None, 1500, True)
    """

    def __init__(self, most_bytes: int, folder: AnswerFolder | None = None) -> None:
        self._most_bytes = most_bytes
        self._folder = folder
        self._kept: OrderedDict[Hashable, KeptAnswer] = OrderedDict()
        self.turns = Turns(MOST_WAITING, SECONDS_TO_WAIT)
        self._lock = Lock()
        self.size = 0

    @classmethod
    def of(cls, options: Options) -> KeptAnswers:
        """As the options say."""
        place = options.cache_folder
        folder = AnswerFolder(Path(place), options.cache_folder_mb * 1_000_000) if place else None
        return cls(options.cache_mb * 1_000_000 // options.workers, folder)

    @property
    def largest(self) -> int:
        """The bytes of the largest answer that is kept."""
        return self._most_bytes // LARGEST_SHARE

    def find(self, key: Hashable) -> KeptAnswer | None:
        """What is in memory under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def find_document(self, tag: str) -> KeptAnswer | None:
        """What is kept under an ETag, in memory or on disk."""
        found = self.find(tag)
        if found is None and self._folder is not None:
            found = self._folder.find(tag)
            if found is not None:
                self.keep(tag, found)
        return found

    def keep(self, key: Hashable, answer: KeptAnswer) -> None:
        """Keep an answer in memory, and forget what was not used longest until all fit."""
        if answer.size > self.largest:
            return
        with self._lock:
            before = self._kept.pop(key, None)
            self.size += answer.size - (0 if before is None else before.size)
            self._kept[key] = answer
            while self.size > self._most_bytes:
                self.size -= self._kept.popitem(last=False)[1].size

    def keep_document(self, tag: str, answer: KeptAnswer) -> None:
        """Keep an answer under its ETag, in memory and on disk."""
        self.keep(tag, answer)
        if self._folder is not None:
            self._folder.keep(tag, answer)


class AnswerFolder:
    """Documents on disk, by their ETags.

    Args:
        folder: Where; it is made with access for its owner alone.
        most_bytes: Of all files.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        make_own(folder)
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._size = sum(size for _, size, _ in self._files())

    def find(self, tag: str) -> KeptAnswer | None:
        """What is kept under an ETag; None where nothing is, or where a file is damaged."""
        path = self._path(tag)
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            told = json.loads(head)
            if told["sha256"] != _hash(told["tag"], told["headers"], body) or told["tag"] != tag:
                return None
            os.utime(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return KeptAnswer(tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in told["headers"]), body)

    def keep(self, tag: str, answer: KeptAnswer) -> None:
        """Write a file that is there whole or not at all; a disk that is full keeps nothing."""
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers]
        told = {"tag": tag, "headers": headers, "sha256": _hash(tag, headers, answer.body)}
        path = self._path(tag)
        beside = path.with_name(f".{secrets.token_hex(8)}")
        try:
            beside.write_bytes(json.dumps(told).encode() + b"\n" + answer.body)
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            return
        with self._lock:
            self._size += answer.size
            if self._size > self._most_bytes:
                self._make_room()

    def _make_room(self) -> None:
        """Remove what was not read longest; other processes may do so too."""
        files = sorted(self._files())
        self._size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._size <= EMPTIED_TO * self._most_bytes:
                break
            path.unlink(missing_ok=True)
            self._size -= size

    def _files(self) -> list[tuple[int, int, Path]]:
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        return found

    def _path(self, tag: str) -> Path:
        return self._folder / f"{hashlib.sha256(tag.encode()).hexdigest()}{_SUFFIX}"


def _hash(tag: str, headers: list[list[str]], body: bytes) -> str:
    return hashlib.sha256(json.dumps([tag, headers]).encode() + b"\n" + body).hexdigest()
