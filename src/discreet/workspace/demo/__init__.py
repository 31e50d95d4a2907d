"""The demo workspace: two synthetic censuses of Halvern and the potato survey of Spudlandia, made from a seed.

Invented people in invented places, with dependence that looks real. A demo is the text of its `dataset.toml` and the batches
of its records, so it is loaded like any other dataset: on first use, under a lock for which a second process waits.

Source: Rinott et al. (2018), section 3; Bailie (2020), sections 3 and 4.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.workspace.demo.census import (
    DP_ROWS,
    ROWS,
    SEED,
    census_batches,
    census_description,
    dp_census_batches,
    dp_census_description,
)
from discreet.workspace.demo.geography import census_boundaries
from discreet.workspace.demo.spudlandia import SAMPLE, spudlandia_batches, spudlandia_description
from discreet.workspace.options import default_folder
from discreet.workspace.sealed import file_lock
from discreet.workspace.versions.version import current_digest, read_revisions, refuse_unknown_revisions

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.records.staging import Progress

__all__ = [
    "DEMOS",
    "Demo",
    "census_batches",
    "census_description",
    "dp_census_batches",
    "dp_census_description",
    "spudlandia_batches",
    "spudlandia_description",
]


class Demo(NamedTuple):
    """How a demo dataset is made: its description, its records, how many they are by default, and its boundaries."""

    description: Callable[..., str]
    batches: Callable[..., Iterator[pa.RecordBatch]]
    rows: int
    #: The content of each file that the description names for a variable.
    boundaries: Callable[[], dict[str, bytes]] = dict


_DESCRIPTION = partial(census_description, mapped=True), partial(dp_census_description, mapped=True)
_MAPS = tuple(partial(census_boundaries, rows, seed=SEED) for rows in (ROWS, DP_ROWS))
DEMOS = MappingProxyType(
    {
        "census": Demo(_DESCRIPTION[0], census_batches, ROWS, _MAPS[0]),
        "census-dp": Demo(_DESCRIPTION[1], dp_census_batches, DP_ROWS, _MAPS[1]),
        "spudlandia": Demo(spudlandia_description, spudlandia_batches, SAMPLE),
    }
)
#: The file that marks a demo workspace.
LOCK = ".demo.lock"


def make_demo(folder: Path, progress_for: Callable[[str, int], Progress]) -> bool:
    """Load the missing datasets of the demo workspace.

    Args:
        folder: Where the workspace is or will be.
        progress_for: From a dataset's id and its number of records to the progress of its load.

    Returns:
        Whether anything had to be built.

    Raises:
        WorkspaceUnusable: Another version of Discreet built it, with revisions that this one cannot answer.
    """
    for name in DEMOS:
        home = folder / "datasets" / name
        if digest := current_digest(home):
            try:
                refuse_unknown_revisions(home / digest, read_revisions(home / digest))
            except WorkspaceUnusable:
                raise WorkspaceUnusable(
                    f"Another version of Discreet built the demo workspace {folder}.",
                    "Delete that folder if it contains nothing of yours, or choose another one with --workspace; the "
                    "demo is then rebuilt.",
                ) from None
    if not _missing_demos(folder):
        return False
    from discreet.workspace.versions.load_version import LoadJob, load  # noqa: PLC0415 - only a build loads

    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / LOCK):
        missing = _missing_demos(folder)
        for name in missing:
            demo = DEMOS[name]
            with tempfile.TemporaryDirectory(prefix="discreet-demo-") as beside:
                for variable, shapes in demo.boundaries().items():
                    (Path(beside) / f"{variable}.geojson").write_bytes(shapes)
                progress = progress_for(name, demo.rows)
                load(LoadJob(folder, demo.description(), demo.batches(), progress, Path(beside)))
    return bool(missing)


def refuse_demo(folder: Path) -> None:
    """Refuse to load a custodian's records into the demo workspace.

    Raises:
        BadRequest: The workspace is the demo's.
    """
    if folder.absolute() == default_folder().absolute() or (folder / LOCK).exists():
        raise BadRequest(
            f"The workspace {folder} belongs to the demo, where records of real people must not be loaded.",
            "Choose your own workspace, as in --workspace my-tables. To preview a file: discreet try FILE.",
        )


def _missing_demos(folder: Path) -> list[str]:
    return [name for name in DEMOS if not (folder / "datasets" / name / "current").is_file()]
