"""The marks of a workspace: how far its ledger had come when each version was last answered for a new charge.

    datasets/<id>/<digest>/ledger.mark             {"position": ..., "tag": ..., "seal": ...}
    datasets/<id>/removed/<digest>/ledger.mark     stays when the version is removed

A mark is written beside, brought to disk and renamed into place before an answer leaves; under a lock, so that many
processes and hosts only raise it. Its seal is keyed by the secret and names the version: nobody without the secret can
make one. An older mark is no harm, since a ledger may be ahead of it; an older ledger under a newer mark is refused.
Whoever brings back the whole workspace, ledger and marks together, is not noticed.

Source: docs/methods/ledger.md.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from discreet.errors import LedgerUnusable
from discreet.ledger.entries import Checkpoint
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import fsync_path

MARK = "ledger.mark"
_PLACES = (f"*/[0-9a-f]*/{MARK}", f"*/removed/*/{MARK}")


class VersionCheckpoints:
    """All marks of a workspace, and that of one version.

    Args:
        folder: The workspace.
        secret: Its secret.
        place: The folder of the version that is answered; None where none is.
        digest: The version's name, where its folder has another one.
    """

    def __init__(self, folder: Path, secret: Secret, place: Path | None = None, digest: str = "") -> None:
        self._folder = folder
        self._secret = secret
        self._place = place
        self._digest = digest or (place.name if place else "")

    def by_version(self) -> dict[str, Checkpoint]:
        """The marks of all versions, removed ones too.

        Raises:
            LedgerUnusable: One was changed.
        """
        homes = self._folder / "datasets"
        paths = sorted(path for pattern in _PLACES for path in homes.glob(pattern))
        found = {path: read_checkpoint(path.parent, path.parent.name, self._secret) for path in paths}
        return {
            f'version {path.parent.name[:8]} of "{path.relative_to(homes).parts[0]}"': mark
            for path, mark in found.items()
            if mark is not None
        }

    def current(self) -> Checkpoint | None:
        """The mark of the version that is answered.

        Raises:
            LedgerUnusable: It was changed.
        """
        return None if self._place is None else read_checkpoint(self._place, self._digest, self._secret)

    def write(self, mark: Checkpoint) -> None:
        """Raise the mark of the version; it is on disk when this returns, and it never goes down.

        Raises:
            LedgerUnusable: It cannot be written: nothing may be answered.
        """
        if self._place is None:
            return
        try:
            with lock_marks(self._place.parent):
                before = self.current()
                if before is None or before.position < mark.position:
                    _write_mark(self._place, _mark_text(mark, self._digest, self._secret))
        except OSError as error:
            raise LedgerUnusable(
                f"The mark of the ledger cannot be written: {error.strerror}.",
                "What was charged stays paid. Look at the disk of the workspace and its permissions, and ask again.",
            ) from None


def read_checkpoint(place: Path, digest: str, secret: Secret) -> Checkpoint | None:
    """The mark that stands in a folder; None where there is none.

    Raises:
        LedgerUnusable: It was changed, or cannot be read.
    """
    try:
        text = (place / MARK).read_text("ascii")
        found = json.loads(text)
        mark = Checkpoint(int(found["position"]), str(found["tag"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise _mark_changed_error(digest) from None
    if text != _mark_text(mark, digest, secret):
        raise _mark_changed_error(digest)
    return mark


@contextmanager
def lock_checkpoints(home: Path) -> Iterator[None]:
    """Nobody else changes a mark of the dataset meanwhile."""
    with FileLock(home / ".mark.lock"):
        yield


def _mark_text(mark: Checkpoint, digest: str, secret: Secret) -> str:
    seal = secret.derive(Purpose.LEDGER_MARK, digest, str(mark.position), mark.tag).hex()
    return json.dumps({"position": mark.position, "tag": mark.tag, "seal": seal}) + "\n"


def _write_mark(place: Path, text: str) -> None:
    """Beside the version, since nothing foreign may stand in its folder; then in its place in one step."""
    aside = place.parent / f".mark-{secrets.token_hex(8)}"
    try:
        aside.write_text(text, "ascii")
        fsync_path(aside)
        aside.replace(place / MARK)
    finally:
        aside.unlink(missing_ok=True)
    fsync_path(place)


def _mark_changed_error(digest: str) -> LedgerUnusable:
    return LedgerUnusable(
        f"The mark of the ledger of version {digest[:8]} cannot be read, or was changed after it was written.",
        f"Bring back {MARK!r} of this version from the newest copy of the workspace.",
    )
