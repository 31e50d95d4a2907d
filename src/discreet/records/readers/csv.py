"""CSV files in any dialect, compressed or not; all columns are text: a code "01" stays "01".

Options of `[file]` are used; the rest is detected. The encoding comes from a byte-order mark or from reading all bytes:
UTF-8 if they are valid. Otherwise a file whose non-ASCII letters stand alone is Western (cp1252) or, if cp1252 would put
signs between letters, Central European (cp1250); any other encoding must be named. The separator is that of the header
line: detection from all lines would take a torn line for a dialect.

DuckDB gets the dialect as options, since its own detection from a sample could change with the next file. A file that is
not in UTF-8, or that mixes line ends, is first copied. Error messages come from a slow second reading by Python, which
knows line numbers.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import duckdb
import pyarrow as pa

from discreet.errors import BadData
from discreet.model import limits
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, plain_path, refuse_wide, unique_names

SAMPLE = limits.LONGEST_HEADER
BLOCK = 1 << 20
PACKED = (".gz", ".zst", ".zstd")
#: The errors of decompression.
PACK_ERRORS = (EOFError, OSError, zlib.error)
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LETTERS_ALONE = re.compile(r"[^\x00-\x7f]{4,}")
_SIGN_IN_WORD = re.compile(r"[a-z][£¥¦¼³¹º¿¯ª¾][a-z]", re.IGNORECASE)
_COMMA_NUMBER, _POINT_NUMBER = re.compile(r"-?\d+,\d+\Z"), re.compile(r"-?\d+\.\d+\Z")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The dialect of a CSV file.

    `escape` precedes a quote within quotes: the quote itself, or a backslash. `skip` counts lines before the header (blank
    ones, and Excel's `sep=;`). `mixed` is whether line ends differ, `width` the characters of an average record.
    """

    encoding: str
    delimiter: str
    quote: str
    escape: str
    decimal: str
    skip: int
    names: tuple[str, ...]
    mixed: bool
    width: float

    def rows(self, text: IO[str], *, strict: bool = True) -> Any:
        """The rows of an open file, header included."""
        for _ in range(self.skip):
            text.readline()
        return csv.reader(
            text,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=self.escape == self.quote,
            escapechar=None if self.escape == self.quote else self.escape,
            strict=strict,
        )


def open_bytes(path: Path) -> IO[bytes]:
    """The decompressed bytes of a file."""
    if path.suffix.lower() == PACKED[0]:
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if path.suffix.lower() in PACKED:
        return cast("IO[bytes]", pa.input_stream(str(path), compression="zstd"))
    return path.open("rb")


def truncated_archive(path: Path) -> BadData:
    """The error of a compressed file that ends early."""
    line = 0
    with suppress(*PACK_ERRORS), open_bytes(path) as file:
        for line, _ in enumerate(file, 1):  # noqa: B007 - the last one counts
            pass
    if not line:
        return BadData(
            f"{path.name} cannot be unpacked.", "Check that it is complete and is what its ending says."
        )
    return BadData(f"The packed file {path.name} ends after line {line:,}: it is torn.", "Copy it again.")


def open_text(path: Path, encoding: str) -> IO[str]:
    """The decompressed and decoded text of a file; invalid bytes become replacement characters."""
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(open_bytes(path), name, errors="replace", newline="")


