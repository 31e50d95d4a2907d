"""Hashes of ids as numbers, and ids that occur twice.

Two records with one id have one hash. Ids themselves are never kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.records.problems import MOST_TOLD, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.records.problems import Problems


def hash_bytes(column: pa.BinaryArray) -> NDArray[np.uint8]:
    """The (n, 16) bytes of a column of half hashes."""
    fixed = column.cast(pa.binary(16)) if not pa.types.is_fixed_size_binary(column.type) else column
    data = np.frombuffer(fixed.buffers()[1], dtype=np.uint8)
    return data.reshape(-1, 16)[fixed.offset : fixed.offset + len(fixed)]


def hash_prefixes(hashes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """64 bits of each hash."""
    return np.ascontiguousarray(hashes[:, :8]).view("<u8").ravel()


def id_prefixes(batch: pa.RecordBatch, hashes: NDArray[np.uint8], done: int) -> NDArray[np.uint64]:
    """64 bits of each id's hash; a record without an id has bits of its own, since that is told already."""
    prefixes = hash_prefixes(hashes)
    absent = batch.column("h").is_null()
    if absent.true_count:
        rows = np.flatnonzero(absent.to_numpy(zero_copy_only=False))
        prefixes = prefixes.copy()
        prefixes[rows] = (rows + done).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return prefixes


def find_duplicates(prefixes: list[NDArray[np.uint64]], problems: Problems, column: str) -> None:
    """Two records with one id have one hash; 64 of its bits tell them apart from all others.

    Two different ids share 64 bits with probability below n^2 / 2^65: 3e-6 for ten million records.
    """
    whole = np.concatenate([np.empty(0, dtype=np.uint64), *prefixes])
    prefixes.clear()
    ordered = np.sort(whole)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(whole, kind="stable")
    again = order[1:][whole[order[1:]] == whole[order[:-1]]]
    told = [
        Problem(
            int(row) + 1,
            column,
            f"Two records have the same id: record {int(np.flatnonzero(whole == whole[row])[0]) + 1:,} has it, too.",
            "Give every record an id of its own.",
        )
        for row in np.sort(again)[:MOST_TOLD]
    ]
    problems.add(told, column, again.size)
