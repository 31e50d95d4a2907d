"""Intervals of decimal keys: one line for each count and value, as in ptable, tau-Argus, SAS and cellKey.

A decimal cell key u in [0, 1) takes the first line of its count, in file order, with u < upper bound. The bounds become
integers over 10^8 (more if the file has more decimals), and a decimal key of eight digits becomes key x 10^8: the same
intervals, exactly. The largest count of the file serves all larger ones.

Source: R packages ptable 1.0.0 and cellKey 1.0.3, whose lines have i (count), j (target), p, v = j - i and
the interval (lb, ub); ptable before 0.3 called the bounds kum_p_u, kum_p_o and the value diff.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import BadNoiseTable
from discreet.noise.files.delimited import Line, check_unbiased, decimal, is_number, split_lines, whole
from discreet.noise.table import ArrangedRow, NoiseTable, make_table, rows_by_key, table_for_export

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
    decimals = max(LEAST_DECIMALS, *(_decimals(each.ub) for row in rows.values() for each in row))
    if decimals > MOST_DECIMALS:
        raise BadNoiseTable(f"Upper bounds have {decimals} decimals; at most {MOST_DECIMALS} fit a key.")
    modulus = 10**decimals
    arranged = [_row(count, rows.get(count), modulus) for count in range(max(rows) + 1)]
    table = make_table(modulus, arranged, repeats=1, family="file", parameters=parameters)
    if not biased:
        check_unbiased(table.rows)
    return table


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
        low = 0
        for value, high in zip(row.values, row.thresholds, strict=True):
            p, lb, ub = (_exact(number, table.modulus, decimals) for number in (high - low, low, high))
            yield count, count + value, p, value, lb, ub
            low = high


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
    expected = next(count for count in itertools.count(1) if count not in rows)
    if expected <= max(rows):
        raise BadNoiseTable(f"There is a gap: no row for count {expected}, though count {max(rows)} has one.")
    return rows


def _row(count: int, intervals: list[Interval] | None, modulus: int) -> ArrangedRow:
    """The intervals of one count as integers; count 0 without a line stays 0."""
    if intervals is None:
        return ArrangedRow((0,), (modulus,))
    kept: list[tuple[int, int]] = []
    reached = 0
    for each in intervals:
        high = int(each.ub * modulus)
        _check_interval(each, reached, high, modulus)
        if high > reached:
            kept.append((each.value, high))
        reached = high
    if reached != modulus:
        raise BadNoiseTable(
            f"The row of count {count} ends at {Decimal(reached) / modulus}: it does not add up to 1."
        )
    return ArrangedRow(tuple(value for value, _ in kept), tuple(high for _, high in kept))


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


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _exact(number: int, modulus: int, decimals: int) -> str:
    scaled = number * 10**decimals // modulus
    return f"{scaled // 10**decimals}.{scaled % 10**decimals:0{decimals}d}"
