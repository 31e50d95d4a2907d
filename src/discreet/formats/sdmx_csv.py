"""SDMX-CSV 2.0: `STRUCTURE,STRUCTURE_ID,ACTION`, the variables, `OBS_VALUE`, then the attributes.

`OBS_STATUS` by SDMX's own code list: A is a released value, Q is withheld (c), M cannot occur (z), U is of low
reliability (u); `CONF_STATUS` is C for all that is withheld and F elsewhere. The numbers beside the value are SIGNED,
RELATIVE_STANDARD_ERROR and NOISE_SHARE. Title, notes, promise, digest and citation belong to the table: they are
attributes that the first line carries for all. No field has a line end: sdmx1 reads line by line.
`model/sdmx.py` names the dataflow and the codes. Source: https://github.com/sdmx-twg/sdmx-csv, version 2.0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import Dialect, join_lines, number_texts, quote_fields
from discreet.model.messages.text import message

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.release import Release
    from discreet.model.sdmx import Flow


def to_sdmx_csv(release: Release) -> Iterator[bytes]:
    """The release as SDMX-CSV 2.0."""
    from discreet.model.sdmx import flow_of

    return sdmx_csv(release, flow_of(release))


def sdmx_csv(release: Release, flow: Flow) -> Iterator[bytes]:
    """The release as data of a dataflow, block by block; a dimension that the table does not have is its total."""
    from discreet.model.columns import NONE, blocks, numbers_of
    from discreet.model.sdmx import words_of

    _, *beside = numbers_of(release, NONE)
    words = words_of(release)
    attributes = ["OBS_STATUS", "CONF_STATUS", *(numbers.name.upper() for numbers in beside), *words]
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *flow.dimensions, "OBS_VALUE", *attributes]
    yield (",".join(header) + "\n").encode()
    codes = _codes(release)
    for lines in blocks(release):
        columns = _observations(release, lines, codes, flow)
        yield join_lines([*columns, *_first_line(lines, words)], ",")


def _codes(release: Release) -> dict[str, pa.Array]:
    """For each variable the ids of its codes."""
    import pyarrow as pa

    from discreet.model.sdmx import sdmx_id

    return {
        d.name: pa.array([sdmx_id(code) for code in d.codes], pa.large_string()) for d in release.dimensions
    }


def _observations(
    release: Release, lines: slice, codes: dict[str, pa.Array], flow: Flow
) -> list[pa.Array | pa.Scalar]:
    """The fields that every line has."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of
    from discreet.model.sdmx import CONF_PLACES, CONF_STATUS, OBS_STATUS
    from discreet.model.variable import TOTAL

    status = pa.array(release.status.flat[lines])
    shown = {d.name: codes[d.name].take(pa.array(places)) for d, places in places_of(release, lines)}
    total = pa.scalar(TOTAL, pa.large_string())
    value, *beside = [number_texts(numbers) for numbers in numbers_of(release, lines)]
    return [
        *(pa.scalar(text, pa.large_string()) for text in ("dataflow", flow.reference, "I")),
        *(shown.get(name, total) for name in flow.dimensions),
        value,
        pa.array([code for code, _ in OBS_STATUS], pa.large_string()).take(status),
        pa.array([CONF_STATUS[place][0] for place in CONF_PLACES], pa.large_string()).take(status),
        *beside,
    ]


def _first_line(lines: slice, words: dict[str, str]) -> list[pa.Array]:
    """Columns that have a text in the first line of the table and nothing below it."""
    import numpy as np
    import pyarrow as pa

    places = pa.array((np.arange(lines.start, lines.stop) > 0).astype(np.int8))
    nothing = pa.array([""], pa.large_string())
    return [
        pa.concat_arrays([quote_fields((text,), Dialect()), nothing]).take(places) for text in words.values()
    ]


FORMAT = Format(
    "sdmx-csv",
    "SDMX-CSV",
    message("SDMX-CSV 2.0"),
    "csv",
    "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
    to_sdmx_csv,
    owns_extension=False,
    place=80,
)
