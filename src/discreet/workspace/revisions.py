"""The revisions that a version was loaded under: of the arithmetic that answers it, and of the defaults it left out.

    version.json   {"arithmetic": 2, "defaults": 1}, written at load and sealed

A version without the file was loaded before revisions had numbers: both are 1. A revision that this program does not
know is refused before anything else of the version is read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable
from discreet.model.defaults import newest_defaults
from discreet.model.revision import knows_arithmetic, newest_arithmetic

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset

REVISIONS = "version.json"


@dataclass(frozen=True, slots=True)
class Revisions:
    """What a version was loaded under.

    Args:
        arithmetic: The arithmetic that answers it (`model/revision.py`).
        defaults: The defaults of keys that its description leaves out (`model/defaults.py`).
        keys: How many sets of keys its lineage has had: a load with `--corrections new-lineage` begins the next.
    """

    arithmetic: int = 1
    defaults: int = 1
    keys: int = 1

    @property
    def text(self) -> str:
        """What is stored and sealed; the first keys go without saying.

        >>> Revisions().text
        '{"arithmetic": 1, "defaults": 1}'
        >>> Revisions(2, 1, 3).text
        '{"arithmetic": 2, "defaults": 1, "keys": 3}'
        """
        told = asdict(self)
        return json.dumps(
            {name: told[name] for name in told if name != "keys" or self.keys > 1}, sort_keys=True
        )

    def keyed(self, dataset: Dataset) -> Dataset:
        """The dataset with the lineage that its keys are derived from: its own, or a later one of the same name."""
        return dataset if self.keys == 1 else replace(dataset, lineage=f"{dataset.lineage}\n{self.keys}")


def read_revisions(folder: Path) -> Revisions:
    """The revisions of a version; the first where it was loaded before they had numbers.

    Raises:
        WorkspaceUnusable: They cannot be read.
    """
    try:
        found = json.loads((folder / REVISIONS).read_text("utf-8"))
        return Revisions(**{key: int(value) for key, value in found.items()})
    except FileNotFoundError:
        return Revisions()
    except (OSError, ValueError, TypeError, AttributeError):
        raise WorkspaceUnusable(
            f"The revisions of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None


def refuse_unknown_revisions(folder: Path, revisions: Revisions) -> None:
    """Refuse a version that this program cannot answer as it was loaded.

    Raises:
        WorkspaceUnusable: A newer program loaded it, or its arithmetic was given up.
    """
    if knows_arithmetic(revisions.arithmetic) and 1 <= revisions.defaults <= newest_defaults():
        return
    newer = revisions.arithmetic > newest_arithmetic() or revisions.defaults > newest_defaults()
    raise WorkspaceUnusable(
        f'Version {folder.name[:8]} of "{folder.parent.name}" was loaded under revision {revisions.arithmetic} of '
        f"the arithmetic and {revisions.defaults} of the defaults, which this version of Discreet does not know.",
        "Use the newer version of Discreet that loaded it." if newer else "Load the dataset again.",
    )
