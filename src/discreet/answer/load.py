"""Loading for the faces: `workspace/load.py` makes the version, and the custodian is cautioned before it is served.

Comes from: `discreet load`, `discreet.load`. Goes to: a version on disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.answer import slivers
from discreet.answer.measures import weighted
from discreet.workspace.load import load_dataset as load_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.dataset import Dataset
    from discreet.records.engine import Engine
    from discreet.records.intake import Progress


def load_dataset(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    caution: Callable[[str], None] = lambda _sentence: None,
    engine: str | None = None,
) -> str:
    """Load records into a workspace, creating it if need be; returns the new version's digest.

    Args:
        folder: The workspace.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Told as the load goes on.
        beside: The folder of the description: a noise table's file is looked for there.
        caution: Told, for the custodian's eyes only, of declared groups that differ by a few people, and of weights that
            the survey's form does not suit.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
    """

    def inspect(dataset: Dataset, records: Engine) -> None:
        for sentence in (*slivers.cautions(dataset, records), *weighted.cautions_on(dataset)):
            caution(sentence)

    return load_version(folder, description, records, progress, beside, inspect, engine)
