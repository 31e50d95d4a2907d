"""Ledger checkpoints: how far the ledger had come when each version was last answered for a new charge.

    datasets/<id>/<digest>/ledger.mark             {"position": ..., "tag": ..., "seal": ...}
    datasets/<id>/removed/<digest>/ledger.mark     stays when the version is removed

A checkpoint is on disk before an answer leaves, and only moves up; a file lock serialises processes and hosts. Its seal is
keyed by the secret and names the version. A ledger may be ahead of a checkpoint; an older ledger under a newer checkpoint is
refused. Restoring a whole old workspace, ledger and checkpoints together, is not detected.

Source: docs/methods/ledger.md.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from discreet.errors import LedgerUnusable
from discreet.ledger.entries import Checkpoint
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import file_lock, read_sealed, write_sealed
from discreet.workspace.versions.version import MARK, version_files


class VersionCheckpoints:
    """The checkpoints of a workspace, and that of the version in the query.

    Args:
        folder: The workspace.
        secret: Its secret.
        place: The folder of that version; None without one.
        digest: The version's name, if its folder has another one.
    """

    def __init__(self, folder: Path, secret: Secret, place: Path | None = None, digest: str = "") -> None:
        self._folder, self._secret, self._place = folder, secret, place
        self._digest = digest or (place.name if place else "")

    def by_version(self) -> dict[str, Checkpoint]:
        """The checkpoints of all versions, removed ones included; refused if one was changed."""
        found = {}
        for path in sorted(version_files(self._folder, MARK)):
            digest, dataset = path.parent.name, path.relative_to(self._folder / "datasets").parts[0]
            if checkpoint := read_checkpoint(path.parent, digest, self._secret):
                found[f'version {digest[:8]} of "{dataset}"'] = checkpoint
        return found

    def current(self) -> Checkpoint | None:
        """The checkpoint of the version in the query; refused if it was changed."""
        return None if self._place is None else read_checkpoint(self._place, self._digest, self._secret)

    def write(self, mark: Checkpoint) -> None:
        """Raise the checkpoint of the version; it is on disk when this returns.

        Raises:
            LedgerUnusable: It cannot be written, so no query may be answered.
        """
        if self._place is None:
            return
        try:
            with lock_checkpoints(self._place.parent):
                before = self.current()
                if before is None or before.position < mark.position:
                    document = {"position": mark.position, "tag": mark.tag}
                    sealed = (self._digest, str(mark.position), mark.tag)
                    write_sealed(
                        self._place / MARK,
                        document,
                        self._secret,
                        Purpose.LEDGER_MARK,
                        sealed,
                        temporary=".mark-",
                        folder=self._place.parent,  # an unknown file in the version's folder would be refused
                    )
        except OSError as error:
            raise LedgerUnusable(
                f"The ledger's checkpoint cannot be written: {error.strerror}.",
                "The charge remains and is not made twice. Check the disk of the workspace and its permissions, then "
                "repeat the request.",
            ) from None


def read_checkpoint(place: Path, digest: str, secret: Secret) -> Checkpoint | None:
    """Parse and validate the checkpoint in a version's folder; None if there is none."""
    error = LedgerUnusable(
        f"The ledger's checkpoint in version {digest[:8]} is unreadable or was changed.",
        f"Restore {MARK!r} of this version from your newest backup.",
    )

    def sealed(document: dict[str, Any]) -> tuple[str, str, str]:
        return digest, str(int(document["position"])), str(document["tag"])

    found = read_sealed(place / MARK, secret, Purpose.LEDGER_MARK, sealed, error)
    return None if found is None else Checkpoint(int(found["position"]), str(found["tag"]))


def lock_checkpoints(home: Path) -> AbstractContextManager[Any]:
    """Hold the lock on all checkpoints of a dataset."""
    return file_lock(home / ".mark.lock")
