"""The demo workspace: built on first use, under a lock, in the user's data folder.

A second process waits for the first. A demo that another version of Discreet built, and that this one cannot answer, is
refused and not changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.records.staging import Progress
from discreet.workspace.demo import DEMOS
from discreet.workspace.options import default_folder
from discreet.workspace.versions.load_version import LoadJob, load
from discreet.workspace.versions.version import current_digest, read_revisions, refuse_unknown_revisions

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
        WorkspaceUnusable: Another version of Discreet built it.
    """
    _refuse_other_builder(folder)
    if not _missing_demos(folder):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
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
            f"The workspace {folder} is the demo's: records of real people have no place there.",
            "Name a workspace of your own: --workspace my-tables. To look at a file first: discreet try FILE.",
        )


def _missing_demos(folder: Path) -> list[str]:
    return [name for name in DEMOS if not (folder / "datasets" / name / "current").is_file()]


def _refuse_other_builder(folder: Path) -> None:
    for name in DEMOS:
        home = folder / "datasets" / name
        digest = current_digest(home)
        if not digest:
            continue
        try:
            refuse_unknown_revisions(home / digest, read_revisions(home / digest))
        except WorkspaceUnusable:
            raise WorkspaceUnusable(
                f"Another version of Discreet built the demo workspace {folder}.",
                "Remove that folder if nothing of your own is in it, or name another one with --workspace: "
                "the demo is then built anew.",
            ) from None
