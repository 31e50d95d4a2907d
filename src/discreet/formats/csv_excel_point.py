"""CSV for a double click in Excel where the point is the decimal sign: commas between the fields, decimal points.

The texts are those of `csv_excel`: what Excel would change is led by an apostrophe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv_excel import excel_pieces
from discreet.model.messages.text import message

if TYPE_CHECKING:  # help starts without NumPy
    from discreet.model.release import Release


def to_csv_excel_point(release: Release) -> Iterator[bytes]:
    """The release as CSV that Excel opens by itself where the point is the decimal sign."""
    return excel_pieces(release, ",", ".")


FORMAT = Format(
    "csv-excel-point",
    message("CSV for Excel (commas)"),
    message("CSV that Excel opens by itself where the point is the decimal sign"),
    "csv",
    "text/csv; charset=utf-8",
    to_csv_excel_point,
    owns_extension=False,
    place=25,
    for_people=True,
    lists=True,
)
