"""The versions of a dataset that are kept, and which of them are answered beside the one that is served.

    datasets/<id>/history.json   {"current": ..., "versions": [{"digest", "loaded", "closed"}], "seal"}

A load adds its version at the end and compares it with every other version that was open (`beside.py`), so any two open
versions were compared at the load of the later one. A closed version is opened only by being loaded again. The file is
sealed by the secret. One that is missing, or that names another current version since a load did not finish, opens
nothing: the served version answers alone.

Source: docs/decisions/0009-versions-beside-each-other.md.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable
from discreet.workspace.disk import keep_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.records.secret import Secret

HISTORY = "history.json"


@dataclass(frozen=True, slots=True)
class KeptVersion:
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
    versions: tuple[KeptVersion, ...] = ()

    def after(self, digest: str, why: Callable[[str], str]) -> History:
        """The history once a version is served.

        Args:
            digest: The version.
            why: Why another open version is closed by it; empty where it stays open.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        here = next((v for v in self.versions if v.digest == digest), KeptVersion(digest, now))
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
        versions = tuple(KeptVersion(**version) for version in found["versions"])
        history, seal = History(str(found["current"]), versions), found["seal"]
    except FileNotFoundError:
        return History(current, (KeptVersion(current),) if current else ())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise _unusable(home) from None
    if seal != _seal(home, history, secret):
        raise _unusable(home)
    return history if history.current == current else _unfinished(history, current)


def _unfinished(history: History, current: str) -> History:
    """A load did not finish: nothing but the served version is open."""
    others = tuple(
        replace(v, closed=v.closed or "not-compared") for v in history.versions if v.digest != current
    )
    here = next((v for v in history.versions if v.digest == current), KeptVersion(current))
    return History(current, (*others, replace(here, closed="")))


def write_history(home: Path, history: History, secret: Secret) -> None:
    """Replace the history in one step."""
    document = {**asdict(history), "seal": _seal(home, history, secret)}
    aside = home / f".history-{secrets.token_hex(8)}"
    try:
        aside.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        keep_names(aside)
        aside.replace(home / HISTORY)
    finally:
        aside.unlink(missing_ok=True)
    keep_names(home)


def _seal(home: Path, history: History, secret: Secret) -> str:
    return secret.derive("history", home.name, json.dumps(asdict(history))).hex()


def _unusable(home: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f'The history of "{home.name}" cannot be read, or was changed after it was written.',
        f"Remove {HISTORY} from its folder: then the served version alone is answered.",
    )
