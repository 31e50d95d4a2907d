"""The descriptions of two versions of a dataset, compared key by key."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable
from discreet.model.description_changes import description_changes
from discreet.workspace.upkeep.places import find_version, home_of, versions_of
from discreet.workspace.version import DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.model.description_changes import Change


def compared_descriptions(folder: Path, dataset_id: str, version: str, other: str) -> Iterator[Change]:
    """What differs from one version to another; removed versions have left their descriptions.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        version: The first; the served one where it is empty.
        other: The second.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        WorkspaceUnusable: A description is not there any more.
    """
    home = home_of(folder, dataset_id)
    served = next((each.digest for each in versions_of(home) if each.current), "")
    digests = [find_version(home, word).digest if word else served for word in (version, other)]
    first, second = (_description(home, digest) for digest in digests)
    yield from description_changes(tomllib.loads(first), tomllib.loads(second))


def _description(home: Path, digest: str) -> str:
    for place in (home / digest, home / "removed" / digest):
        if (place / DESCRIPTION).is_file():
            return (place / DESCRIPTION).read_text("utf-8")
    raise WorkspaceUnusable(f"The description of version {digest[:8]} is not there.", "Load it again.")
