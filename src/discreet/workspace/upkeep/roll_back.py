"""Roll a dataset back: another version that is kept becomes the one that is served.

Nothing is counted, charged or changed: under dp each version was charged at its load. Which versions are answered beside
it follows from what was found at the loads: a version that was open was compared with every other open one. A closed one
was not compared with all others, so it is served alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable
from discreet.records.secret import read_secret
from discreet.workspace.corrections import served_digest
from discreet.workspace.engine_place import refuse_unsound
from discreet.workspace.history import read_history, write_history
from discreet.workspace.load import point_to
from discreet.workspace.records_seal import verify_records
from discreet.workspace.upkeep.places import find_version, home_of, lock
from discreet.workspace.version import read_version

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.workspace.version_facts import VersionFacts


def roll_back(folder: Path, dataset_id: str, word: str) -> VersionFacts:
    """Serve a version that is kept; its records are read and compared with their seal before.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        word: The beginning of the version's digest, or its name.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        SecretUnusable, WorkspaceUnusable: It cannot be served; what was served is still served.
    """
    home = home_of(folder, dataset_id)
    with lock(home):
        wanted, secret = find_version(home, word), read_secret(folder / "secret")
        place = home / wanted.digest
        if not place.is_dir():
            raise WorkspaceUnusable(
                f"Version {wanted.digest[:8]} is not kept any more.", "Load its records again."
            )
        version = read_version(place, secret)
        verify_records(place, version.records, secret)
        refuse_unsound(place, version, secret)
        history = read_history(home, served_digest(home), secret)
        closed = any(kept.closed for kept in history.versions if kept.digest == wanted.digest)
        write_history(
            home, history.after(wanted.digest, lambda _digest: "not-compared" if closed else ""), secret
        )
        point_to(home, wanted.digest)
    return wanted
