"""Loading records: read, check, key, sort and store; or refuse and store nothing.

In the first pass DuckDB reads the source, codes each category and hashes each id (`coding`); Python checks each chunk,
derives record keys and adds the records to the fingerprint (`staging`). In the second the engine stores the coded
records. Ids are not stored, only their keys.
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
from discreet.records.readers import open_source, read_error
from discreet.records.source import Source
from discreet.records.staging import Progress, Read, stage
from discreet.records.storage import connect_duckdb

#: DuckDB's messages for a full disk.
FULL_DISK = ("No space left", "not enough space", "File too large", "quota exceeded")


class Loaded(NamedTuple):
    """The identifiers and the number of stored records. Confidential.

    Under `dp`, `left_out` has the invalid records and `surplus` the number beyond the contribution bound, for the custodian
    only. `ids` is a sketch of their ids; None if records have none.
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
    """Read and check records, and let an engine store them in an empty folder.

    Args:
        records: A path, frame, table or stream (see `readers`), or records that live with the engine.
        dataset: The parsed description.
        description: The text of the description and noise, which the digest covers.
        secret: For record keys and the fingerprint.
        folder: The new version's folder; the caller moves it into place or removes it.
        kind: The engine.
        progress: Called with the progress.
    """
    fingerprint = Fingerprint(secret, dataset.lineage)
    staged = folder / "staged.arrow"
    reading = connect_duckdb(temporary=folder)
    try:
        for variable in dataset.variables if dataset.protection.is_dp else ():
            if variable.categories_from == "records":  # such a list would disclose which categories occur
                raise BadDescription(
                    f'The categories of "{variable.name}" were read off the records: a category that occurs says that '
                    "somebody is there.",
                    'Replace them by the public code list, and write categories_from = "code list".',
                )
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
    ids = None if numbered else fingerprint.ids.values
    return Loaded(digest, fingerprint.of_records(_meaning(dataset)), *read, ids)


def _read_all(
    reading: duckdb.DuckDBPyConnection,
    source: Source,
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    staged: Path,
    progress: Progress,
) -> Read:
    """Stage the records; a source that ends early is reported with the position."""
    try:
        return stage(reading, source, dataset, secret, fingerprint, staged, progress)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the system, not of the source
            raise
        _raise_full_disk(error)
        raise read_error(source) from None


def _raise_full_disk(error: Exception) -> None:
    """DuckDB reports a full disk in its message only; raise the system's error."""
    if any(words in str(error) for words in FULL_DISK):
        raise OSError(errno.ENOSPC, "No space left on device") from None


def _meaning(dataset: Dataset) -> str:
    """The meaning of the stored integers: every variable by name with its codes in order, and the algorithm version.

    Noise depends on codes, and records are stored by position: another code list, or another algorithm version, would put
    other noise on the same counts, so it needs a new version.
    """
    listed = sorted((variable.name, variable.codes) for variable in dataset.variables)
    return json.dumps([*listed, newest_arithmetic()], separators=(",", ":"), ensure_ascii=True)
