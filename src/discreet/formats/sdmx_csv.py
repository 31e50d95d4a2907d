"""SDMX-CSV 2.0: `STRUCTURE,STRUCTURE_ID,ACTION`, the variables, `OBS_VALUE`, then the attributes.

`OBS_STATUS` has SDMX's own codes: A is a released value, Q is withheld (c), M cannot occur (z), U is of low reliability (u);
`CONF_STATUS` is C for everything that is withheld and F elsewhere. Further numbers are SIGNED, RELATIVE_STANDARD_ERROR and
NOISE_SHARE. Title, notes, promise, digest and citation are attributes of the table, on its first row only. No field has a
line end, because sdmx1 reads line by line. `model/sdmx.py` names the dataflow and the codes.
Source: https://github.com/sdmx-twg/sdmx-csv, version 2.0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import (
    Dialect,
    join_lines,
    number_texts,
    quote_fields,
    take,
    text_array,
    text_scalar,
)
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
    """The release as data of a dataflow, block by block; a dimension that the table lacks is its total."""
    from discreet.model.columns import NONE, blocks, numbers_of
    from discreet.model.sdmx import sdmx_id, words_of

    _, *beside = numbers_of(release, NONE)
    words = words_of(release)
    attributes = ["OBS_STATUS", "CONF_STATUS", *(numbers.name.upper() for numbers in beside), *words]
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *flow.dimensions, "OBS_VALUE", *attributes]
    yield (",".join(header) + "\n").encode()
    codes = {d.name: text_array(map(sdmx_id, d.codes)) for d in release.dimensions}
    for lines in blocks(release):
        columns = _observations(release, lines, codes, flow)
        yield join_lines([*columns, *_first_line(lines, words)], ",")


def _observations(
    release: Release, lines: slice, codes: dict[str, pa.Array], flow: Flow
) -> list[pa.Array | pa.Scalar]:
    """The fields of every row."""
    from discreet.model.columns import numbers_of, places_of
    from discreet.model.sdmx import CONF_PLACES, CONF_STATUS, OBS_STATUS
    from discreet.model.variable import TOTAL

    status = release.status.flat[lines]
    shown = {d.name: take(codes[d.name], places) for d, places in places_of(release, lines)}
    value, *others = [number_texts(numbers) for numbers in numbers_of(release, lines)]
    return [
        *map(text_scalar, ("dataflow", flow.reference, "I")),
        *(shown.get(name, text_scalar(TOTAL)) for name in flow.dimensions),
        value,
        take(text_array(code for code, _ in OBS_STATUS), status),
        take(text_array(CONF_STATUS[place][0] for place in CONF_PLACES), status),
        *others,
    ]


def _first_line(lines: slice, words: dict[str, str]) -> list[pa.Array]:
    """Columns with a text in the first row of the table and empty below."""
    import numpy as np
    import pyarrow as pa

    places = (np.arange(lines.start, lines.stop) > 0).astype(np.int8)
    return [
        take(pa.concat_arrays([quote_fields((text,), Dialect()), text_array([""])]), places)
        for text in words.values()
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
