"""What a lineage keeps: the defaults of its first load, its newest keys, and the datasets that are served from it.

Its method and its budget are in the ledger (`booking`).
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
    """The revision of the defaults that a description gets in a workspace: its lineage's own, or today's.

    Args:
        folder: The workspace, which need not exist yet.
        description: The text of a `dataset.toml`.

    Raises:
        WorkspaceUnusable: A newer program loaded the lineage, with defaults that this one does not know.
    """
    lineage = parse_names_only(description).lineage
    found = [
        revisions.defaults
        for text, revisions in _descriptions(folder)
        if parse_names_only(text).lineage == lineage
    ]
    if max(found, default=1) > newest_defaults():
        raise WorkspaceUnusable(
            f'"{lineage}" was loaded with defaults of revision {max(found)}, and this version of Discreet knows '
            f"revisions up to {newest_defaults()}.",
            "Use the newer version of Discreet that loaded it.",
        )
    return min(found, default=newest_defaults())


def lineage_keys(folder: Path, dataset: Dataset) -> int:
    """The newest set of keys that the lineage of a description has in a workspace."""
    found = [
        revisions.keys
        for text, revisions in _descriptions(folder)
        if parse_names_only(text).lineage == dataset.lineage
    ]
    return max(found, default=1)


def lineage_versions(folder: Path, dataset: Dataset) -> Iterator[Path]:
    """The served versions of the other datasets of a lineage."""
    own = dataset.lineage.partition("\n")[0]
    for current in sorted((folder / "datasets").glob("*/current")):
        text = current.parent / current.read_text("ascii", errors="replace").strip() / DESCRIPTION
        is_other = current.parent.name != dataset.id and text.is_file()
        if is_other and parse_names_only(text.read_text("utf-8")).lineage == own:
            yield text.parent


def _descriptions(folder: Path) -> Iterator[tuple[str, Revisions]]:
    """Every description that was ever loaded into a workspace, with its revisions: the first where they are damaged.

    Removed versions left theirs (`upkeep/removal.py`).
    """
    kept = (folder / "datasets").glob(f"*/[0-9a-f]*/{DESCRIPTION}")
    removed = (folder / "datasets").glob(f"*/removed/*/{DESCRIPTION}")
    for place in sorted([*kept, *removed]):
        try:
            revisions = read_revisions(place.parent)
        except WorkspaceUnusable:
            revisions = Revisions()  # the version is not served, and can be loaded again
        yield place.read_text("utf-8"), revisions
