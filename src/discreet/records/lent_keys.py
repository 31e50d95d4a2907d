"""Keys that are lent to other processes: those of one dataset, in a file of the folder in which a version is made.

A cluster ships functions, variables and settings through its own plans, files and pages. No key goes that way: the
processes that need one read it from the workspace, which they must reach anyway to write records there. They get what
is derived for one lineage, and for the sketches of ids, and never the secret. The file is removed when the records are read.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from discreet.errors import SecretUnusable
from discreet.records.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

LENT = "lent-keys"


def lent_labels(lineage: str) -> list[tuple[str, ...]]:
    """What keys are lent for: three of a lineage, and that of the sketches of ids."""
    return [("record-key", lineage), ("record-fingerprint", lineage), ("part", lineage), ("id-sketch",)]


class LentKeys(Secret):
    """Stands in for a secret where records are keyed; knows the lent keys alone.

    Args:
        path: The file that `lend_keys` wrote.
    """

    __slots__ = ("_keys",)

    def __init__(self, path: Path) -> None:
        written: dict[str, str] = json.loads(path.read_text("ascii"))
        self._keys = {tuple(json.loads(labels)): bytes.fromhex(key) for labels, key in written.items()}

    def derive(self, *labels: str) -> bytes:
        """The key of these labels, where it was lent."""
        if labels not in self._keys:
            raise SecretUnusable("This key was not lent.", "Load the dataset again.")
        return self._keys[labels]


def lend_keys(secret: Secret, lineage: str, folder: Path) -> Path:
    """Write the keys of a lineage to a file that only its owner can read."""
    keys = {json.dumps(labels): secret.derive(*labels).hex() for labels in lent_labels(lineage)}
    path = folder / LENT
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(keys, file)
    return path
