"""What everybody may know of a dataset's versions, and which one a reader means by a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, UnknownVersion, VersionClosed
from discreet.model.dataset_toml import names_of
from discreet.model.nearest import nearest
from discreet.model.told import told
from discreet.workspace.beside import WHY_CLOSED
from discreet.workspace.history import read_history
from discreet.workspace.version import DESCRIPTION

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.records.secret import Secret
    from discreet.workspace.history import KeptVersion

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
            _name(home / kept.digest),
            kept.loaded,
            kept.digest == current,
            _why_closed(home, kept),
        )
        for kept in read_history(home, current, secret).versions
    )


def _why_closed(home: Path, kept: KeptVersion) -> str:
    if not (home / kept.digest).is_dir():
        return told("It is not kept any more.")
    return WHY_CLOSED[kept.closed] if kept.closed else ""


def open_version(versions: tuple[VersionFacts, ...], word: str) -> str:
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
        raise UnknownVersion(told('There is no version "{word}".', word=word), nearest(word, known))
    if len(found) > 1:
        raise UnknownVersion(
            told('{count} versions are called "{word}".', count=len(found), word=word),
            told("Name one of {names:comma}.", names=tuple(v.digest[:SHORT] for v in found)),
        )
    if found[0].closed:
        raise VersionClosed(
            told(
                "Version {digest} is not answered any more. {closed}",
                digest=found[0].digest[:SHORT],
                closed=found[0].closed,
            ),
            told("Leave `version` out for the version that is served."),
        )
    return found[0].digest


def _name(place: Path) -> str:
    """What a version's description calls it; a removed version has left its own (`upkeep/removal.py`)."""
    for each in (place, place.parent / "removed" / place.name):
        try:
            return names_of((each / DESCRIPTION).read_text("utf-8")).version
        except (OSError, UnicodeDecodeError, DiscreetError):
            continue
    return ""
