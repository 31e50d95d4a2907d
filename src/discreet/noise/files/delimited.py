"""Lines of numbers in files of other programs (semicolons, commas, tabs or blanks), and the check of a row's mean.

Source: the unbiasedness constraint of Fraser & Wooton (2005), as ptable applies it to every row.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.errors import BadNoiseTable
from discreet.noise.table import ArrangedRow, NoiseTable, make_table

#: The range of a double and of a 64-bit integer: whatever is beyond is damaged, and would take long to compute with.
MOST_DIGITS = 310
LARGEST_WHOLE = 2**62


class Line(NamedTuple):
    """One line of a file with its number, fields stripped of blanks and quotes."""

    number: int
    fields: tuple[str, ...]


def split_lines(text: str) -> list[Line]:
    """All lines that are not blank, split at the separator of the first one."""
    lines = [(n, line) for n, line in enumerate(text.lstrip("\ufeff").splitlines(), 1) if line.strip()]
    separator = next((mark for mark in ";,\t" if lines and mark in lines[0][1]), None)
    return [
        Line(n, tuple(each.strip().strip('"') for each in line.strip().split(separator))) for n, line in lines
    ]


def whole(text: str, line: int, name: str) -> int:
    """A whole number, also written as 3.0."""
    number = decimal(text, line, name)
    if number != number.to_integral_value():
        raise BadNoiseTable(f"Line {line}: {name} is {text}; it must be a whole number.")
    if abs(number) > LARGEST_WHOLE:
        raise BadNoiseTable(f"Line {line}: {name} is beyond ±2^62, which no count or noise can be.")
    return int(number)


def decimal(text: str, line: int, name: str) -> Decimal:
    """The exact number; a decimal comma is read as a point."""
    try:
        number = Decimal(text.replace(",", "."))
    except InvalidOperation:
        raise BadNoiseTable(f'Line {line}: {name} is "{text}"; it must be a number.') from None
    if not number.is_finite():
        raise BadNoiseTable(f'Line {line}: {name} is "{text}"; it must be a finite number.')
    if number and abs(number.adjusted()) > MOST_DIGITS:
        raise BadNoiseTable(
            f"Line {line}: {name} lies beyond 1e±{MOST_DIGITS}, which no number of a noise table does."
        )
    return number


def is_number(text: str) -> bool:
    """Whether a field is a number; separates a header from data."""
    try:
        return Decimal(text.replace(",", ".")).is_finite()
    except InvalidOperation:
        return False


#: Tables are designed to some eight decimals; a mean within this of zero is zero.
DESIGN_TOLERANCE = Fraction(1, 10**6)


def file_table(
    arranged: Sequence[ArrangedRow], *, repeats: int, biased: bool, parameters: Mapping[str, Any]
) -> NoiseTable:
    """The table of a file; unless `biased`, a mean may differ from zero by what rounding to the modulus explains."""
    modulus = arranged[0].thresholds[-1]
    table = make_table(modulus, arranged, repeats=repeats, family="file", parameters=parameters)
    for count, row in enumerate(() if biased else table.rows):
        rounding = Fraction(row.values[-1] - row.values[0], row.modulus)
        if abs(row.mean()) > DESIGN_TOLERANCE + rounding:
            raise BadNoiseTable(
                f"The row of count {count} has mean {float(row.mean()):.6g}; this format declares 0.",
                "Correct the row, or say that the table is biased on purpose (biased=True, --biased).",
            )
    return table
