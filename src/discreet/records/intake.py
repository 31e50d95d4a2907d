"""Loading records: read, check, key, sort and store; or refuse and store nothing.

One pass: DuckDB reads the source, turns each category into its small integer and hashes each id (`coded_batches`); Python
checks each chunk, enciphers the hashes to record keys and adds the record to the fingerprint (`staging`). A second
pass is the engine's: it keeps the coded records (`records/engine.py`). Ids are not stored: only their keys are.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadData, BadDescription, BadRecords
from discreet.model.dataset import Dataset
from discreet.model.revision import newest_arithmetic
from discreet.records.coding import by_row_number, check_columns
from discreet.records.engine import EngineKind
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import Secret, record_tag
from discreet.records.open_source import open_source, read_error
from discreet.records.source import Source
from discreet.records.staging import Progress, Read, stage
from discreet.records.storage import MEMORY_LIMIT, hide_progress_bar

#: What DuckDB says where the disk of the workspace or of its temporary files is full.
FULL_DISK = ("No space left", "not enough space", "File too large", "quota exceeded")


class Loaded(NamedTuple):
    """The names of stored records, and how many there are: none of it is ever released.

    Args:
        digest: The version's name.
        fingerprint: Of the records.
        records: How many are kept.
        left_out: Under `dp`, what does not fit and is not kept; None elsewhere. For the custodian alone.
        surplus: Under `dp`, how many records were too many of their unit. For the custodian alone.
        ids: A sketch of their ids; None where records have none.
    """

    digest: str
    fingerprint: str
    records: int
    left_out: BadRecords | None = None
    surplus: int = 0
    ids: NDArray[np.uint64] | None = None


def load_records(
    records: object,
    dataset: Dataset,
    description: str,
    secret: Secret,
    folder: Path,
    kind: EngineKind,
    progress: Progress = lambda _what, _done, _of: None,
) -> Loaded:
    """Read and check records, and let an engine keep them in an empty folder.

    Args:
        records: A path, frame, table or stream (see `sources`), or records that live with the engine.
        dataset: The description, parsed.
        description: The text of the description and noise, which the digest covers.
        secret: For record keys and the fingerprint.
        folder: The new version's; the caller moves it into place or removes it.
        kind: The engine that keeps them.
        progress: Told as the load goes on.

    Returns:
        The digest that names the version, and the fingerprint of the records.
    """
    fingerprint = Fingerprint(secret, dataset.lineage)
    staged = folder / "staged.arrow"
    reading = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(folder)})
    hide_progress_bar(reading)
    try:
        _refuse_read_categories(dataset)
        taken, numbered = kind.take(records, dataset, secret, folder, fingerprint, progress), False
        if taken is not None:
            staged, read = taken
        else:
            source = open_source(reading, records, folder, dataset.file)
            check_columns(source.name, source.columns, dataset)
            read = _read_all(reading, source, dataset, secret, fingerprint, staged, progress)
            numbered = by_row_number(source.columns, dataset)
        digest = fingerprint.digest(description)
        progress("Storing records", 0, 1)
        kind.store(staged, dataset, folder, record_tag(secret, digest))
        progress("Storing records", 1, 1)
    except duckdb.Error as error:
        _raise_full_disk(error)
        raise BadData(
            "The records could not be stored.", "Check the disk of the workspace, and load again."
        ) from None
    finally:
        reading.close()
        (folder / "staged.arrow").unlink(missing_ok=True)
        for copy in folder.glob("source.*"):
            copy.unlink()
    return Loaded(
        digest, fingerprint.of_records(_meaning(dataset)), *read, None if numbered else fingerprint.ids.values
    )


def _read_all(
    reading: duckdb.DuckDBPyConnection,
    source: Source,
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    staged: Path,
    progress: Progress,
) -> Read:
    """Stage the records; a source that breaks off is named with its place."""
    try:
        return stage(reading, source, dataset, secret, fingerprint, staged, progress)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the system; a stream that breaks off has no number
            raise
        _raise_full_disk(error)
        raise read_error(source) from None


def _raise_full_disk(error: Exception) -> None:
    """DuckDB tells a full disk in words only; Python's own writes tell it by a number."""
    if any(words in str(error) for words in FULL_DISK):
        raise OSError(errno.ENOSPC, "No space left on device") from None


def _meaning(dataset: Dataset) -> str:
    """What the stored integers stand for, as text: every variable by name with its codes in their order.

    Noise is looked up by codes and records are stored by position, so a list of codes that is longer, shorter or in
    another order would move noise to other counts: it makes other records, which need a version of their own. So does
    another arithmetic, which would put other noise on the same counts.
    """
    listed: list[object] = []
    listed += sorted((variable.name, variable.codes) for variable in dataset.variables)
    listed.append(newest_arithmetic())
    return json.dumps(listed, separators=(",", ":"), ensure_ascii=True)


def _refuse_read_categories(dataset: Dataset) -> None:
    """Under `dp` a list of categories that was read off the records would tell of them."""
    for variable in dataset.variables if dataset.protection.is_dp else ():
        if variable.categories_from == "records":
            raise BadDescription(
                f'The categories of "{variable.name}" were read off the records: a category that occurs says that '
                "somebody is there.",
                'Replace them by the public code list, and write categories_from = "code list".',
            )
