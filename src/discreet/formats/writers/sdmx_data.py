"""SDMX-CSV 2.0 and SDMX-JSON 1.0. `model/sdmx.py` names the dataflow and the codes.

`OBS_STATUS` has SDMX's own codes: A is a released value, Q is withheld (c), M cannot occur (z), U is of low reliability (u);
`CONF_STATUS` is C for everything that is withheld and F elsewhere. Further numbers are SIGNED, RELATIVE_STANDARD_ERROR and
NOISE_SHARE. Title, notes, promise, version, digest and citation are attributes of the table.

CSV has `STRUCTURE,STRUCTURE_ID,ACTION`, the variables, `OBS_VALUE`, then the attributes; those of the table are on its first
row only. No field has a line end, because sdmx1 reads line by line. JSON is one data message with its structure, one
observation per cell, in the layout of version 1.0.0-wd, which sdmx1 reads:

    {"header": ..., "structure": {dimensions, attributes}, "dataSets": [{"observations": {"0:1": [12, 0, 0], ...}}]}

A key has the index of the category in each dimension. After the value, null where none is released, follow indices of
attribute values.
Source: https://github.com/sdmx-twg/sdmx-csv, version 2.0.0; https://github.com/sdmx-twg/sdmx-json, tag v1.0.0-wd.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.formats.writers.csv import (
    Dialect,
    join_lines,
    number_texts,
    quote_fields,
    take,
    text_array,
    text_scalar,
)
from discreet.formats.writers.json_stat import Later, json_pieces
from discreet.model.columns import NONE, Numbers, blocks, numbers_of, places_of
from discreet.model.release import Release
from discreet.model.sdmx import (
    AGENCY,
    CONF_PLACES,
    CONF_STATUS,
    OBS_STATUS,
    OF_TABLES,
    OF_VALUES,
    PREPARED,
    Flow,
    flow_of,
    sdmx_id,
    words_of,
)
from discreet.model.variable import TOTAL

#: Different numbers by the name of their attribute.
Known = dict[str, NDArray[np.int64] | NDArray[np.float64]]


def sdmx_csv(release: Release, flow: Flow | None = None) -> Iterator[bytes]:
    """The release as SDMX-CSV 2.0, by default of its own dataflow; a dimension that the table lacks is its total."""
    flow = flow or flow_of(release)
    _, *beside = numbers_of(release, NONE)
    words = words_of(release)
    attributes = ["OBS_STATUS", "CONF_STATUS", *(numbers.name.upper() for numbers in beside), *words]
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *flow.dimensions, "OBS_VALUE", *attributes]
    yield (",".join(header) + "\n").encode()
    codes = {d.name: text_array(map(sdmx_id, d.codes)) for d in release.dimensions}
    of_value = text_array(code for code, _ in OBS_STATUS)
    confidential = text_array(CONF_STATUS[place][0] for place in CONF_PLACES)
    texts = [pa.concat_arrays([quote_fields((t,), Dialect()), text_array([""])]) for t in words.values()]
    for lines in blocks(release):
        status = release.status.flat[lines]
        shown = {d.name: take(codes[d.name], places) for d, places in places_of(release, lines)}
        value, *others = [number_texts(numbers) for numbers in numbers_of(release, lines)]
        below_first = (np.arange(lines.start, lines.stop) > 0).astype(np.int8)
        columns = [
            *map(text_scalar, ("dataflow", flow.reference, "I")),
            *(shown.get(name, text_scalar(TOTAL)) for name in flow.dimensions),
            value,
            take(of_value, status),
            take(confidential, status),
            *others,
            *(take(each, below_first) for each in texts),
        ]
        yield join_lines(columns, ",")


def sdmx_json(release: Release, flow: Flow | None = None) -> Iterator[bytes]:
    """The release as SDMX-JSON, as `sdmx_csv`."""
    own = flow or flow_of(release)
    known = _distinct_numbers(release)
    structure = _structure(release, own, known)
    sender = {"id": AGENCY, "name": release.dataset.source or release.dataset.label}
    name = f"{own.id}-{release.digest[:8]}"
    header = {"id": name, "test": False, "prepared": PREPARED, "sender": sender}
    data = {
        "action": "Information",
        "attributes": [0 for _ in structure["attributes"]["dataSet"]],
        "observations": Later("{}", lambda: _json_observations(release, own, known)),
    }
    return json_pieces({"header": header, "structure": structure, "dataSets": [data]})


def _distinct_numbers(release: Release) -> Known:
    """The distinct numbers of each further column, ascending; a column without any is left out."""
    known: Known = {}
    some = len(numbers_of(release, NONE)) > 1
    for lines in blocks(release) if some else ():
        for numbers in numbers_of(release, lines)[1:]:
            new = np.unique(numbers.values[~numbers.missing])
            if new.size:
                name = numbers.name.upper()
                known[name] = np.union1d(known.get(name, new), new)
    return known


def _structure(release: Release, flow: Flow, known: Known) -> dict[str, Any]:
    words = words_of(release)
    of_table = [_text_component(name, OF_TABLES[name], [text]) for name, text in words.items()]
    coded = {"OBS_STATUS": OBS_STATUS, "CONF_STATUS": CONF_STATUS}
    texts = {name: [repr(number) for number in numbers.tolist()] for name, numbers in known.items()}
    # All attributes in one order, each with a value: sdmx1 matches those of a value with these.
    of_values = [
        _component(name, label, coded[name])
        if name in coded
        else _text_component(name, label, texts.get(name, [""]))
        for name, label in _attributes(release).items()
    ]
    return {
        "uri": flow.urn,
        "name": words["TITLE"],
        "dimensions": {"dataSet": [], "series": [], "observation": _dimensions(release, flow)},
        "attributes": {"dataSet": of_table, "series": [], "observation": of_values},
    }


def _attributes(release: Release) -> dict[str, str]:
    """The attributes of a value: those of every table, and those that a view derives."""
    return OF_VALUES | {column.name.upper(): column.meaning for column in release.derived}


def _dimensions(release: Release, flow: Flow) -> list[dict[str, Any]]:
    shown = {dimension.name: dimension for dimension in release.dimensions}
    found = []
    for name in flow.dimensions:
        if name in shown:
            label, codes, labels = shown[name].label, shown[name].codes, shown[name].labels
        else:
            label, codes, labels = release.dataset.variable(name).label, (TOTAL,), ("Total",)
        found.append(_component(name, label, zip(map(sdmx_id, codes), labels, strict=True)))
    return [component | {"keyPosition": place} for place, component in enumerate(found)]


def _component(name: str, label: str, codes: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return {"id": name, "name": label, "values": [{"id": code, "name": text} for code, text in codes]}


def _text_component(name: str, label: str, texts: list[str]) -> dict[str, Any]:
    return {"id": name, "name": label, "values": [{"name": text} for text in texts]}


def _json_observations(release: Release, flow: Flow, known: Known) -> Iterator[bytes]:
    """One row per cell: `"0:1":[12,0,0],`."""
    for lines in blocks(release):
        value, *others = numbers_of(release, lines)
        shown = {d.name: _digits(places) for d, places in places_of(release, lines)}
        keys = [shown.get(name, text_scalar("0")) for name in flow.dimensions]
        key = pc.binary_join_element_wise(*keys, text_scalar(":"))
        start = (text_scalar('\n"'), key, text_scalar('":['), number_texts(value, missing="null"))
        status = release.status.flat[lines]
        columns = [
            pc.binary_join_element_wise(*start, text_scalar("")),
            _digits(status),
            _digits(np.array(CONF_PLACES)[status]),
            *_in_order(list(_attributes(release))[2:], others, known),
        ]
        yield join_lines(columns, ",", "],")


def _in_order(names: list[str], numbers: list[Numbers], known: Known) -> list[pa.Array | pa.Scalar]:
    """The columns up to the last present one, each in its position among all attributes."""
    columns = {
        each.name.upper(): _digits(np.searchsorted(known[each.name.upper()], each.values), each.missing)
        for each in numbers
        if each.name.upper() in known
    }
    last = max((names.index(name) + 1 for name in columns), default=0)
    return [columns.get(name, text_scalar("null")) for name in names[:last]]


def _digits(places: NDArray[np.integer[Any]], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    return pa.array(places, mask=missing).cast(pa.large_string()).fill_null("null")
