"""The compiled count over memory-mapped codes, and the file `codes.bin` with these codes.

    place(record) = sum over columns of lookup[column][code]
    counts[place] += 1,   keys[place] += record key,   weights[place] += weight

A lookup has the offset of each code in the flat table. A filtered code moves a record beyond the end, and the last place
collects those. All sums are integers, so numbers are those of the engine to the last bit.

Importing Numba costs a process about two seconds of CPU, so the first large count is the engine's. The second one
compiles the kernel in the background (`discreet serve` does so at once). Without Numba nothing changes.

Threads count ranges of the records. If the table is by the variable that records are sorted by, no two ranges share a
cell, and the threads share one table. Else each has its own if it is small, or one thread counts alone.

    codes.bin: weights (8 bytes), record keys (4), then the codes of the variables: those of 4, of 2 and of 1 byte

Columns are stored one after the other from the widest to the narrowest, so each is aligned, and the number of records
follows from the file's size. Records are sorted by the finest geography. The file is confidential, and sealed and removed
with the records.

Source: docs/decisions/0012-compiled-count.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.storage import RECORD_KEY, WEIGHT, storage_schema

#: The kernel, or its replacement in a test.
Kernel = Callable[..., None]

#: The offset of a filtered code: beyond every table, and 15 times that fits 32 bits.
OUT = 1 << 28
MOST_COLUMNS = 15
#: Tables up to this many cells may be duplicated for each thread.
OWN_TABLE = 1 << 18
#: Records per thread, at least.
STRETCH = 1 << 17
#: Records in a block: their places take 16 KB, which fit the L1 cache.
BLOCK = 4096


def count_records(  # noqa: C901 - one loop, which is compiled as a whole
    raw: NDArray[np.uint8],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
    lookups: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    key_start: int,
    weight_start: int,
    first: int,
    last: int,
    counts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    weights: NDArray[np.int64],
) -> None:
    """Count the records from `first` to `last` - 1; the last place of each table collects the filtered ones."""
    place, beyond = np.empty(BLOCK, np.uint32), np.uint32(counts.size - 1)
    for begin in range(first, last, BLOCK):
        size = min(BLOCK, last - begin)
        place[:size] = 0
        for column in range(starts.size):
            start, width = starts[column] + begin * widths[column], widths[column]
            codes = raw[start : start + size * width]
            lookup = lookups[offsets[column] : offsets[column + 1]]
            if width == 1:
                for i in range(size):
                    place[i] += lookup[codes[i]]
            elif width == 2:
                short = codes.view(np.uint16)
                for i in range(size):
                    place[i] += lookup[short[i]]
            else:
                wide, most = codes.view(np.uint32), np.uint32(lookup.size - 1)
                for i in range(size):
                    place[i] += lookup[min(wide[i], most)]
        record_keys = raw[key_start + 4 * begin : key_start + 4 * (begin + size)].view(np.uint32)
        for i in range(size):
            at = min(place[i], beyond)
            counts[at] += 1
            keys[at] += np.uint64(record_keys[i])
        if weights.size:
            weight = raw[weight_start + 8 * begin : weight_start + 8 * (begin + size)].view(np.int64)
            for i in range(size):
                weights[min(place[i], beyond)] += weight[i]


def _compile() -> Kernel:
    """The kernel, compiled or read from Numba's cache."""
    from numba import njit, types  # noqa: PLC0415 - an extra that takes seconds to import

    raw, integers = types.Array(types.uint8, 1, "C", readonly=True), types.int64[::1]
    columns = (raw, integers, integers, types.uint32[::1], integers)
    signature = types.void(*columns, *(types.int64,) * 4, integers, types.uint64[::1], integers)
    try:
        compiled: Kernel = njit(signature, nogil=True, cache=True)(count_records)
    except RuntimeError:  # no writable cache folder
        compiled = njit(signature, nogil=True)(count_records)
    return compiled


