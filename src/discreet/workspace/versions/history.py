"""The versions of a dataset and of its lineage: which are kept, which accept queries, which one a query means.

    datasets/<id>/history.json   {"current": ..., "versions": [{"digest", "loaded", "closed"}], "seal"}

A load appends its version and compares it with every other open version (`version_conflicts.py`), so any two open versions
were compared at the load of the later one. A closed version is opened only by being loaded again. A missing history, or
one that names another current version because a load did not finish, opens nothing but the current version.

A lineage is a series of versions with the same keys. A description that leaves a key out keeps the default of the lineage's
first load. Its method and budget are in the ledger.

Source: docs/decisions/0009-versions-beside-each-other.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, UnknownVersion, VersionClosed, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_names_only
from discreet.model.messages.text import message, nearest
from discreet.model.revision import newest_defaults
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import read_sealed, write_sealed
from discreet.workspace.versions.version import (
    CURRENT,
    DESCRIPTION,
    Revisions,
    current_digest,
    read_revisions,
    version_files,
)

HISTORY = "history.json"
#: The length of a short digest.
SHORT = 8
_DIGEST_PART = re.compile(r"[0-9a-f]{8,32}\Z")

#: Why a version accepts no queries next to the current one.
WHY_CLOSED = {
    "close": message(
        "It differs by few records from a version that is served: comparing the two would disclose these "
        "people."
    ),
    "keys": message("A version that is served has other keys: readers could average the numbers of both."),
    "protection": message(
        "A version that is served is protected differently: both together would disclose more than either."
    ),
    "categories": message(
        "Its categories differ from those of a version that is served, so the two could not be compared."
    ),
    "unreadable": message("It could not be compared with a version that is served."),
    "not-compared": message("It was not compared with the version that is served."),
}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A version in the history of its dataset.

    Args:
        digest: Its name.
        loaded: When it was first loaded, in UTC; empty if unknown.
        closed: Why it accepts no queries, a key of `WHY_CLOSED`; empty if it does.
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
    """Parse and validate the history of a dataset, as it holds for the current version."""
    error = WorkspaceUnusable(
        f'The history of "{home.name}" is unreadable or was changed.',
        f"Delete {HISTORY} from its folder; then only the current version is available.",
    )
    found = read_sealed(home / HISTORY, secret, Purpose.HISTORY, lambda each: _seal_input(home, each), error)
    if found is None:
        return History(current, (HistoryEntry(current),) if current else ())
    versions = tuple(HistoryEntry(**version) for version in found["versions"])
    if found["current"] == current:
        return History(current, versions)
    # A load did not finish: only the current version is open.
    others = tuple(replace(v, closed=v.closed or "not-compared") for v in versions if v.digest != current)
    here = next((v for v in versions if v.digest == current), HistoryEntry(current))
    return History(current, (*others, replace(here, closed="")))


def write_history(home: Path, history: History, secret: Secret) -> None:
    """Replace the history in one step."""
    document = asdict(history)
    sealed = _seal_input(home, document)
    write_sealed(home / HISTORY, document, secret, Purpose.HISTORY, sealed, temporary=".history-", indent=1)


def _seal_input(home: Path, document: dict[str, Any]) -> tuple[str, str]:
    return home.name, json.dumps(document)


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """The public metadata of a version.

    Args:
        digest: Its name.
        version: Its name in the description; empty if that is not kept any more.
        loaded: When it was first loaded, in UTC; empty if unknown.
        current: Whether it answers queries that name no version.
        closed: Why it accepts no queries, in a sentence; empty if it does.
    """

    digest: str
    version: str
    loaded: str
    current: bool
    closed: str


def version_facts(home: Path, current: str, secret: Secret) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last."""
    found = []
    for entry in read_history(home, current, secret).versions:
        closed = WHY_CLOSED[entry.closed] if entry.closed else ""
        if not (home / entry.digest).is_dir():
            closed = message("It is no longer stored.")
        name, is_current = _version_name(home / entry.digest), entry.digest == current
        found.append(VersionFacts(entry.digest, name, entry.loaded, is_current, closed))
    return tuple(found)


def _version_name(place: Path) -> str:
    for folder in (place, place.parent / "removed" / place.name):
        try:
            return parse_names_only((folder / DESCRIPTION).read_text("utf-8")).version
        except (OSError, UnicodeDecodeError, DiscreetError):
            continue
    return ""


def match_version(versions: tuple[VersionFacts, ...], word: str) -> VersionFacts:
    """Parse the name of a version in a query: the first 8 or more letters of a digest, or its name in the description."""
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
    return found[0]


def resolve_version(versions: tuple[VersionFacts, ...], word: str) -> str:
    """The digest of the version that a query names; refused, with the reason, if it accepts no queries."""
    found = match_version(versions, word)
    if found.closed:
        raise VersionClosed(
            message(
                "Version {digest} is no longer available. {closed}",
                digest=found.digest[:SHORT],
                closed=found.closed,
            ),
            message("Leave `version` out to get the current version."),
        )
    return found.digest


def lineage_defaults(folder: Path, description: str) -> int:
    """The revision of the defaults for a description: that of its lineage's first load, or the newest.

    Raises:
        WorkspaceUnusable: A newer program loaded the lineage, with defaults that this one does not know.
    """
    lineage = parse_names_only(description).lineage
    found = [revisions.defaults for revisions in _revisions(folder, lineage)]
    if max(found, default=1) > newest_defaults():
        raise WorkspaceUnusable(
            f'"{lineage}" was loaded with defaults of revision {max(found)}, but this version of Discreet '
            f"supports revisions up to {newest_defaults()}.",
            "Use the newer version of Discreet that loaded it.",
        )
    return min(found, default=newest_defaults())


def lineage_keys(folder: Path, dataset: Dataset) -> int:
    """The newest set of keys that the lineage of a description has in a workspace."""
    return max((revisions.keys for revisions in _revisions(folder, dataset.lineage)), default=1)


def lineage_versions(folder: Path, dataset: Dataset) -> Iterator[Path]:
    """The served versions of the other datasets of a lineage."""
    own = dataset.lineage.partition("\n")[0]
    for home in sorted(current.parent for current in (folder / "datasets").glob(f"*/{CURRENT}")):
        text = home / current_digest(home) / DESCRIPTION
        is_other = home.name != dataset.id and text.is_file()
        if is_other and parse_names_only(text.read_text("utf-8")).lineage == own:
            yield text.parent


def _revisions(folder: Path, lineage: str) -> Iterator[Revisions]:
    """The revisions of every version of a lineage, removed ones included; the first revisions where they are damaged."""
    for path in sorted(version_files(folder, DESCRIPTION)):
        if parse_names_only(path.read_text("utf-8")).lineage == lineage:
            try:
                yield read_revisions(path.parent)
            except WorkspaceUnusable:  # the version is not served, and can be loaded again
                yield Revisions()
