"""The engine that stores a version's records, and the version's cubes: pre-aggregated tables that answer without records.

    cubes/cubes.seal    {"cubes": [{"file", "variables", "rows", "bytes", "whole"}, ...], "seal": ...}
    cubes/<name>.arrow  one cube (`records/cubes.py`)

An engine is chosen by the option of the load, else by `[engine]` in `dataset.toml`, else by `[engine]` in `workspace.toml`,
else it is DuckDB. No number depends on the choice, and cubes do not depend on the engine.

The list of cubes is sealed and replaced in one step, so a build that dies leaves the former cubes. A cube file is hashed
before its first use. A damaged cube or list is not used: the records are counted, with the same numbers, and the log
`discreet.cubes` says so.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import RecordsAway, UnknownEngine, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records.cubes import (
    GAIN,
    Cube,
    CubedEngine,
    StoredCube,
    derivable_variables,
    read_cube,
    rollup_variables,
    write_cube,
)
from discreet.records.engine import Engine, EngineKind, engine_kind
from discreet.records.keys import Purpose, Secret, record_tag
from discreet.workspace.options import engine_of_workspace
from discreet.workspace.sealed import (
    CUBES,
    fsync_tree,
    read_sealed,
    records_changed_error,
    records_missing,
    whole_hash,
    write_sealed,
)
from discreet.workspace.versions.version import Version

if TYPE_CHECKING:
    from discreet.records.staging import Loaded


CUBES_SEAL = "cubes.seal"
log = logging.getLogger("discreet.cubes")


def engine_name(folder: Path, dataset: Dataset, option: str | None = None) -> str:
    """The engine that a load asks for; empty if neither option nor description nor workspace names one."""
    return option or dataset.kept_by or engine_of_workspace(folder)


def open_engine(folder: Path, version: Version, secret: Secret, threads: int | None = None) -> Engine:
    """Open the engine of a version, with its cubes; without records the cubes answer the queries that they cover.

    `threads` limits one aggregate; all cores by default.

    Raises:
        WorkspaceUnusable: The records cannot be opened, have another version's tag, or their engine is unknown.
        MissingExtra: The engine is not installed.
    """
    shelf = CubeShelf(folder, version.dataset, secret)
    return CubedEngine(version.dataset, shelf.cubes, partial(_open_records, folder, version, secret, threads))


def _open_records(folder: Path, version: Version, secret: Secret, threads: int | None) -> Engine:
    refuse_missing_records(folder, version)
    try:
        kind = engine_kind(version.kept_by)
    except UnknownEngine as error:
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} is stored in the engine "{version.kept_by}", which is not installed here.',
            error.advice,
        ) from None
    engine = kind.open(folder, version.dataset, threads)
    if engine.tag != record_tag(secret, folder.name):
        engine.close()
        raise records_changed_error(folder)
    return engine


def refuse_missing_records(folder: Path, version: Version) -> None:
    """Refuse a version with a missing record file: only its cubes can answer queries."""
    if records_missing(folder, version.records):
        raise RecordsAway(
            f"The records of version {folder.name[:8]} are missing; only tables that its cubes cover are "
            "available.",
            "Choose fewer variables or coarser levels. A custodian can restore the records or load them again.",
        )


def verify_engine(folder: Path, version: Version, secret: Secret) -> None:
    """Let the engine validate the records that it stores outside the sealed files."""
    with closing(open_engine(folder, version, secret)) as engine:
        if not engine.sound():
            raise records_changed_error(folder)


@dataclass(frozen=True, slots=True)
class CubeFile:
    """An entry in the list of cubes.

    Args:
        file: Its name in the folder.
        variables: Of its margin.
        rows: How many it has. Confidential.
        bytes: Its size.
        whole: The keyed hash of all its bytes.
    """

    file: str
    variables: tuple[str, ...]
    rows: int
    bytes: int
    whole: str


def new_cube_path(folder: Path) -> Path:
    """An unused file name for a cube of a version."""
    (folder / CUBES).mkdir(mode=0o700, exist_ok=True)
    return folder / CUBES / f"{secrets.token_hex(8)}.arrow"


def cube_entry(path: Path, variables: tuple[str, ...], rows: int, secret: Secret, digest: str) -> CubeFile:
    """The entry of a cube that was written."""
    return CubeFile(path.name, variables, rows, path.stat().st_size, whole_hash(path, _key(secret, digest)))


def write_cube_list(folder: Path, cubes: Iterable[CubeFile], secret: Secret, digest: str) -> None:
    """Replace the list of cubes in one step; then remove all files that it does not name."""
    place = folder / CUBES
    place.mkdir(mode=0o700, exist_ok=True)
    ordered = sorted(cubes, key=lambda cube: (cube.rows, cube.variables))
    document = {"cubes": [asdict(cube) for cube in ordered]}
    fsync_tree(place)
    path, sealed = place / CUBES_SEAL, _seal_input(digest, document)
    write_sealed(path, document, secret, Purpose.CUBES_SEAL, sealed, temporary=".list-", indent=1)
    for path in place.iterdir():
        if path.name not in {CUBES_SEAL, *(cube.file for cube in ordered)}:
            path.unlink()


def read_cube_list(folder: Path, secret: Secret, digest: str) -> tuple[CubeFile, ...]:
    """The cubes of a version, the smallest first; refused if the list is damaged or another version's."""
    error = WorkspaceUnusable(
        f"The list of the cubes of version {digest[:8]} is damaged, or another version's.",
        f"Run: discreet build {folder.parent.name}",
    )
    path, sealed = folder / CUBES / CUBES_SEAL, partial(_seal_input, digest)
    found = read_sealed(path, secret, Purpose.CUBES_SEAL, sealed, error) or {"cubes": ()}
    return tuple(CubeFile(**{**each, "variables": tuple(each["variables"])}) for each in found["cubes"])


