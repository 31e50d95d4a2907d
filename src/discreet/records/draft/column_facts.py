"""Statistics of the columns of a file: number of values, numbers or text, lengths, frequencies. Confidential.

The records are first stored as text in a temporary database: any kind of file can be read several times, in bounded memory.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from discreet.model.variable import parse_missing
from discreet.records.coding import inside_sql, number_sql
from discreet.records.source import ColumnNotes, Source, quote_name

#: Words for a missing value in many files.
MISSING_WORDS = ("NA", "N/A", "#N/A", "NaN", "NULL", ".", "-", "--", "?", "missing")
_NO_ANSWER = (
    r"(ref(us(ed|al))?|(i )?(do not|don['’]?t) know|dk|no (answer|response)|not (stated|answered|known|reported)|unknown"
    r"|missing|na|prefer not to (say|answer)|keine angabe|k\. ?a\.|wei(ß|ss) nicht|verweigert|no (sabe|contesta)"
    r"|ne sait pas)"
)
#: Values and labels for no answer.
NO_ANSWER = rf"{_NO_ANSWER}([ ,;/]+(or )?{_NO_ANSWER})*\.?"
#: Negative codes for no answer: one of the first kind, then the second counts, too.
USUAL_CODE, OTHER_CODE = re.compile(r"-(9+[5-8]?|8+|7+|6{2,})(\.0+)?"), re.compile(r"-[1-6](\.0+)?")
#: With more different negative values they are numbers.
MOST_CODES = 6
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

    `kind` is what identifies people in the values, if anything; `single` is whether most of many values occur in one record
    only, `total` has four decimals, `lengths` are those of the shortest and longest value, and `missing` has the words for a
    missing value.
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
    kind: str = ""
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
        self.records = int(self._number(f"SELECT count(*) FROM {TABLE}"))
        self.columns = [self._facts(name, source.notes.get(name, ColumnNotes())) for name in source.columns]

    def _rows(self, sql: str, *given: object) -> list[Any]:
        return self._connection.execute(sql, given).fetchall()

    def _number(self, sql: str, *given: object) -> Any:
        ((found,),) = self._rows(sql, *given)
        return found

    def _facts(self, name: str, notes: ColumnNotes) -> ColumnFacts:
        column = quote_name(name)
        words = f"""SELECT DISTINCT {column} FROM {TABLE} WHERE list_contains(?, lower({column}))
            OR {column} SIMILAR TO ? OR regexp_full_match(lower({column}), ?)"""
        found = self._rows(words, [word.lower() for word in MISSING_WORDS], MISSING_LETTERS, NO_ANSWER)
        labels = notes.labels.items()
        labelled = (value for value, label in labels if re.fullmatch(NO_ANSWER, label.strip().lower()))
        absent = {*(word for (word,) in found), *notes.missing, *labelled}
        codes = f"SELECT DISTINCT {column} FROM {TABLE} WHERE {column} SIMILAR TO '-[0-9.,]+' LIMIT ?"
        negative = {value for (value,) in self._rows(codes, MOST_CODES + len(absent) + 1)}
        absent |= codes_of_no_answer(negative - absent)
        kept = self._where(column, absent)
        number = f"TRY_CAST({number_sql(column, comma=self._comma)} AS DOUBLE)"
        fixed = f"TRY_CAST({number_sql(column, comma=self._comma)} AS DECIMAL(18, 4))::DOUBLE"
        sign = "," if self._comma else "."
        ((count, values, numbers, whole, dates, *sizes),) = self._rows(
            f"""SELECT count(*), approx_count_distinct({column}), count({number}),
            coalesce(bool_and({number} = floor({number})), false),
            count(CASE WHEN length({column}) = 10 THEN TRY_CAST({column} AS DATE) END),
            min({number}), max({number}), sum({fixed}), sum({fixed} * {fixed}),
            max(length(split_part({column}, '{sign}', 2))), min(length({column})), max(length({column}))
            FROM {TABLE} {kept}""",
            list(absent),
        )
        low, high, total, squares = (float(size or 0) for size in sizes[:4])
        decimals, shortest, longest = (int(size or 0) for size in sizes[4:])
        if not MOST_VALUES < values < 0.8 * self.records:  # exact, unless there are very many and no id
            values = int(
                self._number(f"SELECT count(DISTINCT hash({column})) FROM {TABLE} {kept}", list(absent))
            )
        once = f"SELECT count(*) FROM (SELECT {column} FROM {TABLE} GROUP BY 1 HAVING count(*) = 1)"
        single = MOST_SINGLE < values <= MOST_VALUES and 2 * int(self._number(once)) > values
        numeric = bool(count) and numbers == count
        some = f"SELECT DISTINCT {column} FROM {TABLE} {kept} LIMIT {MOST_LOOKED_AT}"
        texts = [] if numeric else self._rows(some, list(absent))
        return ColumnFacts(
            name, self.records, count, values, single, numeric,
            whole=numeric and whole, dates=bool(count) and dates == count and not numeric,
            low=low, high=high, total=total, squares=squares, decimals=decimals if numeric else 0,
            lengths=(shortest, longest), missing=tuple(sorted(absent)), notes=notes,
            kind=kind_of_text([text for (text,) in texts]),
        )  # fmt: skip

    def _where(self, column: str, absent: Iterable[str]) -> str:
        """Records with a value; the single missing values are a parameter."""
        ranges = parse_missing(list(absent), column).ranges
        inside = "".join(
            f" AND NOT coalesce({inside_sql(r, column, comma=self._comma)}, false)" for r in ranges
        )
        return f"WHERE {column} IS NOT NULL AND NOT list_contains(?, {column}){inside}"

    def values(self, column: ColumnFacts, parent: str | None = None) -> list[tuple[str, str | None, int]]:
        """The different values in natural order, each with its parent and the number of its records."""
        name, above = quote_name(column.name), quote_name(parent) if parent else "NULL"
        kept = self._where(name, column.missing)
        found = self._rows(
            f"SELECT {name}, {above}, count(*) FROM {TABLE} {kept} GROUP BY ALL", list(column.missing)
        )
        return sorted(found, key=lambda value: natural(value[0]))

    def correlation(self, one: ColumnFacts, other: ColumnFacts) -> float:
        """The correlation of two numeric columns; 0 if one of them is constant."""
        numbers = (
            f"TRY_CAST({number_sql(quote_name(column.name), comma=self._comma)} AS DOUBLE)"
            for column in (one, other)
        )
        found = self._number(f"SELECT corr({', '.join(numbers)}) FROM {TABLE}")
        return float(found) if found is not None and not math.isnan(found) else 0.0

    def nests(self, fine: ColumnFacts, coarse: ColumnFacts) -> bool:
        """Whether the finer column determines the coarser one in every record."""
        pair = f"hash(({quote_name(fine.name)}, {quote_name(coarse.name)}))"
        return bool(self._number(f"SELECT count(DISTINCT {pair}) FROM {TABLE}") == fine.distinct)


def codes_of_no_answer(negative: set[str]) -> set[str]:
    """Those of a column's negative values that stand for no answer: all, if they are few and usual ones.

    >>> sorted(codes_of_no_answer({"-9", "-1"})), codes_of_no_answer({"-2", "-1"}), codes_of_no_answer({"-9", "-12"})
    (['-1', '-9'], set(), set())
    """
    usual = {value for value in negative if USUAL_CODE.fullmatch(value)}
    known = all(value in usual or OTHER_CODE.fullmatch(value) for value in negative)
    return negative if usual and known and len(negative) <= MOST_CODES else set()


#: How many different texts of a column are looked at, and the share of them that says what they are.
MOST_LOOKED_AT = 1000
MOST_OF_THEM = 0.8
#: What identifies people, by the form of the texts.
TITLED = "names of people with titles"
_NAME = r"[^\W\d_a-z][^\W\d_]+([-'][^\W\d_]+)?"
TEXT_KINDS = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.\w+"),
    "dates": re.compile(r"\d{1,2}[./-]\d{1,2}[./-](19|20)?\d{2}|(19|20)\d\d[./]\d{1,2}[./]\d{1,2}"),
    "national ids": re.compile(r"\d{3}-\d{2}-\d{4}|[A-Z]{2} ?(\d\d ?){3}[A-D]|[A-Z]{2}\d{2}[A-Z0-9 ]{11,30}"),
    "telephone numbers": re.compile(r"\+[\d\s()/.-]{7,20}|\(?0[\d\s()/.-]{8,20}"),
    "addresses": re.compile(
        r"\d+\w?,? .*\b(street|st|road|rd|avenue|ave|lane|drive)\b.*|.*(stra(ß|ss)e|str\.|gasse|weg) \d+.*"
        r"|(\d+,? )?(rue|calle|via) .*|(https?://|www\.)\S+|(\d{1,3}\.){3}\d{1,3}",
        re.IGNORECASE,
    ),
    TITLED: re.compile(rf"(Dr|Prof|Mr|Mrs|Ms|Herr|Frau|Mme|Sra?)\.? ([A-Z]\.? )?{_NAME}( {_NAME})?"),
    "names of people": re.compile(rf"{_NAME},? ([A-Z]\.? )?{_NAME}"),
    "sentences": re.compile(r"\S+(\s+\S+){5,}"),
}


def kind_of_text(texts: Sequence[str]) -> str:
    """What identifies people in the texts of a column; empty if nothing does by its form.

    >>> kind_of_text(["ann@example.org", "bob@example.org"]), kind_of_text(["full time", "part time"])
    ('e-mail addresses', '')
    """
    most = max(1.0, MOST_OF_THEM * len(texts))
    found = (kind for kind, form in TEXT_KINDS.items() if sum(map(bool, map(form.fullmatch, texts))) >= most)
    return next(found, "")


def natural(text: str) -> list[tuple[int, int, str]]:
    """The sort key that puts "5-9" before "10-14": digits by value, the rest by letters.

    >>> sorted(["10-14", "5-9", "100+"], key=natural)
    ['5-9', '10-14', '100+']
    """
    if re.fullmatch(r"-[0-9]+", text):
        return [(0, int(text), "")]
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
