"""CSV that Excel opens by itself where the point is the decimal sign: `csv_excel` with commas and decimal points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv_excel import excel_pieces
from discreet.model.messages.text import message

if TYPE_CHECKING:  # help starts without NumPy
    from discreet.model.release import Release


def to_csv_excel_point(release: Release) -> Iterator[bytes]:
    """The release as CSV for Excel with a decimal point."""
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