def find_dialect(path: Path, options: FileOptions) -> Dialect:
    """The dialect of a file."""
    try:
        encoding = _encoding(path, options.encoding)
    except PACK_ERRORS:
        if path.suffix.lower() not in PACKED:
            raise
        raise truncated_archive(path) from None
    with open_text(path, encoding) as text:
        sample = text.read(SAMPLE)
    if "\0" in sample:
        raise BadData(
            f"{path.name} has zero bytes: it is no text, or in UTF-16 without its mark.",
            'Name its encoding: --encoding utf-16-le, or [file] encoding = "utf-16-le".',
        )
    if "\ufffd" in sample and encoding != "utf-8":
        raise BadData(
            f"{path.name} has characters that are not {encoding}.",
            "Name the encoding that it has: --encoding, or [file] encoding.",
        )
    if not sample.strip():
        raise BadData(f"{path.name} is empty.", "Check that it is the right file.")
    first = re.match(r"sep=(.)\r?\n", sample, re.IGNORECASE)
    before = re.match(r"(sep=.\r?\n)?(\s*(\r\n|\n|\r))?", sample, re.IGNORECASE)
    lead = before[0] if before else ""
    skip, body = len(re.findall(r"\r\n|\n|\r", lead)), sample[len(lead) :]
    named = options.delimiter or (first[1] if first else "")
    header = body.split("\n", 1)[0].strip()
    if len(sample) == SAMPLE and not re.search(r"[\r\n]", body):
        raise BadData(
            f"The first line of {path.name} has more than {SAMPLE:,} characters.",
            "Give a file whose first line names the columns.",
        )
    quote = "'" if re.match(r"'[^']*'([,;\t|]'[^']*')*\Z", header) else '"'  # single quotes around all names
    escape = "\\" if re.search(rf"\\{quote}", body) and not re.search(rf"{quote}{quote}\w", body) else quote
    outside = re.sub(rf"{quote}[^{quote}]*{quote}", "", body)
    line = outside.lstrip("\r\n").split("\n", 1)[0].split("\r", 1)[0]
    delimiter = named or max(",;\t|", key=line.count)
    mixed = len(set(re.findall(r"\r\n|\n|\r", body[:-1]))) > 1
    dialect = Dialect(encoding, delimiter, quote, escape, ".", 0, (), mixed=mixed, width=1.0)
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a torn row ends the sample
        rows.extend(row for row in dialect.rows(io.StringIO(body, newline=""), strict=False) if row)
    if not rows or not any(field.strip() for field in rows[0]):
        raise BadData(f"{path.name} has no header line.", "Put the names of the columns into its first line.")
    # A comma, if numbers of the sample have one and none has a point.
    values = [field.strip() for row in rows[1:2000] for field in row] if delimiter != "," else []
    commas = any(map(_COMMA_NUMBER.match, values)) and not any(map(_POINT_NUMBER.match, values))
    decimal = options.decimal or ("," if commas else ".")
    width = len(body) / len(rows) if len(rows) > 1 else float(len(body))
    refuse_wide(rows[0], path.name)
    names = tuple(unique_names(rows[0]))
    return replace(dialect, decimal=decimal, skip=skip, names=names, width=width)


def _blocks(path: Path) -> Iterator[bytes]:
    """The decompressed bytes of a file, unless it is far larger than when packed, or has a line that is too long.

    DuckDB leaves out the last record of a file, without an error, if it does not fit its buffer of 32 MB.
    """
    most = max(limits.MOST_UNPACKED_BYTES, limits.MOST_RATIO * path.stat().st_size)
    packed, done, run = path.suffix.lower() in PACKED, 0, 0
    with open_bytes(path) as file:
        while block := file.read(BLOCK):
            done += len(block)
            if packed and done > most:
                raise BadData(
                    f"{path.name} unpacks to more than {limits.MOST_RATIO} times its size.",
                    "Unpack it yourself if it is the right file: what is not packed has no such limit.",
                )
            ends = [at for end in (b"\n", b"\r") if (at := block.find(end)) >= 0]
            run += min(ends, default=len(block))
            if run > limits.LONGEST_LINE:
                raise BadData(
                    f"{path.name} has a line of more than {limits.LONGEST_LINE:,} bytes.",
                    "Is it a text file, with a line for each record? Leave out the column of long texts.",
                )
            run = len(block) - 1 - max(block.rfind(b"\n"), block.rfind(b"\r")) if ends else run
            yield block


def _encoding(path: Path, named: str) -> str:
    """The encoding of a file, of which all bytes are read; `named` is what the options say, if anything."""
    decoder, strange, known, is_utf8 = codecs.getincrementaldecoder("utf-8")(), b"", named, True
    for place, block in enumerate(_blocks(path)):
        if not place and not named:
            known = next((name for mark, name in MARKS if block.startswith(mark)), "")
        if known or (not is_utf8 and len(strange) >= SAMPLE):
            continue
        if not block.isascii() and len(strange) < SAMPLE:
            strange += b"\n".join(line for line in block.split(b"\n") if not line.isascii())[:SAMPLE]
        try:
            decoder.decode(block)
        except UnicodeDecodeError:
            is_utf8 = False
    if known:
        return known
    return "utf-8" if is_utf8 and not decoder.getstate()[0] else _western(strange, path.name)


