"""Build the cubes of a version: tables that they cover are answered in milliseconds, and without the records.

Existing cubes stay if they fit and are intact. No number changes. A running server uses new cubes with its next answer.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import WorkspaceUnusable
from discreet.model.universe import dp_terms
from discreet.records.cubes import GAIN, PlannedCube, plan_cubes, row_bytes, write_cube
from discreet.records.engine import records_in
from discreet.records.keys import Secret, read_secret
from discreet.workspace.folder_layout import dataset_folder, find_version, lock_dataset
from discreet.workspace.versions.version import current_digest, read_version
from discreet.workspace.versions.version_engine import (
    CubeFile,
    cube_entry,
    is_cube_intact,
    new_cube_path,
    open_engine,
    read_cube_list,
    write_cube_list,
)

Progress = Callable[[int, int], None]

NO_NEED = (
    "No cube is needed: the tables of a joint universe are computed from stored residuals, without records."
)
NOTHING_MORE = "No further cube helps within the limit: every table is fast already, or none fits."


@dataclass(frozen=True, slots=True)
class CubeReport:
    """What a build did, or would do.

    Args:
        digest: The version.
        kept: Former cubes that stay.
        planned: The cubes that are worth building, the best first.
        built: Those that were built.
        note: Why there is nothing to build.
    """

    digest: str
    kept: tuple[CubeFile, ...]
    planned: tuple[PlannedCube, ...]
    built: tuple[CubeFile, ...] = ()
    note: str = ""


def make_cubes(
    folder: Path,
    dataset_id: str,
    *,
    up_to: int | None = None,
    within: int,
    word: str = "",
    dry_run: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> CubeReport:
    """Plan the cubes of a version and build them.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        up_to: Tables with up to this many variables besides geography become fast; by default `max_variables`.
        within: The maximum size of all cubes of the version in bytes.
        word: The first letters of the version's digest, or its name; the current one by default.
        dry_run: Only plan.
        progress: Called with the number of finished cubes and of all cubes.

    Raises:
        SecretUnusable, WorkspaceUnusable, RecordsAway: The version cannot be counted.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        digest = find_version(home, word).digest if word else current_digest(home)
        place, secret = home / digest, read_secret(folder / "secret")
        version = read_version(place, secret)
        dataset = version.dataset
        kept: list[CubeFile] = []
        built: list[CubeFile] = []
        for cube in _intact_cubes(place, secret):
            if sum(each.bytes for each in kept) + cube.bytes <= within:
                kept.append(cube)
        if dataset.protection.is_dp and dp_terms(dataset)[1].style == "joint":
            return CubeReport(digest, tuple(kept), (), note=NO_NEED)
        with closing(open_engine(place, version, secret)) as engine:
            most = up_to or dataset.protection.max_variables
            left = within - sum(cube.bytes for cube in kept)
            there = [(cube.variables, cube.rows) for cube in kept]
            records = records_in(engine, dataset)
            planned = plan_cubes(dataset, records, most, left, there)
            note = "" if planned else NOTHING_MORE
            if dry_run:
                return CubeReport(digest, tuple(kept), planned, note=note)
            for done, plan in enumerate(planned):
                progress(done, len(planned))
                path = new_cube_path(place)
                most_rows = min(records // GAIN, left // row_bytes(dataset, plan.variables))
                rows = write_cube(engine, dataset, plan.variables, path, records, most_rows)
                if rows is not None and path.stat().st_size <= left:  # else it turned out too large
                    built.append(cube_entry(path, plan.variables, rows, secret, digest))
                    left -= built[-1].bytes
            progress(len(planned), len(planned))
        write_cube_list(place, (*kept, *built), secret, digest)
    return CubeReport(digest, tuple(kept), planned, tuple(built), note)


def cube_summary(place: Path) -> str:
    """Number and size of a version's cubes, for the custodian."""
    if not place.is_dir():
        return ""
    try:
        cubes = read_cube_list(place, read_secret(place.parents[2] / "secret"), place.name)
    except WorkspaceUnusable:
        return "damaged"
    return f"{len(cubes)}, {sum(cube.bytes for cube in cubes) / 1e6:,.1f} MB" if cubes else "none"


def _intact_cubes(place: Path, secret: Secret) -> tuple[CubeFile, ...]:
    try:
        listed = read_cube_list(place, secret, place.name)
    except WorkspaceUnusable:
        return ()
    return tuple(cube for cube in listed if is_cube_intact(place, cube, secret, place.name))
