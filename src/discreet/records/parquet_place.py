"""Coded records as folders of Parquet files in a version's folder: what Spark writes, and what DuckDB reads in place.

    records/     one row a record, sorted by the finest geography
    seal.json    the tag of the version (`records/record_tag.py`)

Both engines read what the other wrote: the layout does not tell who did.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable

if TYPE_CHECKING:
    from pathlib import Path

RECORDS, SEAL = "records", "seal.json"
#: Where records wait during a load, as Parquet files.
STAGED = "staged"


def write_seal(folder: Path, tag: str) -> None:
    """Keep the tag beside the records."""
    (folder / SEAL).write_text(json.dumps({"tag": tag}) + "\n", "utf-8")


def read_tag(folder: Path) -> str:
    """The tag that stands beside the records.

    Raises:
        WorkspaceUnusable: It is not there.
    """
    try:
        return str(json.loads((folder / SEAL).read_text("utf-8"))["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkspaceUnusable(
            f"The stored records {folder.name[:8]}/{SEAL} cannot be opened.", "Load the dataset again."
        ) from None


def parquet_files(folder: Path) -> list[str]:
    """The Parquet files of a folder, in the order of their names."""
    return sorted(str(path) for path in folder.glob("*.parquet"))
