"""Statistics of the columns of a file: number of values, numbers or text, lengths, frequencies. Confidential.

The records are first stored as text in a temporary database: any kind of file can be read several times, in bounded memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.model.variable import parse_missing
from discreet.records.coding import inside_sql, number_sql
from discreet.records.source import ColumnNotes, Source, quote_name

if TYPE_CHECKING:
    import duckdb


#: Words for a missing value in many files.
MISSING_WORDS = ("NA", "N/A", "#N/A", "NaN", "NULL", ".", "-", "--", "?", "missing")
#: Letters of Stata and SAS in place of a number.
MISSING_LETTERS = r"\.[a-z_]"
#: With more values than this, unique ones are not counted.
MOST_VALUES = 100_000
#: With more values than this, most of them unique, a column holds names or remarks, which identify people.
MOST_SINGLE = 20
TABLE = "staged"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The statistics of one column. Words for a missing value, declared or usual, do not count as values.

    `single` is whether most of many values occur in one record only, `total` has four decimals, `lengths` are those of the
    shortest and longest value, and `missing` has the words for a missing value.
    """

    name: str
    records: int
    filled: int
    distinct: int
    single: bool = False
    numeric: bool = False
    whole: bool = False
    dates: bool = False
    low: float = 0.0
    high: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    decimals: int = 0
    lengths: tuple[int, int] = (0, 0)
    missing: tuple[str, ...] = ()
    notes: ColumnNotes = field(default_factory=ColumnNotes)

    @property
    def unique(self) -> bool:
        """Whether every record has a different value."""
        return self.distinct == self.records > 1

    @property
    def gaps(self) -> bool:
        """Whether some record has no value."""
        return self.filled < self.records


class StagedColumns:
    """The records of a source, staged as text, with the statistics of their columns."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, source: Source) -> None:
        self._connection = connection
        self._comma = source.decimal_comma
        text = ", ".join(
            f"nullif(trim({quote_name(name)}::VARCHAR, e' \\t\\r\\n'), '') AS {quote_name(name)}"
            for name in source.columns
        )
        source.relation.project(text).create(TABLE)
        self.source = source
        self.records = int(self._one(f"SELECT count(*) FROM {TABLE}")[0])
        self.columns = [self._facts(name, source.notes.get(name, ColumnNotes())) for name in source.columns]

    def _one(self, sql: str, given: list[object] | None = None) -> tuple[Any, ...]:
        (found,) = self._connection.execute(sql, given or []).fetchall()
        return found

    def _facts(self, name: str, notes: ColumnNotes) -> ColumnFacts:
        column = quote_name(name)
        found = self._connection.execute(
            f"SELECT DISTINCT {column} FROM {TABLE} WHERE list_contains(?, lower({column})) OR {column} SIMILAR TO ?",
            [[word.lower() for word in MISSING_WORDS], MISSING_LETTERS],
        ).fetchall()
        absent = {*(word for (word,) in found), *notes.missing}
        kept = self._where(column, absent)
        number = f"TRY_CAST({number_sql(column, comma=self._comma)} AS DOUBLE)"
        fixed = f"TRY_CAST({number_sql(column, comma=self._comma)} AS DECIMAL(18, 4))::DOUBLE"
        sign = "," if self._comma else "."
        row = self._one(
            f"""SELECT count(*), approx_count_distinct({column}), count({number}),
            coalesce(bool_and({number} = floor({number})), false),
            count(CASE WHEN length({column}) = 10 THEN TRY_CAST({column} AS DATE) END),
            min({number}), max({number}), sum({fixed}), sum({fixed} * {fixed}),
            max(length(split_part({column}, '{sign}', 2))), min(length({column})), max(length({column}))
            FROM {TABLE} {kept}""",
            [list(absent)],
        )
        filled, about, numbers, whole, dates, *sizes = row
        low, high, total, squares = (float(size) if size is not None else 0.0 for size in sizes[:4])
        decimals, *lengths = (int(size) if size is not None else 0 for size in sizes[4:])
        count = int(filled)
        values = int(about)
        if not MOST_VALUES < values < 0.8 * self.records:  # exact, unless there are very many and no id
            sql = f"SELECT count(DISTINCT hash({column})) FROM {TABLE} {kept}"
            values = int(self._one(sql, [list(absent)])[0])
        once = f"SELECT count(*) FROM (SELECT {column} FROM {TABLE} GROUP BY 1 HAVING count(*) = 1)"
        single = MOST_SINGLE < values <= MOST_VALUES and 2 * int(self._one(once)[0]) > values
        numeric = bool(count) and numbers == count
        return ColumnFacts(
            name,
            self.records,
            count,
            values,
            single,
            numeric,
            numeric and bool(whole),
            bool(count) and dates == count and not numeric,
            low,
            high,
            total,
            squares,
            decimals if numeric else 0,
            (lengths[0], lengths[1]),
            tuple(sorted(absent)),
            notes,
        )

    def _where(self, column: str, absent: Iterable[str]) -> str:
        """Records with a value; the single missing values are a parameter."""
        ranges = parse_missing(list(absent), column).ranges
        inside = "".join(
            f" AND NOT coalesce({inside_sql(r, column, comma=self._comma)}, false)" for r in ranges
        )
        return f"WHERE {column} IS NOT NULL AND NOT list_contains(?, {column}){inside}"

    def values(self, column: ColumnFacts, parent: str | None = None) -> list[tuple[str, str | None]]:
        """The different values in natural order, each with its parent."""
        above = quote_name(parent) if parent else "NULL"
        name = quote_name(column.name)
        found = self._connection.execute(
            f"SELECT DISTINCT {name}, {above} FROM {TABLE} {self._where(name, column.missing)}",
            [list(column.missing)],
        ).fetchall()
        return sorted(found, key=lambda value: natural(value[0]))

    def nests(self, fine: ColumnFacts, coarse: ColumnFacts) -> bool:
        """Whether the finer column determines the coarser one in every record."""
        pair = f"hash(({quote_name(fine.name)}, {quote_name(coarse.name)}))"
        return bool(self._one(f"SELECT count(DISTINCT {pair}) FROM {TABLE}")[0] == fine.distinct)


def natural(text: str) -> list[tuple[int, int, str]]:
    """The sort key that puts "5-9" before "10-14": digits by value, the rest by letters.

    >>> sorted(["10-14", "5-9", "100+"], key=natural)
    ['5-9', '10-14', '100+']
    """
    if re.fullmatch(r"-[0-9]+", text):
        return [(0, int(text), "")]
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
