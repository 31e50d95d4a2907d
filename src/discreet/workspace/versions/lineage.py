"""A lineage (series of versions with the same keys): the defaults of its first load, its newest keys, its datasets.

Its method and budget are in the ledger (`charge_load.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from discreet.errors import WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_names_only
from discreet.model.revision import newest_defaults
from discreet.workspace.versions.version import DESCRIPTION, Revisions, read_revisions


def lineage_defaults(folder: Path, description: str) -> int:
    """The revision of the defaults for a description: that of its lineage's first load, or the newest.

    Args:
        folder: The workspace, which need not exist yet.
        description: The text of a `dataset.toml`.

    Raises:
        WorkspaceUnusable: A newer program loaded the lineage, with defaults that this one does not know.
    """
    lineage = parse_names_only(description).lineage
    found = [revisions.defaults for revisions in _revisions(folder, lineage)]
    if max(found, default=1) > newest_defaults():
        raise WorkspaceUnusable(
            f'"{lineage}" was loaded with defaults of revision {max(found)}, and this version of Discreet knows '
            f"revisions up to {newest_defaults()}.",
            "Use the newer version of Discreet that loaded it.",
        )
    return min(found, default=newest_defaults())


def lineage_keys(folder: Path, dataset: Dataset) -> int:
    """The newest set of keys that the lineage of a description has in a workspace."""
    return max((revisions.keys for revisions in _revisions(folder, dataset.lineage)), default=1)


def lineage_versions(folder: Path, dataset: Dataset) -> Iterator[Path]:
    """The served versions of the other datasets of a lineage."""
    own = dataset.lineage.partition("\n")[0]
    for current in sorted((folder / "datasets").glob("*/current")):
        text = current.parent / current.read_text("ascii", errors="replace").strip() / DESCRIPTION
        is_other = current.parent.name != dataset.id and text.is_file()
        if is_other and parse_names_only(text.read_text("utf-8")).lineage == own:
            yield text.parent


def _revisions(folder: Path, lineage: str) -> Iterator[Revisions]:
    """The revisions of every version of a lineage, removed ones included; the first revisions where they are damaged."""
    versions = (folder / "datasets").glob(f"*/[0-9a-f]*/{DESCRIPTION}")
    removed = (folder / "datasets").glob(f"*/removed/*/{DESCRIPTION}")
    for path in sorted([*versions, *removed]):
        if parse_names_only(path.read_text("utf-8")).lineage == lineage:
            try:
                yield read_revisions(path.parent)
            except WorkspaceUnusable:  # the version is not served, and can be loaded again
                yield Revisions()
