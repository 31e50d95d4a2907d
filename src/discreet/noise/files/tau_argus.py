"""tau-Argus and SAS: `i;j;p;v;p_int_ub`, SAS with `p_int_lb` too.

ptable writes these with semicolons and pads columns with blanks. Keys are decimals below 1; the first upper bound above the
key, in file order, decides.

Source: R package ptable 1.0.0 (`pt_export`); tau-Argus manual, cell key method.
"""

from typing import Any

from discreet.noise.files.key_intervals import is_header, read_intervals, write_intervals
from discreet.noise.table import NoiseTable


def recognise(text: str) -> bool:
    """Whether the first line names interval columns between semicolons."""
    first = text.lstrip("\ufeff").lstrip().partition("\n")[0]
    return ";" in first and is_header(tuple(field.strip() for field in first.split(";")))


read = read_intervals


def write(table: NoiseTable) -> str:
    """The table for tau-Argus, columns padded as ptable pads them."""
    return _text(["i;j;p;v;p_int_ub"], [(i, j, p, v, ub) for i, j, p, v, _, ub in write_intervals(table)])


def write_sas(table: NoiseTable) -> str:
    """The table for SAS: the lower bounds too."""
    return _text(["i;j;p;v;p_int_lb;p_int_ub"], list(write_intervals(table)))


def _text(lines: list[str], rows: list[tuple[Any, ...]]) -> str:
    widths = [max(len(str(field)) for field in column) for column in zip(*rows, strict=True)]
    padded = (";".join(str(f).rjust(w) for f, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join([*lines, *padded]) + "\n"
