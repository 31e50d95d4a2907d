"""The formats of Discreet in a table. Each names its writer, mostly in `writers/`, which is imported when it writes."""

from collections.abc import Callable, Iterator
from pkgutil import resolve_name

from discreet.formats import Format
from discreet.model.messages.text import message
from discreet.model.plugins import Extra

PICTURES = Extra("discreet[pictures]", ("altair", "vl_convert"))
_EXCEL = Extra("discreet[excel]", ("xlsxwriter",))
_CSV, _JSON, _SVG = (f"{kind}; charset=utf-8" for kind in ("text/csv", "application/json", "image/svg+xml"))
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SDMX_CSV = "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8"
_SDMX_JSON = "application/vnd.sdmx.data+json; version=1.0.0-wd; charset=utf-8"
_ARROW, _PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


def _writer(name: str) -> Callable[..., Iterator[bytes]]:
    """The function of this name, found when it is called: to list the formats imports no library."""

    def write(release: object) -> Iterator[bytes]:
        found: Iterator[bytes] = resolve_name(f"discreet.{name}")(release)
        return found

    return write


_EXCEL_COMMA = message("CSV that Excel opens by itself where the comma is the decimal sign")
_EXCEL_POINT = message("CSV that Excel opens by itself where the point is the decimal sign")
FORMAT = (
    Format(
        "csv", "CSV", message("tidy CSV"), "csv", _CSV,
        _writer("formats.writers.csv:to_csv"), place=10, lists=True,
    ),
    Format(
        "xlsx", "Excel", message("an Excel workbook: the table as seen, data, notes, definitions"), "xlsx", _WORKBOOK,
        _writer("formats.writers.xlsx:to_xlsx"), needs=_EXCEL, place=15, for_people=True,
    ),
    Format(
        "csv-excel", message("CSV for Excel (semicolons)"), _EXCEL_COMMA, "csv", _CSV,
        _writer("formats.writers.csv:to_csv_excel"), owns_extension=False, place=20, for_people=True, lists=True,
    ),
    Format(
        "csv-excel-point", message("CSV for Excel (commas)"), _EXCEL_POINT, "csv", _CSV,
        _writer("formats.writers.csv:to_csv_excel_point"), owns_extension=False, place=25, for_people=True, lists=True,
    ),
    Format(
        "json", "JSON-stat", message("JSON-stat 2.0"), "json", _JSON,
        _writer("formats.writers.json_stat:to_json_stat"), python_name="json_stat", place=40,
    ),
    Format(
        "parquet", "Parquet", message("a Parquet file"), "parquet", _PARQUET,
        _writer("formats.writers.arrow:to_parquet"), place=50, lists=True,
    ),
    Format(
        "arrow", "Arrow", message("an Arrow stream"), "arrows", _ARROW,
        _writer("formats.writers.arrow:to_arrow"), python_name="arrow_stream", place=60, lists=True,
    ),
    Format(
        "px", "PX", message("a PX file"), "px", "text/x-px; charset=utf-8",
        _writer("formats.writers.px:to_px"), place=70,
    ),
    Format(
        "sdmx-csv", "SDMX-CSV", message("SDMX-CSV 2.0"), "csv", _SDMX_CSV,
        _writer("formats.writers.sdmx_data:sdmx_csv"), owns_extension=False, place=80,
    ),
    Format(
        "sdmx-json", "SDMX-JSON", message("SDMX-JSON 1.0"), "json", _SDMX_JSON,
        _writer("formats.writers.sdmx_data:sdmx_json"), owns_extension=False, place=85,
    ),
    Format(
        "html", "HTML", message("an HTML document, the table as it reads"), "html", "text/html; charset=utf-8",
        _writer("formats.writers.html:to_html"), place=90, for_people=True,
    ),
    Format(
        "svg", "SVG", message("a chart as SVG"), "svg", _SVG,
        _writer("pictures.drawing:to_svg"), place=95,
    ),
    Format(
        "png", "PNG", message("a chart as PNG"), "png", "image/png",
        _writer("pictures.drawing:to_png"), needs=PICTURES, place=96,
    ),
)  # fmt: skip
