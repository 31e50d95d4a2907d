"""The section `[file]` of `dataset.toml`: how the file of records is read, where it does not tell by itself.

A draft writes down what it found, so that a load reads the next file in the same way.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import Any

from discreet.errors import BadDescription
from discreet.model.section import section_of


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a file is read; what is empty is found out.

    Args:
        encoding: Of a CSV file, as Python names it: "utf-8", "cp1252".
        delimiter: What separates the fields of a CSV file: one character.
        decimal: The decimal sign of the numbers in a CSV file, "." or ",".
        table: The sheet of a workbook, or the table of a database.
    """

    encoding: str = ""
    delimiter: str = ""
    decimal: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        if self.encoding:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise BadDescription(
                    f"There is no encoding {self.encoding!r}.", 'Use "utf-8", "cp1252", "cp1250", "utf-16".'
                ) from None
        if len(self.delimiter) > 1 or self.delimiter in {'"', "\n", "\r"}:
            raise BadDescription(
                f"The delimiter {self.delimiter!r} is not one character.", 'Use ",", ";", "|" or "\\t".'
            )
        if self.decimal not in {"", ".", ","}:
            raise BadDescription(f"The decimal sign is {self.decimal!r}.", 'Use "." or ",".')

    def given(self) -> dict[str, str]:
        """What is not empty, by its key."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}


def file_options(section: Any) -> FileOptions:
    """Read the section.

    >>> file_options({"encoding": "cp1252"}).given()
    {'encoding': 'cp1252'}

    Raises:
        BadDescription: With what is wrong.
    """
    for key, value in section_of(section, "file", [f.name for f in fields(FileOptions)]).items():
        if not isinstance(value, str):
            raise BadDescription(f"`{key}` of [file] is {value!r}.", "Put it in quotes.")
    return FileOptions(**section)