def _western(strange: bytes, name: str) -> str:
    """The encoding of text that is not UTF-8, from its lines that are not ASCII; UTF-8 with few faults stays UTF-8."""
    as_utf8 = strange.decode("utf-8", errors="replace")
    if sum(not c.isascii() for c in as_utf8) > 2 * as_utf8.count("\ufffd"):
        return "utf-8"  # the faulty line is reported when it is read
    text = strange.decode("cp1252", errors="replace")
    if "\ufffd" in text or _LETTERS_ALONE.search(text):
        raise BadData(
            f"{name} is not in UTF-8, and its letters are not Western ones.",
            'Name its encoding: --encoding cp1251, or [file] encoding = "cp1251".',
        )
    return "cp1250" if _SIGN_IN_WORD.search(text) else "cp1252"


def record_lines(path: Path, dialect: Dialect, numbers: Sequence[int]) -> list[int]:
    """The lines on which records begin, given their numbers from 1, in any order."""
    until = islice(_records(path, dialect), max(numbers))
    found = {number: line for number, (line, _) in enumerate(until, 1) if number in numbers}
    return [found[number] for number in numbers]


def find_bad_line(path: Path, dialect: Dialect) -> BadData | None:
    """The error of the first line that cannot be read, if there is one."""
    width, line = len(dialect.names), 0
    try:
        for line, row in _records(path, dialect):
            if len(row) != width:
                return BadData(
                    f"Line {line:,} of {path.name} has {len(row):,} field{'s' if len(row) != 1 else ''}, "
                    f"and the header has {width:,}.",
                    "Is it torn, or does a value hold the separator? Mend the line, or put such values in quotes.",
                )
            if any("\ufffd" in value for value in row):
                return BadData(
                    f"Line {line:,} of {path.name} has a character that is not {dialect.encoding}.",
                    "Name the encoding that the file has: --encoding cp1252, or [file] encoding.",
                )
    except csv.Error:
        return BadData(
            f"A quote that begins after line {max(1, line):,} of {path.name} does not end, or text follows it.",
            "Close the quote, and write a quote within quotes twice.",
        )
    except PACK_ERRORS:
        return truncated_archive(path)
    return None


def _records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The records with the lines on which they begin; empty lines are skipped, unless there is only one column."""
    with open_text(path, dialect.encoding) as text:
        rows = dialect.rows(text)
        header, begins = True, dialect.skip + 1
        for row in rows:
            if (row or (len(dialect.names) == 1 and not header)) and not header:
                yield begins, row or [""]
            header = header and not row
            begins = rows.line_num + dialect.skip + 1


PLAIN = (".csv", ".tsv", ".txt")
#: Assumed compression ratio; only progress bars depend on it.
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
    pairs = ((dialect.encoding, "utf-8"), (dialect.delimiter, ","), (dialect.decimal, "."))
    return Source(
        relation,
        int(path.stat().st_size * (PACKED_RATIO if packed else 1) / dialect.width),
        path.name,
        found=FileOptions(*("" if found == usual else found for found, usual in pairs)),
        unit="line",
        places=lambda numbers: record_lines(path, dialect, numbers),
        torn=lambda: find_bad_line(path, dialect),
    )


def _copy(path: Path, dialect: Dialect, aside: Path) -> Path:
    place = aside / "source.csv"
    with open_text(path, dialect.encoding) as text, place.open("w", encoding="utf-8", newline="") as copy:
        carried = ""
        while block := text.read(BLOCK):
            if "\ufffd" in block and (torn := find_bad_line(path, dialect)):
                raise torn
            whole = carried + block
            carried = "\r" if whole.endswith("\r") else ""
            copy.write(whole.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n"))
        copy.write("\n" if carried else "")
    place.chmod(0o600)
    return place


READER = Reader("CSV", (*PLAIN, *(plain + packed for plain in PLAIN for packed in PACKED)), _open)
