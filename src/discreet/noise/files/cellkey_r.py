"""R cellKey: the columns `i, j, p, v, lb, ub` of a ptable object, between commas, tabs or blanks.

Older tables call them `i, j, p, kum_p_u, kum_p_o, diff`; some programs write the six columns with no header. Record keys are
decimals with eight digits: as integers over 10^8 their sums are exact.

Source: R packages cellKey 1.0.3 and ptable 1.0.0.
"""

from collections.abc import Iterable
from decimal import Decimal

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import is_number, split_lines
from discreet.noise.files.key_intervals import is_header, read_intervals, write_intervals
from discreet.noise.table import NoiseTable


def recognise(text: str) -> bool:
    """Whether the first line names interval columns, or the lines are six numbers with bounds in 0..1."""
    lines = split_lines(text)
    if not lines:
        return False
    first = lines[0].fields
    if is_header(first):
        return True
    return len(first) == 6 and all(map(is_number, first)) and all(0 <= Decimal(f) <= 1 for f in first[4:])


read = read_intervals


def write(table: NoiseTable) -> str:
    """A CSV with the columns of a ptable object."""
    rows = (",".join(map(str, row)) for row in write_intervals(table))
    return "\n".join(["i,j,p,v,lb,ub", *rows]) + "\n"


def decimal_cell_key(record_keys: Iterable[str | float | Decimal], modulus: int) -> int:
    """The cell key of decimal record keys: the fraction of their sum, as an integer below the modulus.

    >>> decimal_cell_key(["0.58031040", "0.93755564"], 10**8)
    51786604
    """
    total = sum((Decimal(str(key)) for key in record_keys), Decimal(0)) * modulus
    if total != total.to_integral_value():
        raise BadNoiseTable(f"The record keys have more decimals than the key modulus {modulus} has digits.")
    return int(total) % modulus
