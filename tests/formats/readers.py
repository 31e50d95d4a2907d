"""Each format read back, by the library that people read it with: one `Line` a cell, in the order of the cells."""

import csv
import io
import json
import re
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import sdmx
from lxml import html
from sdmx.model import common, v21

from discreet.formats import format_by_name
from discreet.model.release import STATUSES


class Line(NamedTuple):
    codes: tuple[str, ...]
    value: float | None
    status: str
    signed: float | None = None
    error: float | None = None
    noise_share: float | None = None


BESIDE = ("signed", "relative_standard_error", "noise_share")


def expected(release):
    """The slow, obvious reading of a release itself."""
    lines = []
    for place in np.ndindex(release.values.shape):
        codes = tuple(d.codes[p] for d, p in zip(release.dimensions, place, strict=True))
        missing = release.missing[place]
        tenths = [None if a is None else a[place] for a in (release.errors, release.noise_shares)]
        lines.append(
            Line(
                codes,
                None if missing else release.values[place].item(),
                STATUSES[release.status[place]],
                None if missing or release.signed is None else release.signed[place].item(),
                *(None if missing or t is None or t < 0 else t.item() / 10 for t in tenths),
            )
        )
    return lines


def lines_of(rows, names):
    """Lines from rows that are mappings by name."""
    return [
        Line(
            tuple(row[name] for name in names),
            _number(row["value"]),
            row["status"] or "",
            *(_number(row.get(name)) for name in BESIDE),
        )
        for row in rows
    ]


def _number(value):
    return None if value in {None, ""} or value != value else float(value)  # noqa: PLR0124 - NaN


def read_csv(data, names):
    return lines_of(csv.DictReader(io.StringIO(data.decode(), newline="")), names)


def read_json(data, names):
    document = json.loads(data)
    codes = [list(document["dimension"][name]["category"]["index"]) for name in names]
    status, extension = document["status"], document["extension"]
    beside = [extension.get(name) or [None] * len(document["value"]) for name in BESIDE]
    return [
        Line(cell, value, status.get(str(place), ""), *numbers)
        for place, (cell, value, *numbers) in enumerate(
            zip(product(*codes), document["value"], *beside, strict=True)
        )
    ]


def read_xlsx(data, names):
    header, *rows = openpyxl.load_workbook(io.BytesIO(data))["data"].iter_rows(values_only=True)
    return lines_of([dict(zip(header, row, strict=True)) for row in rows], names)


def read_arrow(data, names):
    lines = lines_of(pa.ipc.open_stream(data).read_all().to_pylist(), names)
    assert lines == lines_of(pl.read_ipc_stream(data).to_dicts(), names)
    return lines


def read_parquet(data, names):
    lines = lines_of(pl.read_parquet(data).to_dicts(), names)
    assert lines == lines_of(pd.read_parquet(io.BytesIO(data)).to_dict("records"), names)
    return lines


def read_csv_excel(data, names, separator=";", decimal=","):
    """As Excel does it where this is the decimal sign; the apostrophes of codes are taken off again."""
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator))
    for row in rows:
        row |= {name: row[name].replace(decimal, ".") for name in ("value", *BESIDE) if name in row}
        row |= {name: row[name].removeprefix("'") for name in names}
    return lines_of(rows, names)


def read_html(data, names):
    """Every cell with the codes of its row, its columns and its layer; the tables are put together in our order."""
    page, found = html.document_fromstring(data.decode()), {}
    assert {element.tag for element in page.iter()} <= ELEMENTS, "a label became an element"
    for table in page.iter("table"):
        layer = tuple(each.get("value") for each in table.iterfind("caption/data"))
        tops = _tops(table.find("thead"))
        for line in table.find("tbody"):
            stub = tuple(each.get("value") for each in line.iterfind("th/data"))
            for (*top, content), cell in zip(tops, line.iterfind("td"), strict=True):
                row = found.setdefault((*stub, *top, *layer), {})
                row[content] = (cell.text or "").strip()
                row["status"] = row.get("status", "") + "".join(mark.text for mark in cell.iterfind("abbr"))
    codes = [dict.fromkeys(column) for column in zip(*found, strict=True)]
    return lines_of([dict(zip(names, each, strict=True)) | found[each] for each in product(*codes)], names)


#: What a document may be made of.
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "dl", "dt", "dd"}
ELEMENTS |= {"table", "caption", "thead", "tbody", "tr", "th", "td", "data", "bdi", "abbr"}


def _name(header):
    return header.text_content().replace(" ", "_")


