"""Intervals of decimal keys: one line for each count and value, as in ptable, tau-Argus, SAS and cellKey.

A decimal cell key u in [0, 1) takes the first line of its count, in file order, with u < upper bound. The bounds become
integers over 10^8 (more if the file has more decimals), and a decimal key of eight digits becomes key x 10^8: the same
intervals, exactly. The largest count of the file serves all larger ones.

Source: R packages ptable 1.0.0 and cellKey 1.0.3, whose lines have i (count), j (target), p, v = j - i and
the interval (lb, ub); ptable before 0.3 called the bounds kum_p_u, kum_p_o and the value diff.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import Line, decimal, file_table, is_number, split_lines, whole
from discreet.noise.table import ArrangedRow, NoiseTable, rows_by_key, table_for_export

LEAST_DECIMALS = 8
MOST_DECIMALS = 19
#: Programs print probabilities with eight digits; bounds decide, p must only agree with them.
P_TOLERANCE = Fraction(1, 10**6)

SYNONYMS = {
    "p_int_ub": "ub", "p_ij_ub": "ub", "kum_p_o": "ub", "p_ub": "ub", "ub": "ub",
    "p_int_lb": "lb", "p_ij_lb": "lb", "kum_p_u": "lb", "p_lb": "lb", "lb": "lb",
    "v": "v", "diff": "v", "i": "i", "j": "j", "p": "p", "p_ij": "p", "type": "type",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """One line: the value of the keys below an upper bound, for one count."""

    line: int
    count: int
    value: int
    p: Decimal | None
    lb: Decimal | None
    ub: Decimal


def is_header(fields: tuple[str, ...]) -> bool:
    """Whether a line names the columns of this format."""
    names = {SYNONYMS.get(field.lower()) for field in fields}
    return {"i", "v", "ub"} <= names


def read_intervals(text: str, *, biased: bool, parameters: Mapping[str, Any]) -> NoiseTable:
    """Read a table of intervals; ambiguous ones are refused."""
    rows = _by_count([_interval(line, names) for line, names in _lines_with_names(split_lines(text))])
    bounds = (each.ub.normalize().as_tuple() for row in rows.values() for each in row)
    decimals = max(LEAST_DECIMALS, *(-int(bound.exponent) for bound in bounds))
    if decimals > MOST_DECIMALS:
        raise BadNoiseTable(f"Upper bounds have {decimals} decimals; at most {MOST_DECIMALS} fit a key.")
    arranged = [_row(count, rows.get(count), 10**decimals) for count in range(max(rows) + 1)]
    return file_table(arranged, repeats=1, biased=biased, parameters=parameters)


def write_intervals(table: NoiseTable) -> Iterable[tuple[int, int, str, int, str, str]]:
    """(i, j, p, v, lb, ub) of every interval in key order, in exact decimals.

    tau-Argus and cellKey look up counts from 1 to the largest i of the file, which serves all larger ones too: a one-row
    table gets a row for count 1, and zero stays.
    """
    table = table_for_export(table, "a program that reads this format")
    # The decimals that express every share of a modulus exactly, at most 19.
    found = next((d for d in range(MOST_DECIMALS + 1) if 10**d % table.modulus == 0), None)
    if found is None:
        raise BadNoiseTable(
            f"Shares of the key modulus {table.modulus} have no exact decimals that fit a key.",
            "Design the table with modulus 100000000 (10^8), or write our own JSON.",
        )
    decimals = max(found, LEAST_DECIMALS)
    if table.repeats > 1:
        raise BadNoiseTable(
            f"{table.repeats} rows repeat for large counts; this format reuses the last row only.",
            "Write the ONS format or our own JSON.",
        )
    for count, row in enumerate(rows_by_key(table)):
        for value, (low, high) in zip(row.values, pairwise((0, *row.thresholds)), strict=True):
            p, lb, ub = (_exact(number, table.modulus, decimals) for number in (high - low, low, high))
            yield count, count + value, p, value, lb, ub


def _lines_with_names(lines: list[Line]) -> Iterable[tuple[Line, tuple[str, ...]]]:
    if not lines:
        raise BadNoiseTable("The file is empty.")
    names: tuple[str, ...] = ("i", "j", "p", "v", "lb", "ub")
    if not all(is_number(field) for field in lines[0].fields):
        names = tuple(SYNONYMS.get(field.lower(), field) for field in lines[0].fields)
        lines = lines[1:]
    for line in lines:
        if len(line.fields) != len(names):
            raise BadNoiseTable(
                f"Line {line.number} has {len(line.fields)} fields; the columns are {len(names)}."
            )
        yield line, names


def _interval(line: Line, names: tuple[str, ...]) -> Interval:
    fields = dict(zip(names, line.fields, strict=True))
    if fields.get("type", "all") != "all":
        raise BadNoiseTable(
            f'Line {line.number} is for magnitudes (type "{fields["type"]}"), not for counts.'
        )
    count, value = whole(fields["i"], line.number, "i"), whole(fields["v"], line.number, "v")
    if count < 0:
        raise BadNoiseTable(f"Line {line.number}: count {count} is below zero.")
    if "j" in fields and whole(fields["j"], line.number, "j") != count + value:
        raise BadNoiseTable(
            f"The row of count {count} says j = {fields['j']} and v = {value}; j must be i + v."
        )
    p, lb = (decimal(fields[name], line.number, name) if name in fields else None for name in ("p", "lb"))
    return Interval(line.number, count, value, p, lb, decimal(fields["ub"], line.number, "the upper bound"))


def _by_count(intervals: list[Interval]) -> dict[int, list[Interval]]:
    rows: dict[int, list[Interval]] = {}
    for each in intervals:
        rows.setdefault(each.count, []).append(each)
    if not rows or max(rows) == 0:
        raise BadNoiseTable("The file has no row for a count above 0.")
    expected = next((count for count in range(1, max(rows)) if count not in rows), None)
    if expected is not None:
        raise BadNoiseTable(f"There is a gap: no row for count {expected}, though count {max(rows)} has one.")
    return rows


def _row(count: int, intervals: list[Interval] | None, modulus: int) -> ArrangedRow:
    """The intervals of one count as integers; count 0 without a line stays 0."""
    if intervals is None:
        return ArrangedRow((0,), (modulus,))
    bounds = [0, *(int(each.ub * modulus) for each in intervals)]
    for each, (reached, high) in zip(intervals, pairwise(bounds), strict=True):
        _check_interval(each, reached, high, modulus)
    if bounds[-1] != modulus:
        raise BadNoiseTable(
            f"The row of count {count} ends at {Decimal(bounds[-1]) / modulus}: it does not add up to 1."
        )
    kept = [place for place, (low, high) in enumerate(pairwise(bounds)) if high > low]
    return ArrangedRow(tuple(intervals[j].value for j in kept), tuple(bounds[j + 1] for j in kept))


def _check_interval(each: Interval, reached: int, high: int, modulus: int) -> None:
    start = f"The row of count {each.count} (line {each.line}, v = {each.value})"
    if each.lb is not None and abs(Fraction(each.lb) * modulus - reached) >= 1:
        kind = "leaves a gap" if each.lb * modulus > reached else "overlaps the interval before it"
        raise BadNoiseTable(f"{start} {kind}: it begins at {each.lb}, not at {Decimal(reached) / modulus}.")
    if high < reached or (high == reached and (each.p is None or each.p != 0)):
        raise BadNoiseTable(
            f"{start} is a duplicate or overlaps the interval before it: its upper bound is {each.ub}, "
            f"the one before is {Decimal(reached) / modulus}.",
            "The order of the lines decides; upper bounds must rise within a count.",
        )
    if each.p is not None and abs(Fraction(each.p) - Fraction(high - reached, modulus)) > P_TOLERANCE:
        raise BadNoiseTable(
            f"{start} says p = {each.p}; its interval has {Decimal(high - reached) / modulus}."
        )


def _exact(number: int, modulus: int, decimals: int) -> str:
    scaled = number * 10**decimals // modulus
    return f"{scaled // 10**decimals}.{scaled % 10**decimals:0{decimals}d}"
