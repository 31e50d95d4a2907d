"""Each format read back, by the library that people read it with: one `Line` a cell, in the order of the cells."""

import csv
import io
import json
from itertools import product
from typing import NamedTuple

import numpy as np

from discreet.formats import named_format
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
    import openpyxl

    header, *rows = openpyxl.load_workbook(io.BytesIO(data))["data"].iter_rows(values_only=True)
    return lines_of([dict(zip(header, row, strict=True)) for row in rows], names)


def read_arrow(data, names):
    import polars as pl
    import pyarrow as pa

    lines = lines_of(pa.ipc.open_stream(data).read_all().to_pylist(), names)
    assert lines == lines_of(pl.read_ipc_stream(data).to_dicts(), names)
    return lines


def read_parquet(data, names):
    import pandas as pd
    import polars as pl

    lines = lines_of(pl.read_parquet(data).to_dicts(), names)
    assert lines == lines_of(pd.read_parquet(io.BytesIO(data)).to_dict("records"), names)
    return lines


READERS = {
    "arrow": read_arrow,
    "csv": read_csv,
    "json": read_json,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
}


def read_back(name, release):
    """A release through a format and back."""
    return READERS[name](named_format(name).write(release), [d.name for d in release.dimensions])
