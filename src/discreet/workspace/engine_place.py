"""Which engine keeps a version: chosen at load, remembered by the version, opened to answer.

The first that is named wins: the option of the load, `[engine]` in `dataset.toml`, `[engine]` in `workspace.toml`,
DuckDB. No number depends on the choice.

Comes from: the faces, the two files, a `Version`. Goes to: `load`, `Workspace`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import UnknownEngine, WorkspaceUnusable
from discreet.records.engine import engine_kind
from discreet.records.record_tag import record_tag
from discreet.workspace.options import engine_of_workspace
from discreet.workspace.records_seal import other_records

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.engine import Engine
    from discreet.records.secret import Secret
    from discreet.workspace.version import Version


def engine_wanted(folder: Path, dataset: Dataset, option: str | None = None) -> str:
    """The name of the engine that a load asks for; empty where nobody names one.

    Args:
        folder: The workspace.
        dataset: The description, parsed.
        option: `--engine`, or `engine=`.
    """
    return option or dataset.kept_by or engine_of_workspace(folder)


def open_engine(folder: Path, version: Version, secret: Secret, threads: int | None = None) -> Engine:
    """The engine that keeps a version, opened; the tag that stands beside its records must be the version's.

    Args:
        folder: The version's.
        version: What was written at load.
        secret: The workspace's.
        threads: Threads for one aggregate; all cores by default.

    Raises:
        WorkspaceUnusable: The records cannot be opened or are another version's, or their engine is not known here.
        MissingExtra: The engine is not installed.
    """
    try:
        kind = engine_kind(version.kept_by)
    except UnknownEngine as error:
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} is kept by the engine "{version.kept_by}", which is not known here.',
            error.advice,
        ) from None
    engine = kind.open(folder, version.dataset, threads)
    if engine.tag != record_tag(secret, folder.name):
        engine.close()
        raise other_records(folder)
    return engine
