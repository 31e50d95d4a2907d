"""The roll-up: the first cube of a version, made by its load, by all variables but the finer levels of a geography.

Tables without fine areas are the most frequent, and this one cube covers them all. It is kept where it has at most one
row for four records; `discreet build` makes further cubes.

Comes from: `load`, once the records are stored. Goes to: the folder of the version.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from discreet.records.cube import write_cube
from discreet.records.cube_plan import GAIN, rollup_variables
from discreet.workspace.cube_files import listed_cube, new_cube_path, write_list

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.engine import EngineKind
    from discreet.records.intake import Loaded
    from discreet.records.secret import Secret


def roll_up(folder: Path, dataset: Dataset, kind: EngineKind, secret: Secret, loaded: Loaded) -> None:
    """Add up the records of a version that is being loaded, where that is worth it."""
    variables, path = rollup_variables(dataset), new_cube_path(folder)
    with closing(kind.open(folder, dataset, None)) as engine:
        rows = write_cube(engine, dataset, variables, path, loaded.records, loaded.records // GAIN)
    found = [] if rows is None else [listed_cube(path, variables, rows, secret, loaded.digest)]
    write_list(folder, found, secret, loaded.digest)
