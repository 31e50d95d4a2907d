"""The versions of a dataset that are kept, and which of them are answered beside the one that is served.

    datasets/<id>/history.json   {"current": ..., "versions": [{"digest", "loaded", "closed"}], "seal"}

A load adds its version at the end and compares it with every other version that was open (`beside.py`), so any two open
versions were compared at the load of the later one. A closed version is opened only by being loaded again. The file is
sealed by the secret. One that is missing, or that names another current version since a load did not finish, opens
nothing: the served version answers alone.

Source: docs/decisions/0009-versions-beside-each-other.md.

What everybody may know of a dataset's versions, and which one a reader means by a word.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import DiscreetError, UnknownVersion, VersionClosed, WorkspaceUnusable
from discreet.model.description.dataset_toml import parse_names_only
from discreet.model.messages.text import message, nearest
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import fsync_path
from discreet.workspace.versions.version import DESCRIPTION
from discreet.workspace.versions.version_conflicts import WHY_CLOSED

HISTORY = "history.json"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A version in the history of its dataset.

    Args:
        digest: Its name.
        loaded: When it was first loaded, in UTC; empty where nobody wrote it down.
        closed: Why it is not answered beside the served one, a key of `beside.WHY_CLOSED`; empty where it is.
    """

    digest: str
    loaded: str = ""
    closed: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a dataset, the newest last.

    Args:
        current: The version that was served when this was written.
        versions: All that are known.
    """

    current: str = ""
    versions: tuple[HistoryEntry, ...] = ()

    def after(self, digest: str, why: Callable[[str], str]) -> History:
        """The history once a version is served.

        Args:
            digest: The version.
            why: Why another open version is closed by it; empty where it stays open.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        here = next((v for v in self.versions if v.digest == digest), HistoryEntry(digest, now))
        others = [replace(v, closed=v.closed or why(v.digest)) for v in self.versions if v.digest != digest]
        return History(digest, (*others, replace(here, closed="")))


def read_history(home: Path, current: str, secret: Secret) -> History:
    """The history of a dataset, as it holds for the version that is served.

    Args:
        home: The dataset's folder.
        current: The version that is served.
        secret: The workspace's.

    Raises:
        WorkspaceUnusable: It was changed after it was written.
    """
    try:
        found = json.loads((home / HISTORY).read_text("utf-8"))
        versions = tuple(HistoryEntry(**version) for version in found["versions"])
        history, seal = History(str(found["current"]), versions), found["seal"]
    except FileNotFoundError:
        return History(current, (HistoryEntry(current),) if current else ())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise _history_unusable(home) from None
    if seal != _history_seal(home, history, secret):
        raise _history_unusable(home)
    return history if history.current == current else _close_all_others(history, current)


def _close_all_others(history: History, current: str) -> History:
    """A load did not finish: nothing but the served version is open."""
    others = tuple(
        replace(v, closed=v.closed or "not-compared") for v in history.versions if v.digest != current
    )
    here = next((v for v in history.versions if v.digest == current), HistoryEntry(current))
    return History(current, (*others, replace(here, closed="")))


def write_history(home: Path, history: History, secret: Secret) -> None:
    """Replace the history in one step."""
    document = {**asdict(history), "seal": _history_seal(home, history, secret)}
    aside = home / f".history-{secrets.token_hex(8)}"
    try:
        aside.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        fsync_path(aside)
        aside.replace(home / HISTORY)
    finally:
        aside.unlink(missing_ok=True)
    fsync_path(home)


def _history_seal(home: Path, history: History, secret: Secret) -> str:
    return secret.derive(Purpose.HISTORY, home.name, json.dumps(asdict(history))).hex()


def _history_unusable(home: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f'The history of "{home.name}" cannot be read, or was changed after it was written.',
        f"Remove {HISTORY} from its folder: then the served version alone is answered.",
    )


#: How much of a digest names a version.
SHORT = 8
_DIGEST_PART = re.compile(r"[0-9a-f]{8,32}\Z")


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version, for readers.

    Args:
        digest: Its name.
        version: What its description calls it; empty where it is not kept any more.
        loaded: When it was first loaded, in UTC; empty where nobody wrote it down.
        current: Whether it is the one that is served.
        closed: Why it is not answered, in a sentence; empty where it is.
    """

    digest: str
    version: str
    loaded: str
    current: bool
    closed: str


def version_facts(home: Path, current: str, secret: Secret) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last.

    Args:
        home: The dataset's folder.
        current: The version that is served.
        secret: The workspace's.
    """
    return tuple(
        VersionFacts(
            kept.digest,
            _version_name(home / kept.digest),
            kept.loaded,
            kept.digest == current,
            _why_closed(home, kept),
        )
        for kept in read_history(home, current, secret).versions
    )


def _why_closed(home: Path, kept: HistoryEntry) -> str:
    if not (home / kept.digest).is_dir():
        return message("It is not kept any more.")
    return WHY_CLOSED[kept.closed] if kept.closed else ""


def resolve_version(versions: tuple[VersionFacts, ...], word: str) -> str:
    """The digest of the version that a reader means.

    Args:
        versions: Those of the dataset.
        word: The beginning of a digest, at least 8 letters of it; or what a description calls its version.

    Raises:
        UnknownVersion: There is none, or there are several of that name.
        VersionClosed: It is not answered, and why.
    """
    by_digest = [v for v in versions if _DIGEST_PART.match(word) and v.digest.startswith(word)]
    found = by_digest or [v for v in versions if v.version == word]
    known = [v.digest[:SHORT] for v in versions]
    if not found:
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


def _version_name(place: Path) -> str:
    """What a version's description calls it; a removed version has left its own (`upkeep/removal.py`)."""
    for each in (place, place.parent / "removed" / place.name):
        try:
            return parse_names_only((each / DESCRIPTION).read_text("utf-8")).version
        except (OSError, UnicodeDecodeError, DiscreetError):
            continue
    return ""
