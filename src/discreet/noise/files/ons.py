"""ONS: `pcv,ckey,pvalue`, one line for each count from 1 to 750 and each cell key from 0.

Counts above 750 reuse the rows 501 to 750: pcv = ((count - 1) mod 250) + 501, a repeating block of 250 rows. Zero has no row
and is never perturbed. The format declares no mean: the 10-5 rounding table is biased on purpose.

Source: Python package cell-key-perturbation 3.1.0; record keys are integers 0..255 or 0..4095, summed and
reduced modulo the number of cell keys.
"""

from collections.abc import Mapping
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import Line, file_table, split_lines, whole
from discreet.noise.table import ArrangedRow, NoiseTable, table_for_export

Integers = NDArray[np.int64]

COLUMNS = ("pcv", "ckey", "pvalue")
LAST_ROW = 750
BLOCK = 250
LARGEST_KEYS = 65_536


def recognise(text: str) -> bool:
    """Whether the first line has the three ONS columns, in any order and perhaps with an index column."""
    lines = split_lines(text.lstrip()[:200])
    return bool(lines) and set(COLUMNS) <= {field.lower() for field in lines[0].fields}


def read(text: str, *, biased: bool = True, parameters: Mapping[str, Any]) -> NoiseTable:
    """Read an ONS table; every count needs every cell key once."""
    names = [field.lower() for field in split_lines(text.lstrip()[:200])[0].fields]
    counts, keys, noise = _columns(text, [names.index(column) for column in COLUMNS])
    modulus = int(keys.max(initial=0)) + 1
    if modulus > LARGEST_KEYS or int(keys.min(initial=0)) < 0:
        raise BadNoiseTable(
            f"Cell keys go from {keys.min()} to {modulus - 1}; this format lists keys from 0, "
            f"{LARGEST_KEYS} at most."
        )
    outside = counts[(counts < 0) | (counts > LAST_ROW)]
    if outside.size:
        raise BadNoiseTable(
            f"Count {outside[0]} has a row that ONS never uses: rows go from 0 to {LAST_ROW}."
        )
    times = np.bincount(counts * modulus + keys, minlength=(LAST_ROW + 1) * modulus).reshape(-1, modulus)
    _check_rows(times, first=0 if times[0].any() else 1)
    rows = np.zeros((LAST_ROW + 1, modulus), dtype=np.int64)
    rows[counts, keys] = noise
    arranged = [ArrangedRow.of_keys(row.tolist()) for row in rows]
    return file_table(arranged, repeats=BLOCK, biased=biased, parameters=parameters)


def write(table: NoiseTable) -> str:
    """The table in ONS format: counts 1 to 750, every cell key."""
    table = table_for_export(table, "ONS")
    if table.modulus > LARGEST_KEYS:
        raise BadNoiseTable(
            f"The key modulus is {table.modulus}; ONS lists every key, {LARGEST_KEYS} at most.",
            "Design the table with modulus 256 or 4096.",
        )
    if BLOCK % table.repeats or len(table.rows) - table.repeats > LAST_ROW - BLOCK + 1:
        raise BadNoiseTable(
            f"{table.repeats} of {len(table.rows)} rows repeat; ONS repeats 250 rows from count 501 on, "
            "so the block must divide 250 and begin by 501."
        )
    keys = np.arange(table.modulus, dtype=np.uint64)
    noise = (table.noise(np.full(keys.shape, count), keys).tolist() for count in range(1, LAST_ROW + 1))
    lines = (f"{n},{key},{value}" for n, row in enumerate(noise, 1) for key, value in enumerate(row))
    return "\n".join(["pcv,ckey,pvalue", *lines]) + "\n"


def _columns(text: str, places: list[int]) -> tuple[Integers, Integers, Integers]:
    """Counts, keys and noise; on a bad field the lines are read again one by one, to name it."""
    if not text.strip().partition("\n")[2]:
        raise BadNoiseTable("The file has a header and no rows.")
    try:
        body = np.loadtxt(StringIO(text), np.int64, delimiter=",", skiprows=1, usecols=places, ndmin=2)
    except ValueError:
        lines = split_lines(text)[1:]
        body = np.array([_numbers(line, places) for line in lines], dtype=np.int64).reshape(-1, 3)
    return body[:, 0], body[:, 1], body[:, 2]


def _numbers(line: Line, places: list[int]) -> list[int]:
    if max(places) >= len(line.fields):
        raise BadNoiseTable(
            f"Line {line.number} has {len(line.fields)} fields; pcv, ckey and pvalue are needed."
        )
    return [whole(line.fields[p], line.number, name) for p, name in zip(places, COLUMNS, strict=True)]


def _check_rows(times: Integers, first: int) -> None:
    """`times` has the number of lines for each count and key."""
    twice = np.argwhere(times > 1)
    if twice.size:
        raise BadNoiseTable(f"The row of count {twice[0][0]} lists cell key {twice[0][1]} twice.")
    empty = np.flatnonzero(~times[first:].any(axis=1)) + first
    if empty.size:
        raise BadNoiseTable(
            f"There is a gap: no row for count {empty[0]}. ONS would leave such counts unperturbed.",
            f"The format needs the counts 1 to {LAST_ROW}; larger ones reuse the last {BLOCK}.",
        )
    absent = np.argwhere(times[first:] == 0)
    if absent.size:
        raise BadNoiseTable(
            f"There is a gap: the row of count {absent[0][0] + first} has no cell key {absent[0][1]}.",
            f"Every count needs the cell keys 0 to {times.shape[1] - 1}.",
        )
