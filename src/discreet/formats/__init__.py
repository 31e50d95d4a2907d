"""A `Release` to a file: one module, one function each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import UnknownFormat, nearest
from discreet.formats import csv, json_stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.release import Release


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, what people call it, and how a release is written in it."""

    name: str
    label: str
    extension: str
    media_type: str
    write: Callable[[Release], bytes]


#: The formats on offer, by the name that `--format` and `format=` take.
FORMATS = {
    "csv": Format("csv", "CSV", csv.EXTENSION, csv.MEDIA_TYPE, csv.to_csv),
    "json": Format("json", "JSON-stat", json_stat.EXTENSION, json_stat.MEDIA_TYPE, json_stat.to_json_stat),
}


def named_format(name: str) -> Format:
    """The format of a name; an unknown one is an error that names the nearest."""
    if name not in FORMATS:
        raise UnknownFormat(f'There is no format "{name}".', nearest(name, FORMATS))
    return FORMATS[name]
