"""Documents as streams of bytes, files that are written atomically, and small CSV files.

No function holds a large document in memory as a whole.
"""

import csv
import io
import json
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile

from discreet.errors import BadData, NotFound

#: The minimum size of a chunk, in bytes.
PIECE = 65_536
#: A larger temporary file is written to disk.
_IN_MEMORY = 1_048_576


def gather(pieces: Iterable[bytes], least: int = PIECE) -> Iterator[bytes]:
    """The same bytes in chunks of at least `least`, except the last."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= least:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)


def save(pieces: Iterable[bytes], path: str | Path) -> None:
    """Write a file atomically: to a temporary name first, then renamed.

    Devices and pipes are written directly. A link stays a link, and a replaced file keeps its mode.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(pieces)
        return
    target = path.resolve()
    beside = target.with_name(f".discreet-{secrets.token_hex(6)}")
    try:
        with beside.open("xb") as file:
            file.writelines(pieces)
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except OSError as error:
        error.filename = str(path)  # the name that people know
        raise
    finally:
        beside.unlink(missing_ok=True)


def measure_size(pieces: Iterable[bytes]) -> tuple[int, Iterator[bytes]]:
    """The number of bytes, and the bytes themselves, buffered in a temporary file."""
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed when it has been read
    file.writelines(pieces)
    size = file.tell()
    file.seek(0)

    def read() -> Iterator[bytes]:
        with file:
            while piece := file.read(PIECE):
                yield piece

    return size, read()


class Outbox(io.RawIOBase):
    """A writable file from which the bytes can be taken as they arrive."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self._waiting.append(bytes(data))  # type: ignore[call-overload]
        return len(self._waiting[-1])

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        waiting, self._waiting = self._waiting, []
        return b"".join(waiting)


#: A count that fits a 64-bit integer with room for sums.
LARGEST_COUNT = 2**53


def read_rows(path: Path) -> list[list[str]]:
    """All rows of a CSV file that are not blank.

    Raises:
        NotFound: There is no such file.
        BadData: The file is not UTF-8 text, or not CSV.
    """
    if not path.is_file():
        raise NotFound(f'There is no file "{path}".', "Check the name.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return parse_rows(lines, path.name)
    except UnicodeDecodeError:
        raise BadData(f'"{path.name}" is not a text file in UTF-8.', "Save it as CSV in UTF-8.") from None


def parse_rows(lines: Iterable[str], source: str) -> list[list[str]]:
    """The rows of lines that are not blank."""
    reader = csv.reader(lines)
    try:
        return [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadData(
            f'Line {reader.line_num} of "{source}" is no CSV: {error}.', "Save it as CSV."
        ) from None


def whole_number(cell: str) -> int | None:
    """A whole number within ±2^53; None for other texts."""
    digits = cell.strip().removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 16:
        return None
    number = int(cell)
    return number if abs(number) <= LARGEST_COUNT else None


def toml_string(value: str) -> str:
    r"""A TOML string: JSON's escapes are TOML's, and DEL is escaped too.

    >>> toml_string('The "old" town')
    '"The \\"old\\" town"'
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
