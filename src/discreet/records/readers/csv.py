"""CSV files in any dialect, packed or not; all columns are text: a code "01" stays "01".

DuckDB reads them, and is told the dialect: what it would guess from some lines could change with the next file. A file
that is not in UTF-8, or whose lines end in different ways, is first copied to the folder aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.model.file_section import FileOptions
from discreet.records.csv_dialect import BLOCK, find_dialect, open_text
from discreet.records.csv_lines import record_lines, torn_line
from discreet.records.readers import Reader, plain_path
from discreet.records.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from discreet.records.csv_dialect import Dialect

PLAIN = (".csv", ".tsv", ".txt")
PACKED = (".gz", ".zst", ".zstd")
#: How many times longer a packed file may be; only bars depend on it.
PACKED_RATIO = 6


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, aside: Path) -> Source:
    dialect = find_dialect(path, options)
    copied = dialect.encoding.replace("_", "-").lower() not in {"utf-8", "utf8", "ascii"} or dialect.mixed
    relation = connection.read_csv(
        str(_copy(path, dialect, aside)) if copied else plain_path(path, aside),
        auto_detect=False,
        header=True,
        skiprows=dialect.skip,
        columns=dict.fromkeys(dialect.names, "VARCHAR"),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        escapechar=dialect.escape,
    )
    packed = path.suffix.lower() in PACKED
    return Source(
        relation,
        int(path.stat().st_size * (PACKED_RATIO if packed else 1) / dialect.width),
        path.name,
        found=_found(dialect),
        unit="line",
        places=lambda numbers: record_lines(path, dialect, numbers),
        torn=lambda: torn_line(path, dialect),
    )


def _found(dialect: Dialect) -> FileOptions:
    """What a draft writes down: whatever is not usual."""
    pairs = ((dialect.encoding, "utf-8"), (dialect.delimiter, ","), (dialect.decimal, "."))
    return FileOptions(*("" if found == usual else found for found, usual in pairs))


def _copy(path: Path, dialect: Dialect, aside: Path) -> Path:
    """The file in UTF-8 with one kind of line ends."""
    place = aside / "source.csv"
    with open_text(path, dialect.encoding) as text, place.open("w", encoding="utf-8", newline="") as copy:
        carried = ""
        while block := text.read(BLOCK):
            if "\ufffd" in block and (torn := torn_line(path, dialect)):
                raise torn
            whole = carried + block
            carried = "\r" if whole.endswith("\r") else ""
            copy.write(whole.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n"))
        copy.write("\n" if carried else "")
    place.chmod(0o600)
    return place


READER = Reader("CSV", (*PLAIN, *(plain + packed for plain in PLAIN for packed in PACKED)), _open)
