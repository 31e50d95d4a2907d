"""The cubes of a version on disk: Arrow files in its folder, and one sealed list that says which of them count.

    cubes/cubes.seal    {"cubes": [{"file", "variables", "rows", "bytes", "whole"}, ...], "seal": ...}
    cubes/<name>.arrow  one cube (`records/cubes.py`)

The list is keyed by the secret and the version's name, and so is the hash of each file. It is replaced in one step: a build
that dies leaves the cubes that were there before. A file that the list does not name is never read. All bytes of a cube are
compared with the list before it is first used; one that is damaged, or another version's, is not used. The records are
counted then, with the same numbers, and the log `discreet.cubes` says so. A list that was changed counts for nothing.

Cubes follow from the records and from nothing else: another engine keeps them as they are. They go with the version.

Which engine keeps a version: chosen at load, remembered by the version, opened to answer.

The first that is named wins: the option of the load, `[engine]` in `dataset.toml`, `[engine]` in `workspace.toml`,
DuckDB. No number depends on the choice.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.errors import RecordsAway, UnknownEngine, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records.cube_plan import GAIN, rollup_variables
from discreet.records.cubes import Cube, CubedEngine, StoredCube, derivable_variables, read_cube, write_cube
from discreet.records.engine import Engine, EngineKind, engine_kind
from discreet.records.keys import Purpose, Secret, record_tag
from discreet.workspace.options import engine_of_workspace
from discreet.workspace.sealed import (
    CUBES,
    fsync_path,
    fsync_tree,
    records_changed_error,
    records_missing,
    whole_hash,
)
from discreet.workspace.versions.version import Version

if TYPE_CHECKING:
    from discreet.records.intake import Loaded


CUBES_SEAL = "cubes.seal"
log = logging.getLogger("discreet.cubes")


@dataclass(frozen=True, slots=True)
class CubeFile:
    """A cube as the list names it.

    Args:
        file: Its name in the folder.
        variables: Of its margin.
        rows: How many it has. Confidential.
        bytes: What it takes on disk.
        whole: The keyed hash of all its bytes.
    """

    file: str
    variables: tuple[str, ...]
    rows: int
    bytes: int
    whole: str


def cubes_folder(folder: Path) -> Path:
    """Where the cubes of a version stand; made where it is missing."""
    place = folder / CUBES
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def new_cube_path(folder: Path) -> Path:
    """A name that no cube has."""
    return cubes_folder(folder) / f"{secrets.token_hex(8)}.arrow"


def cube_entry(path: Path, variables: tuple[str, ...], rows: int, secret: Secret, digest: str) -> CubeFile:
    """A cube that was written, for the list."""
    return CubeFile(
        path.name, variables, rows, path.stat().st_size, whole_hash(path, _cubes_key(secret, digest))
    )


def write_cube_list(folder: Path, cubes: Iterable[CubeFile], secret: Secret, digest: str) -> None:
    """Let these cubes count and no others, in one step; then remove the files of others."""
    place = cubes_folder(folder)
    ordered = sorted(cubes, key=lambda cube: (cube.rows, cube.variables))
    listed = [asdict(cube) for cube in ordered]
    fsync_tree(place)
    beside = place / f".list-{secrets.token_hex(8)}"
    beside.write_text(
        json.dumps({"cubes": listed, "seal": _cubes_seal(listed, secret, digest)}, indent=1), "utf-8"
    )
    fsync_tree(beside)
    beside.replace(place / CUBES_SEAL)
    fsync_path(place)
    for path in place.iterdir():
        if path.name not in {CUBES_SEAL, *(cube.file for cube in ordered)}:
            path.unlink()


def read_cube_list(folder: Path, secret: Secret, digest: str) -> tuple[CubeFile, ...]:
    """The cubes of a version, the smallest first; none where nobody built any.

    Raises:
        WorkspaceUnusable: The list cannot be read, or is not this version's.
    """
    path = folder / CUBES / CUBES_SEAL
    if not path.is_file():
        return ()
    try:
        document = json.loads(path.read_text("utf-8"))
        listed = document["cubes"]
        if document["seal"] == _cubes_seal(listed, secret, digest):
            return tuple(CubeFile(**{**each, "variables": tuple(each["variables"])}) for each in listed)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise WorkspaceUnusable(
        f"The list of the cubes of version {digest[:8]} is damaged, or another version's.",
        f"Run: discreet build {folder.parent.name}",
    )


def is_cube_intact(folder: Path, cube: CubeFile, secret: Secret, digest: str) -> bool:
    """Whether a file is the one that the list names; reads all of it."""
    try:
        return whole_hash(folder / CUBES / cube.file, _cubes_key(secret, digest)) == cube.whole
    except OSError:
        return False


def verify_cubes(folder: Path, secret: Secret, digest: str) -> int:
    """Read all cubes of a version and compare them with the list; tells how many there are.

    Raises:
        WorkspaceUnusable: One is damaged or another version's.
    """
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
    """Make the first cube of a version that is being loaded: by all variables but the finer levels of a geography.

    Tables without fine areas are the most frequent, and it covers them all. It is kept where it has at most one row for
    four records; `discreet build` makes further cubes.
    """
    variables, path = rollup_variables(dataset), new_cube_path(folder)
    with closing(kind.open(folder, dataset, None)) as engine:
        rows = write_cube(engine, dataset, variables, path, loaded.records, loaded.records // GAIN)
    found = [] if rows is None else [cube_entry(path, variables, rows, secret, loaded.digest)]
    write_cube_list(folder, found, secret, loaded.digest)


class CubeShelf:
    """The cubes of a version, as they stand on disk; a build is seen by a server that runs.

    Args:
        folder: The version's.
        dataset: Its description.
        secret: The workspace's.
        digest: The version's name, where its folder does not have it yet.
    """

    def __init__(self, folder: Path, dataset: Dataset, secret: Secret, digest: str = "") -> None:
        self._folder, self._dataset, self._secret = folder, dataset, secret
        self._digest = digest or folder.name
        self._seen: int | None = None
        self._cubes: tuple[StoredCube, ...] = ()

    def cubes(self) -> tuple[StoredCube, ...]:
        """The cubes that are there now, the smallest first."""
        try:
            changed = (self._folder / CUBES / CUBES_SEAL).stat().st_mtime_ns
        except OSError:
            return ()
        if changed != self._seen:
            self._cubes, self._seen = self._read(), changed
        return self._cubes

    def _read(self) -> tuple[StoredCube, ...]:
        try:
            listed = read_cube_list(self._folder, self._secret, self._digest)
        except WorkspaceUnusable as error:
            log.warning("%s: %s", self._dataset.id, error)
            return ()
        return tuple(
            StoredCube(
                derivable_variables(self._dataset, each.variables),
                each.rows,
                _LazyCube(partial(self._open, each)),
            )
            for each in listed
        )

    def _open(self, cube: CubeFile) -> Cube | None:
        path = self._folder / CUBES / cube.file
        try:
            if is_cube_intact(self._folder, cube, self._secret, self._digest):
                return read_cube(self._dataset, cube.variables, path)
        except (OSError, ValueError, pa.ArrowException):
            pass
        log.warning(
            "%s: the cube by %s is damaged, or another version's, and is not used. Run: discreet build %s",
            self._dataset.id,
            ", ".join(cube.variables),
            self._dataset.id,
        )
        return None


class _LazyCube:
    """A cube that is read when it is first needed, and kept."""

    def __init__(self, read: partial[Cube | None]) -> None:
        self._read, self._found = read, list[Cube | None]()

    def __call__(self) -> Cube | None:
        if not self._found:
            self._found.append(self._read())
        return self._found[0]


def _cubes_seal(listed: list[dict[str, object]], secret: Secret, digest: str) -> str:
    return secret.derive(Purpose.CUBES_SEAL, digest, json.dumps(listed, sort_keys=True)).hex()


def _cubes_key(secret: Secret, digest: str) -> bytes:
    return secret.derive(Purpose.CUBES_HASH, digest)


def engine_name(folder: Path, dataset: Dataset, option: str | None = None) -> str:
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
    refuse_missing_records(folder, version)
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
        raise records_changed_error(folder)
    return engine


def refuse_missing_records(folder: Path, version: Version) -> None:
    """Refuse a version whose files with records are gone.

    Raises:
        RecordsAway: It is answered from its cubes alone, as far as they cover.
    """
    if records_missing(folder, version.records):
        raise RecordsAway(
            f"The records of version {folder.name[:8]} are not here: it is answered from its cubes, as far as they cover.",
            "Ask for fewer variables or coarser levels. A custodian brings the records back, or loads them again.",
        )


def verify_engine(folder: Path, version: Version, secret: Secret) -> None:
    """Open a version's engine and let it look at records that it keeps outside the sealed files.

    Raises:
        WorkspaceUnusable: They are not those of the load.
    """
    with closing(open_engine(folder, version, secret)) as engine:
        if not engine.sound():
            raise records_changed_error(folder)