class _Kernel:
    """The state of the kernel in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests = 0
        self.thread: threading.Thread | None = None
        self.count: Kernel | None = None

    def make(self) -> None:
        with suppress(Exception):  # without Numba the engine counts
            self.count = _compile()


_KERNEL = _Kernel()


def prepare_kernel(*, wait: bool = False) -> bool:
    """Compile the kernel in the background, once per process; returns whether it is ready."""
    if not kernel_installed():
        return False
    with _KERNEL.lock:
        if _KERNEL.thread is None:
            # Not a daemon: the process waits for a compilation.
            _KERNEL.thread = threading.Thread(target=_KERNEL.make, name="discreet-kernel")
            _KERNEL.thread.start()
    if wait:
        _KERNEL.thread.join()
    return _KERNEL.count is not None


@lru_cache(maxsize=1)
def kernel_installed() -> bool:
    """Whether the extra `fast` is installed."""
    return find_spec("numba") is not None


def ready_kernel() -> Kernel | None:
    """The kernel if it is ready; the second call starts compiling it."""
    if _KERNEL.count is None:
        _KERNEL.requests += 1
        if _KERNEL.requests > 1:
            prepare_kernel()
    return _KERNEL.count


def count_dense(
    codes: CodeFile,
    query: AggregateQuery,
    lookups: Sequence[NDArray[np.int64]],
    cells: int,
    kernel: Kernel,
    threads: int | None = None,
) -> SparseCells | None:
    """Count an aggregate into a flat table, one group per cell in order; None if this is not the way to count.

    `lookups` hold the offset of each code of the grouped variables; codes below zero are not counted.
    """
    needed = query.variables | ({WEIGHT} if query.weights else set())
    if query.sums or query.measures or not needed <= codes.widths.keys() or cells >= OUT:
        return None
    moves = _moves(codes, query, lookups)
    if len(moves) > MOST_COLUMNS:
        return None
    own_cores = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(own_cores(0)) if own_cores else os.cpu_count() or 1
    cuts, shared = _cuts(codes, moves, cells, threads or cores)
    places = (np.array([each[name] for name in moves], np.int64) for each in (codes.starts, codes.widths))
    lookup = np.concatenate([np.empty(0, np.uint32), *moves.values()])
    offsets = np.cumsum([0, *(each.size for each in moves.values())], dtype=np.int64)
    columns = (codes.raw, *places, lookup, offsets, codes.starts[RECORD_KEY], codes.starts.get(WEIGHT, 0))

    def table() -> tuple[NDArray[Any], ...]:  # with one more place for filtered records
        size = cells + 1
        return np.zeros(size, np.int64), np.zeros(size, np.uint64), np.zeros(size * query.weights, np.int64)

    stretches = list(pairwise(cuts))
    tables = [table()] * len(stretches) if shared else [table() for _ in stretches]
    with ThreadPoolExecutor(len(stretches)) as pool:
        list(pool.map(lambda stretch, own: kernel(*columns, *stretch, *own), stretches, tables))
    counts, keys, weights = (
        tables[0] if shared else (reduce(np.add, parts) for parts in zip(*tables, strict=True))
    )
    return SparseCells((), counts[:-1], keys[:-1], weights[:-1] if query.weights else None)


def _moves(
    codes: CodeFile, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]]
) -> dict[str, NDArray[np.uint32]]:
    """For each column the offset of every possible code; the last code of wide columns means none."""
    moves: dict[str, NDArray[np.uint32]] = {}
    for name, lookup in zip(query.group_by, lookups, strict=True):
        moves[name] = _pad_lookup(np.where(lookup < 0, OUT, lookup), codes.widths[name])
    for name, allowed in query.filters:
        open_codes = np.full(max(allowed, default=0) + 1, OUT)
        open_codes[list(allowed)] = 0
        kept = _pad_lookup(open_codes, codes.widths[name])
        grouped = moves.get(name)
        if grouped is not None:
            kept = np.where(_longer(kept, grouped.size) == OUT, np.uint32(OUT), grouped)
        moves[name] = kept
    return moves


def _pad_lookup(lookup: NDArray[np.int64], width: int) -> NDArray[np.uint32]:
    """A lookup for all values of one or two bytes, or with one more place for all others."""
    return _longer(lookup.astype(np.uint32), 256**width if width < 4 else lookup.size + 1)


def _longer(lookup: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    return np.pad(lookup, (0, size - lookup.size), constant_values=OUT)


def _cuts(
    codes: CodeFile, moves: dict[str, NDArray[np.uint32]], cells: int, threads: int
) -> tuple[list[int], bool]:
    """The borders of the threads' ranges, and whether no two of them share a cell."""
    first, last = 0, codes.records
    lookup = moves.get(codes.sorted_by or "")
    places = None if lookup is None else codes.column(codes.sorted_by or "")
    if lookup is not None and places is not None:  # only records between the first and the last counted code
        counted = np.flatnonzero(lookup != OUT)
        if not counted.size:
            return [0, 0], True
        first = int(np.searchsorted(places, places.dtype.type(counted[0]), "left"))
        last = int(np.searchsorted(places, counted[-1].astype(places.dtype), "right"))
    threads = max(1, min(threads, (last - first) // STRETCH))
    if threads == 1:
        return [first, last], True
    even = np.linspace(first, last, threads + 1).astype(np.int64)
    if lookup is not None and places is not None:
        codes_at = places[even[1:-1]]
        inner = np.searchsorted(places, codes_at, "left").tolist()
        # Codes from each border on must have larger offsets than those before it.
        offsets = lookup.astype(np.int64)
        parts = [(offsets[:code], offsets[code:]) for code in codes_at.tolist()]
        if all(before[before != OUT].max(initial=-1) < after.min(initial=OUT) for before, after in parts):
            return [first, *inner, last], True
    return (even.tolist(), False) if cells <= OWN_TABLE else ([first, last], True)


CODES = "codes.bin"
#: With fewer records an engine takes only milliseconds for any table.
FEWEST = 100_000


def code_columns(dataset: Dataset) -> dict[str, int]:
    """The columns of the file in order, with the bytes per value."""
    schema = storage_schema(dataset)
    names = [RECORD_KEY, *(variable.name for variable in dataset.variables)]
    names += [WEIGHT] if dataset.weight_column is not None else []
    widths = {name: schema.field(name).type.bit_width // 8 for name in names}
    return dict(sorted(widths.items(), key=lambda column: -column[1]))


def write_codes(batches: Iterable[pa.RecordBatch], records: int, dataset: Dataset, folder: Path) -> None:
    """Write the file of a new version from its sorted records; none if there are few, or if they are not sorted."""
    if records < FEWEST:
        return
    widths, done, last = code_columns(dataset), 0, 0
    starts, path = _starts(widths, records), folder / CODES
    with path.open("xb") as file:
        for batch in batches:
            for name, width in widths.items():
                file.seek(starts[name] + done * width)
                file.write(np.ascontiguousarray(batch.column(name).to_numpy()).data)
            if dataset.finest_geography:
                places = batch.column(dataset.finest_geography).to_numpy()
                if places[0] < last or (places[1:] < places[:-1]).any():
                    break
                last = places[-1]
            done += batch.num_rows
    if done != records:
        path.unlink()


@dataclass(frozen=True, eq=False)
class CodeFile:
    """The memory-mapped records of a version: width in bytes and offset of each column, and the sort variable, if any."""

    raw: NDArray[np.uint8]
    widths: dict[str, int]
    starts: dict[str, int]
    records: int
    sorted_by: str | None

    def column(self, name: str) -> NDArray[np.unsignedinteger]:
        """One column."""
        width, start = self.widths[name], self.starts[name]
        return self.raw[start : start + width * self.records].view(f"<u{width}")

    def __repr__(self) -> str:
        return f"<CodeFile of {len(self.widths)} columns, confidential>"


def open_codes(folder: Path, dataset: Dataset) -> CodeFile | None:
    """Map the file of a version; None if there is none."""
    path, widths = folder / CODES, code_columns(dataset)
    if not path.is_file():
        return None
    raw = np.asarray(np.memmap(path, np.uint8, mode="r"))
    records = raw.size // sum(widths.values())
    return CodeFile(raw, widths, _starts(widths, records), records, dataset.finest_geography)


def _starts(widths: dict[str, int], records: int) -> dict[str, int]:
    ends = np.cumsum([width * records for width in widths.values()])
    return dict(zip(widths, [0, *ends[:-1].tolist()], strict=True))
