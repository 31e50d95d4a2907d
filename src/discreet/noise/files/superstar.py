"""SuperSTAR: a matrix of noise, one line for each of 256 cell keys and one column for each count.

Of C columns the first C - s serve the counts 1 to C - s; larger counts reuse the last s (SmallN, 10 by default): column =
C - s + (count mod s) + 1. Zero has no column and is never perturbed. The format declares no mean.

Source: Fraser & Wooton (2005) and SuperSTAR's perturbation module (PTableSize 30, SmallN 10); cell keys are
the four bytes of the key sum folded by XOR.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import Line, file_table, is_number, split_lines, whole
from discreet.noise.table import ArrangedRow, NoiseTable, table_for_export

SMALL_N = 10
USUAL_COLUMNS = 30
LARGEST_KEYS = 65_536


def recognise(text: str) -> bool:
    """Whether the file is a matrix of integers, perhaps below one line of names."""
    body = _body(text)
    same = {len(line.fields) for line in body}
    return len(body) > 1 and len(same) == 1 and all(field.lstrip("+-").isdigit() for field in body[0].fields)


def read(
    text: str, *, biased: bool = True, parameters: Mapping[str, Any], small_n: int = SMALL_N
) -> NoiseTable:
    """Read a SuperSTAR matrix; `small_n` is the server's SmallN."""
    body = _body(text)
    columns = len(body[0].fields) if body else 0
    short = next((line for line in body if len(line.fields) != columns), None)
    if not columns or short is not None:
        where = f"line {short.number} has {len(short.fields)} columns" if short else "the file is empty"
        raise BadNoiseTable(f"There is a gap: {where}; every cell key needs {columns} columns.")
    noise = [[whole(field, line.number, "the noise") for field in line.fields] for line in body]
    block = min(small_n, columns)
    by_column = list(zip(*noise, strict=True))
    served = (by_column[column(count, columns, block) - 1] for count in range(1, columns + 1))
    arranged = [ArrangedRow((0,), (len(body),)), *map(ArrangedRow.of_keys, served)]
    known = dict(parameters) | {"small_n": block, "columns": columns}
    return file_table(arranged, repeats=block, biased=biased, parameters=known)


def _body(text: str) -> list[Line]:
    lines = split_lines(text)
    return lines[1:] if lines and not all(map(is_number, lines[0].fields)) else lines


def column(count: int, columns: int, small_n: int) -> int:
    """The column, from 1, of a count.

    >>> [column(count, 30, 10) for count in (1, 20, 21, 29, 30, 31)]
    [1, 20, 22, 30, 21, 22]
    """
    return count if count <= columns - small_n else columns - small_n + count % small_n + 1


def write(table: NoiseTable, *, small_n: int = SMALL_N) -> str:
    """The matrix of a table, with at least 30 columns."""
    table = table_for_export(table, "SuperSTAR")
    if table.modulus > LARGEST_KEYS:
        raise BadNoiseTable(
            f"The key modulus is {table.modulus}; SuperSTAR lists every key, usually 256.",
            "Design the table with modulus 256.",
        )
    if small_n % table.repeats:
        raise BadNoiseTable(f"{table.repeats} rows repeat; SuperSTAR repeats {small_n} columns.")
    columns = max(USUAL_COLUMNS, len(table.rows) - table.repeats - 1 + small_n)
    served = {column(count, columns, small_n): count for count in range(1, columns + 1)}
    keys = np.arange(table.modulus, dtype=np.uint64)
    matrix = [table.noise(np.full(keys.shape, served[c]), keys) for c in range(1, columns + 1)]
    return "\n".join(",".join(map(str, line)) for line in np.stack(matrix, axis=1).tolist()) + "\n"
