"""Loading for the faces: `workspace/load.py` makes the version, and the custodian is cautioned before it is served.

Comes from: `discreet load`, `discreet.load`. Goes to: a version on disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.answer.slivers import cautions
from discreet.records.engine import AggregateQuery
from discreet.records.id_like import id_caution
from discreet.workspace.load import load_dataset as load_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        caution: Told, for the custodian's eyes only, of variables that look like ids and of declared groups that
            differ by a few people.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
    """

    def inspect(dataset: Dataset, records: Engine) -> None:
        for sentence in (*_id_cautions(dataset, records), *cautions(dataset, records)):
            caution(sentence)

    return load_version(folder, description, records, progress, beside, inspect, engine)


def _id_cautions(dataset: Dataset, engine: Engine) -> Iterator[str]:
    """What is asked about variables that look like ids."""
    smallest = min(dataset.variables, key=len)
    records = int(engine.aggregate(AggregateQuery((smallest.name,))).counts.sum())
    for variable in dataset.variables:
        found = id_caution(variable.name, len(variable), records)
        if found is not None:
            yield found