def _tops(head):
    """What stands over each column: codes, and last what the number is."""
    rows = []
    for line in [*head][len(head) > 1 :]:  # the first of several names the column variables
        headers = [header for header in line.iterfind("th") if "rowspan" not in header.attrib]
        coded = all(header.find("data") is not None for header in headers)
        texts = [header.find("data").get("value") if coded else _name(header) for header in headers]
        spans = [int(header.get("colspan", 1)) for header in headers]
        rows.append([text for text, span in zip(texts, spans, strict=True) for _ in range(span)])
    if coded:  # the last row is a variable: there is one number a cell
        rows.append(["value"] * len(rows[-1]))
    elif not {"value"} <= {*rows[-1]}:  # no column variable, and one number a cell: the unit stands there
        rows[-1] = ["value"]
    return list(zip(*rows, strict=True))


def read_sdmx_csv(data, names):
    """With sdmx1, which needs the structure, and with pandas: both must see the same fields."""
    frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    columns = list(frame.columns)
    structure = sdmx_structure(names, columns[columns.index("OBS_VALUE") + 1 :])
    message = sdmx.read_sdmx(io.BytesIO(data), format="CSV", structure=structure)
    assert frame["OBS_VALUE"].tolist() == [observation.value for observation in message.data[0].obs]
    return sdmx_lines(message, names)


#: SDMX's codes for our status letters.
SDMX_STATUS = {"A": "", "Q": "c", "M": "z", "U": "u"}


def sdmx_structure(dimensions, attributes):
    """A data structure made by hand, as sdmx1 has it."""
    return v21.DataStructureDefinition(
        id="by-hand",
        dimensions=common.DimensionDescriptor(components=[common.Dimension(id=d) for d in dimensions]),
        measures=v21.MeasureDescriptor(components=[v21.PrimaryMeasure(id="OBS_VALUE")]),
        attributes=common.AttributeDescriptor(components=[v21.DataAttribute(id=a) for a in attributes]),
    )


def sdmx_lines(message, names):
    """The observations that sdmx1 has read."""
    rows = []
    for observation in message.data[0].obs:
        told = {name: str(getattr(a.value, "id", a.value)) for name, a in observation.attrib.items()}
        key = {name: observation.key[name].value for name in names}
        assert (told["CONF_STATUS"] == "C") == (told["OBS_STATUS"] == "Q"), (
            "one code for all that is withheld"
        )
        beside = {name: told.get(name.upper()) for name in BESIDE}
        status = SDMX_STATUS[told["OBS_STATUS"]]
        rows.append({**key, "value": observation.value, "status": status, **beside})
    return lines_of(rows, names)


def read_sdmx_json(data, names):
    return sdmx_lines(sdmx.read_sdmx(io.BytesIO(data)), names)


def px_keywords(text):
    """A small parser of PX: pairs of keyword and texts, or the bare rest; strings hold no quotation mark."""
    found, place = [], 0
    pattern = re.compile(r'\s*([A-Z][A-Z0-9-]*(?:\("[^"]*"\))?)=((?:"[^"]*"|[^";])*);')
    while match := pattern.match(text, place):
        place = match.end()
        items = re.findall(r'(?:"[^"]*"\s*)+', match[2]) if match[1] != "DATA" else []
        texts = ["".join(re.findall('"([^"]*)"', item)) for item in items]
        found.append((match[1], texts or match[2].strip()))
    assert text[place:].strip() == "", text[place : place + 80]
    return found


def read_px(data, names):
    told = dict(px_keywords(data.decode()))
    axes = [*told.get("STUB", []), *told["HEADING"]]
    codes = [told[f'CODES("{axis}")'] for axis in axes]
    assert [told[f'VARIABLECODE("{axis}")'][0] for axis in axes][: len(names)] == names
    contents = codes.pop() if len(axes) > len(names) else ["value"]
    symbols = {'"."': "c", '".."': "z"}
    rows = []
    for cell, line in zip(product(*codes), told["DATA"].split("\n"), strict=True):
        row = dict(zip(contents, line.split(" "), strict=True))
        status = symbols.get(row["value"], "u" if row.get("unreliable") == "1" else "")
        numbers = {name: "" if text.startswith('"') else text for name, text in row.items()}
        rows.append(dict(zip(names, cell, strict=True)) | numbers | {"status": status})
    return lines_of(rows, names)


READERS = {
    "arrow": read_arrow,
    "csv": read_csv,
    "csv-excel": read_csv_excel,
    "csv-excel-point": partial(read_csv_excel, separator=",", decimal="."),
    "html": read_html,
    "json": read_json,
    "parquet": read_parquet,
    "px": read_px,
    "sdmx-csv": read_sdmx_csv,
    "sdmx-json": read_sdmx_json,
    "xlsx": read_xlsx,
}


def read_back(name, release):
    """A release through a format and back."""
    return READERS[name](format_by_name(name).write(release), [d.name for d in release.dimensions])
