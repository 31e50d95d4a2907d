"""Ledger checkpoints: how far the ledger had come when each version was last answered for a new charge.

    datasets/<id>/<digest>/ledger.mark             {"position": ..., "tag": ..., "seal": ...}
    datasets/<id>/removed/<digest>/ledger.mark     stays when the version is removed

A checkpoint is on disk before an answer leaves, and only moves up; a file lock serialises processes and hosts. Its seal is
keyed by the secret and names the version. A ledger may be ahead of a checkpoint; an older ledger under a newer checkpoint is
refused. Restoring a whole old workspace, ledger and checkpoints together, is not detected.

Source: docs/methods/ledger.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from discreet.errors import LedgerUnusable
from discreet.ledger.entries import Checkpoint
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import BadSeal, add_seal, read_sealed, replace_file

MARK = "ledger.mark"
_PLACES = (f"*/[0-9a-f]*/{MARK}", f"*/removed/*/{MARK}")


class VersionCheckpoints:
    """The checkpoints of a workspace, and that of one version.

    Args:
        folder: The workspace.
        secret: Its secret.
        place: The folder of the version in the query; None without one.
        digest: The version's name, if its folder has another one.
    """

    def __init__(self, folder: Path, secret: Secret, place: Path | None = None, digest: str = "") -> None:
        self._folder = folder
        self._secret = secret
        self._place = place
        self._digest = digest or (place.name if place else "")

    def by_version(self) -> dict[str, Checkpoint]:
        """The checkpoints of all versions, removed ones included.

        Raises:
            LedgerUnusable: One was changed.
        """
        homes = self._folder / "datasets"
        paths = sorted(path for pattern in _PLACES for path in homes.glob(pattern))
        found = {path: read_checkpoint(path.parent, path.parent.name, self._secret) for path in paths}
        return {
            f'version {path.parent.name[:8]} of "{path.relative_to(homes).parts[0]}"': checkpoint
            for path, checkpoint in found.items()
            if checkpoint is not None
        }

    def current(self) -> Checkpoint | None:
        """The checkpoint of the version in the query.

        Raises:
            LedgerUnusable: It was changed.
        """
        return None if self._place is None else read_checkpoint(self._place, self._digest, self._secret)

    def write(self, mark: Checkpoint) -> None:
        """Raise the checkpoint of the version; it is on disk when this returns.

        Raises:
            LedgerUnusable: It cannot be written: no answer may leave.
        """
        if self._place is None:
            return
        try:
            with lock_checkpoints(self._place.parent):
                before = self.current()
                if before is None or before.position < mark.position:
                    document = {"position": mark.position, "tag": mark.tag}
                    sealed = (self._digest, str(mark.position), mark.tag)
                    text = json.dumps(add_seal(document, self._secret, Purpose.LEDGER_MARK, *sealed)) + "\n"
                    # No temporary file in the version's folder: an unknown file there is refused.
                    replace_file(self._place / MARK, text, ".mark-", self._place.parent)
        except OSError as error:
            raise LedgerUnusable(
                f"The mark of the ledger cannot be written: {error.strerror}.",
                "What was charged stays paid. Look at the disk of the workspace and its permissions, and ask again.",
            ) from None


def read_checkpoint(place: Path, digest: str, secret: Secret) -> Checkpoint | None:
    """The checkpoint in a version's folder; None if there is none.

    Raises:
        LedgerUnusable: It was changed, or cannot be read.
    """
    try:
        found = read_sealed(
            place / MARK,
            secret,
            Purpose.LEDGER_MARK,
            lambda each: (digest, str(int(each["position"])), str(each["tag"])),
        )
    except BadSeal:
        raise LedgerUnusable(
            f"The mark of the ledger of version {digest[:8]} cannot be read, or was changed after it was written.",
            f"Bring back {MARK!r} of this version from the newest copy of the workspace.",
        ) from None
    return None if found is None else Checkpoint(int(found["position"]), str(found["tag"]))


@contextmanager
def lock_checkpoints(home: Path) -> Iterator[None]:
    """Hold the lock on all checkpoints of a dataset."""
    with FileLock(home / ".mark.lock"):
        yield