def is_cube_intact(folder: Path, cube: CubeFile, secret: Secret, digest: str) -> bool:
    """Whether all bytes of a file are those that the list names."""
    try:
        return whole_hash(folder / CUBES / cube.file, _key(secret, digest)) == cube.whole
    except OSError:
        return False


def verify_cubes(folder: Path, secret: Secret, digest: str) -> int:
    """Read all cubes of a version and validate their checksums; returns how many there are."""
    cubes = read_cube_list(folder, secret, digest)
    for cube in cubes:
        if not is_cube_intact(folder, cube, secret, digest):
            raise WorkspaceUnusable(
                f"The cube by {', '.join(cube.variables)} of version {digest[:8]} is damaged, or another version's. "
                "It is not used.",
                f"Run: discreet build {folder.parent.name}",
            )
    return len(cubes)


def write_first_cube(
    folder: Path, dataset: Dataset, kind: EngineKind, secret: Secret, loaded: Loaded
) -> None:
    """Write the first cube of a version at its load: by all variables without the finer levels of a geography.

    It covers tables without fine areas, the most frequent ones, and is kept if it has at most one row for four records.
    """
    variables, path = rollup_variables(dataset), new_cube_path(folder)
    with closing(kind.open(folder, dataset, None)) as engine:
        rows = write_cube(engine, dataset, variables, path, loaded.records, loaded.records // GAIN)
    found = [] if rows is None else [cube_entry(path, variables, rows, secret, loaded.digest)]
    write_cube_list(folder, found, secret, loaded.digest)


class CubeShelf:
    """The cubes of a version on disk, cached; a running server sees new cubes at the next query.

    `digest` is the version's name, if its folder has another one.
    """

    def __init__(self, folder: Path, dataset: Dataset, secret: Secret, digest: str = "") -> None:
        self._folder, self._dataset, self._secret = folder, dataset, secret
        self._digest = digest or folder.name
        self._mtime: int | None = None
        self._cubes: tuple[StoredCube, ...] = ()

    def cubes(self) -> tuple[StoredCube, ...]:
        """The current cubes, the smallest first; parsed again when their list was replaced."""
        try:
            mtime = (self._folder / CUBES / CUBES_SEAL).stat().st_mtime_ns
        except OSError:
            return ()
        if mtime != self._mtime:
            self._cubes, self._mtime = self._read(), mtime
        return self._cubes

    def _read(self) -> tuple[StoredCube, ...]:
        try:
            listed = read_cube_list(self._folder, self._secret, self._digest)
        except WorkspaceUnusable as error:
            log.warning("%s: %s", self._dataset.id, error)
            return ()
        derivable = partial(derivable_variables, self._dataset)
        return tuple(
            StoredCube(derivable(each.variables), each.rows, cache(partial(self._open, each)))
            for each in listed
        )

    def _open(self, cube: CubeFile) -> Cube | None:
        path = self._folder / CUBES / cube.file
        with suppress(OSError, ValueError, pa.ArrowException):
            if is_cube_intact(self._folder, cube, self._secret, self._digest):
                return read_cube(self._dataset, cube.variables, path)
        said = "%s: the cube by %s is damaged, or another version's, and is not used. Run: discreet build %s"
        log.warning(said, self._dataset.id, ", ".join(cube.variables), self._dataset.id)
        return None


def _seal_input(digest: str, document: dict[str, Any]) -> tuple[str, str]:
    return digest, json.dumps(document["cubes"], sort_keys=True)


def _key(secret: Secret, digest: str) -> bytes:
    return secret.derive(Purpose.CUBES_HASH, digest)
