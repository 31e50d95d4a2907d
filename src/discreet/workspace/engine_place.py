"""Which engine keeps a version: chosen at load, remembered by the version, opened to answer.

The first that is named wins: the option of the load, `[engine]` in `dataset.toml`, `[engine]` in `workspace.toml`,
DuckDB. No number depends on the choice.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from discreet.errors import RecordsAway, UnknownEngine, WorkspaceUnusable
from discreet.records.cubed import CubedEngine
from discreet.records.engine import engine_kind
from discreet.records.record_tag import record_tag
from discreet.workspace.cube_files import CubeShelf
from discreet.workspace.options import engine_of_workspace
from discreet.workspace.records_seal import other_records, records_away

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
    """The engine that keeps a version, opened, with its cubes before it.

    The tag that stands beside the records must be the version's. Where the records are away, cubes answer what they cover.

    Args:
        folder: The version's.
        version: What was written at load.
        secret: The workspace's.
        threads: Threads for one aggregate; all cores by default.

    Raises:
        WorkspaceUnusable: The records cannot be opened or are another version's, or their engine is not known here.
        MissingExtra: The engine is not installed.
    """
    shelf = CubeShelf(folder, version.dataset, secret)
    return CubedEngine(version.dataset, shelf, partial(_open_records, folder, version, secret, threads))


def _open_records(folder: Path, version: Version, secret: Secret, threads: int | None) -> Engine:
    refuse_away(folder, version)
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


def refuse_away(folder: Path, version: Version) -> None:
    """Refuse a version whose files with records are gone.

    Raises:
        RecordsAway: It is answered from its cubes alone, as far as they cover.
    """
    if records_away(folder, version.records):
        raise RecordsAway(
            f"The records of version {folder.name[:8]} are not here: it is answered from its cubes, as far as they cover.",
            "Ask for fewer variables or coarser levels. A custodian brings the records back, or loads them again.",
        )


def refuse_unsound(folder: Path, version: Version, secret: Secret) -> None:
    """Open a version's engine and let it look at records that it keeps outside the sealed files.

    Raises:
        WorkspaceUnusable: They are not those of the load.
    """
    with closing(open_engine(folder, version, secret)) as engine:
        if not engine.sound():
            raise other_records(folder)
