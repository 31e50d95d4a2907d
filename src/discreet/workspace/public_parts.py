"""What is public of a version, and all that a machine without records needs beside its releases.

The description without its comments, without how its file is read and what keeps it; the revisions; the shapes of areas;
of a joint dp universe the noisy residuals. No record, key, fingerprint or secret is among them, and none follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.model.boundaries import Boundaries
from discreet.model.dataset_toml import dataset_of, description_document
from discreet.workspace.residuals import RESIDUALS
from discreet.workspace.wording import newest_description

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.secret import Secret
    from discreet.workspace.revisions import Revisions
    from discreet.workspace.version import Version

#: Sections that tell how records are read and kept: nobody needs them who has none.
_OF_RECORDS = ("engine", "file")


@dataclass(frozen=True, slots=True)
class PublicParts:
    """What is public of a version.

    Args:
        description: What `dataset.toml` says, as plain values.
        revisions: What the version was loaded under.
        wording: A hash of its words where they were corrected; empty elsewhere.
        boundaries: The files of shapes by variable.
        residuals: Of a joint universe the file of its noisy residuals; empty elsewhere.
    """

    description: dict[str, Any]
    revisions: Revisions
    wording: str
    boundaries: Mapping[str, bytes]
    residuals: bytes = b""

    def dataset(self) -> Dataset:
        """The dataset, as those who ask for tables see it.

        Raises:
            BadDescription: The description cannot be read.
        """
        shapes = {name: Boundaries(content) for name, content in self.boundaries.items()}
        dataset = dataset_of(self.description, self.revisions.defaults, shapes)
        return replace(self.revisions.keyed(dataset), wording=self.wording)


def public_parts(folder: Path, version: Version, secret: Secret) -> PublicParts:
    """The public parts of a version in its folder, in its newest words."""
    text, wording = newest_description(folder.parent, folder.name, version, secret)
    document = {key: each for key, each in description_document(text).items() if key not in _OF_RECORDS}
    shapes = {name: each.content for name, each in version.boundaries.items()}
    stored = folder / RESIDUALS
    residuals = stored.read_bytes() if stored.is_file() else b""
    return PublicParts(document, version.revisions, wording, shapes, residuals)
