"""The versions of a dataset: which are kept, which accept queries, and which one a reader means.

    datasets/<id>/history.json   {"current": ..., "versions": [{"digest", "loaded", "closed"}], "seal"}

A load appends its version and compares it with every other open version (`version_conflicts.py`), so any two open versions
were compared at the load of the later one. A closed version is opened only by being loaded again. A missing history, or
one that names another current version because a load did not finish, opens nothing but the served version.

Source: docs/decisions/0009-versions-beside-each-other.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, UnknownVersion, VersionClosed, WorkspaceUnusable
from discreet.model.description.dataset_toml import parse_names_only
from discreet.model.messages.text import message, nearest
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import BadSeal, add_seal, read_sealed, replace_file
from discreet.workspace.versions.version import DESCRIPTION
from discreet.workspace.versions.version_conflicts import WHY_CLOSED

HISTORY = "history.json"
#: The length of a short digest.
SHORT = 8
_DIGEST_PART = re.compile(r"[0-9a-f]{8,32}\Z")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A version in the history of its dataset.

    Args:
        digest: Its name.
        loaded: When it was first loaded, in UTC; empty if unknown.
        closed: Why it accepts no queries, a key of `WHY_CLOSED`; empty if it can.
    """

    digest: str
    loaded: str = ""
    closed: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a dataset, the newest last, and the version that was current when this was written."""

    current: str = ""
    versions: tuple[HistoryEntry, ...] = ()

    def after(self, digest: str, why: Callable[[str], str]) -> History:
        """The history once a version is current.

        Args:
            digest: The version.
            why: From the digest of another open version to the reason for closing it; empty leaves it open.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        here = next((v for v in self.versions if v.digest == digest), HistoryEntry(digest, now))
        others = [replace(v, closed=v.closed or why(v.digest)) for v in self.versions if v.digest != digest]
        return History(digest, (*others, replace(here, closed="")))


def read_history(home: Path, current: str, secret: Secret) -> History:
    """The history of a dataset, as it holds for the current version.

    Raises:
        WorkspaceUnusable: It was changed after it was written.
    """
    try:
        found = read_sealed(home / HISTORY, secret, Purpose.HISTORY, lambda each: _seal_input(home, each))
        if found is None:
            return History(current, (HistoryEntry(current),) if current else ())
        versions = tuple(HistoryEntry(**version) for version in found["versions"])
    except (BadSeal, KeyError, TypeError):
        raise WorkspaceUnusable(
            f'The history of "{home.name}" cannot be read, or was changed after it was written.',
            f"Remove {HISTORY} from its folder: then the served version alone is answered.",
        ) from None
    if found["current"] == current:
        return History(current, versions)
    # A load did not finish: only the current version is open.
    others = tuple(replace(v, closed=v.closed or "not-compared") for v in versions if v.digest != current)
    here = next((v for v in versions if v.digest == current), HistoryEntry(current))
    return History(current, (*others, replace(here, closed="")))


def write_history(home: Path, history: History, secret: Secret) -> None:
    """Replace the history in one step."""
    document = asdict(history)
    sealed = add_seal(document, secret, Purpose.HISTORY, *_seal_input(home, document))
    replace_file(home / HISTORY, json.dumps(sealed, indent=1) + "\n", ".history-")


def _seal_input(home: Path, document: dict[str, Any]) -> tuple[str, str]:
    return home.name, json.dumps(document)


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """The public facts of a version.

    Args:
        digest: Its name.
        version: Its name in the description; empty if that is not kept any more.
        loaded: When it was first loaded, in UTC; empty if unknown.
        current: Whether it is the one that is served.
        closed: Why it accepts no queries, in a sentence; empty if it can.
    """

    digest: str
    version: str
    loaded: str
    current: bool
    closed: str


def version_facts(home: Path, current: str, secret: Secret) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last."""
    return tuple(
        VersionFacts(
            entry.digest,
            _version_name(home / entry.digest),
            entry.loaded,
            entry.digest == current,
            _why_closed(home, entry),
        )
        for entry in read_history(home, current, secret).versions
    )


def _why_closed(home: Path, entry: HistoryEntry) -> str:
    if not (home / entry.digest).is_dir():
        return message("It is not kept any more.")
    return WHY_CLOSED[entry.closed] if entry.closed else ""


def _version_name(place: Path) -> str:
    """The version's name in its description, which a removed version leaves behind."""
    for folder in (place, place.parent / "removed" / place.name):
        try:
            return parse_names_only((folder / DESCRIPTION).read_text("utf-8")).version
        except (OSError, UnicodeDecodeError, DiscreetError):
            continue
    return ""


def resolve_version(versions: tuple[VersionFacts, ...], word: str) -> str:
    """Parse the name of a version in a query; returns its digest.

    Args:
        versions: Those of the dataset.
        word: The first 8 or more letters of a digest, or the version's name in its description.

    Raises:
        UnknownVersion: None matches, or several do.
        VersionClosed: It accepts no queries, and why.
    """
    by_digest = [v for v in versions if _DIGEST_PART.match(word) and v.digest.startswith(word)]
    found = by_digest or [v for v in versions if v.version == word]
    if not found:
        known = [v.digest[:SHORT] for v in versions]
        raise UnknownVersion(message('There is no version "{word}".', word=word), nearest(word, known))
    if len(found) > 1:
        raise UnknownVersion(
            message('{count} versions are called "{word}".', count=len(found), word=word),
            message("Name one of {names:comma}.", names=tuple(v.digest[:SHORT] for v in found)),
        )
    if found[0].closed:
        raise VersionClosed(
            message(
                "Version {digest} is not answered any more. {closed}",
                digest=found[0].digest[:SHORT],
                closed=found[0].closed,
            ),
            message("Leave `version` out for the version that is served."),
        )
    return found[0].digest
