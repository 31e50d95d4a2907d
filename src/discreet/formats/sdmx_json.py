"""SDMX-JSON: one data message with its structure inside, one observation a cell.

    {"header": ..., "structure": {dimensions, attributes}, "dataSets": [{"observations": {"0:1": [12, 0, 0], ...}}]}

A key has the place of the category in each dimension. Beside the value stand places of attribute values: OBS_STATUS
(A, Q, M, U) and CONF_STATUS (F, C), then SIGNED, RELATIVE_STANDARD_ERROR and NOISE_SHARE where a table has them. A
value that is not released is null. Title, notes, promise, version, digest and citation are attributes of the data set.

This is the layout of version 1.0.0-wd, with header, structure and data sets side by side: the one that sdmx1 reads.
`model/sdmx.py` names the dataflow and the codes. Source: https://github.com/sdmx-twg/sdmx-json, tag v1.0.0-wd.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.formats import Format
from discreet.formats.csv import joined_lines, number_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from discreet.model.columns import Numbers
    from discreet.model.release import Release
    from discreet.model.sdmx import Flow


def to_sdmx_json(release: Release) -> bytes:
    """The release as SDMX-JSON."""
    from discreet.model.sdmx import flow_of

    return sdmx_json(release, flow_of(release))


def sdmx_json(release: Release, flow: Flow) -> bytes:
    """The release as data of a dataflow; a dimension that the table does not have is its total."""
    from discreet.model.columns import numbers_of

    beside = [_beside(numbers) for numbers in numbers_of(release)[1:] if not numbers.missing.all()]
    structure = _structure(release, flow, beside)
    words = [0 for _ in structure["attributes"]["dataSet"]]
    data = {"action": "Information", "attributes": words, "observations": {}}
    message = {"header": _header(release, flow), "structure": structure, "dataSets": [data]}
    start, _, end = json.dumps(message, ensure_ascii=False, allow_nan=False).encode().rpartition(b"{}")
    return start + b"{\n" + _observations(release, flow, beside).removesuffix(b",\n") + b"\n}" + end


@dataclass(frozen=True, slots=True)
class _Beside:
    """A column of numbers as an attribute: its different values, and for each line the place among them or null."""

    name: str
    texts: list[str]
    places: pa.Array


def _beside(numbers: Numbers) -> _Beside:
    import numpy as np
    import pyarrow as pa

    known = np.unique(numbers.values[~numbers.missing])
    places = pa.array(np.searchsorted(known, numbers.values), mask=numbers.missing)
    texts = [repr(number) for number in known.tolist()]
    return _Beside(numbers.name.upper(), texts, places.cast(pa.large_string()).fill_null("null"))


def _header(release: Release, flow: Flow) -> dict[str, Any]:
    from discreet.model.sdmx import AGENCY, PREPARED

    sender = {"id": AGENCY, "name": release.dataset.source or release.dataset.label}
    return {"id": f"{flow.id}-{release.digest[:8]}", "test": False, "prepared": PREPARED, "sender": sender}


def _structure(release: Release, flow: Flow, beside: list[_Beside]) -> dict[str, Any]:
    from discreet.model.sdmx import OF_TABLES, words_of

    words = words_of(release)
    of_table = [_uncoded(name, OF_TABLES[name], [text]) for name, text in words.items()]
    return {
        "uri": flow.urn,
        "name": words["TITLE"],
        "dimensions": {"dataSet": [], "series": [], "observation": _dimensions(release, flow)},
        "attributes": {"dataSet": of_table, "series": [], "observation": _of_values(beside)},
    }


def _of_values(beside: list[_Beside]) -> list[dict[str, Any]]:
    """All attributes of a value, in one order, each with a value: sdmx1 matches them with those of the structure."""
    from discreet.model.sdmx import CONF_STATUS, OBS_STATUS, OF_VALUES

    coded = {"OBS_STATUS": OBS_STATUS, "CONF_STATUS": CONF_STATUS}
    texts = {numbers.name: numbers.texts for numbers in beside}
    return [
        _component(name, label, coded[name])
        if name in coded
        else _uncoded(name, label, texts.get(name, [""]))
        for name, label in OF_VALUES.items()
    ]


def _dimensions(release: Release, flow: Flow) -> list[dict[str, Any]]:
    from discreet.model.sdmx import sdmx_id
    from discreet.model.variable import TOTAL

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


def _uncoded(name: str, label: str, texts: list[str]) -> dict[str, Any]:
    return {"id": name, "name": label, "values": [{"name": text} for text in texts]}


def _observations(release: Release, flow: Flow, beside: list[_Beside]) -> bytes:
    """One line a cell: `"0:1":[12,0,0],`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.model.columns import numbers_of, places_of
    from discreet.model.sdmx import CONF_PLACES, OBS_STATUS

    shown = {d.name: pa.array(places).cast(pa.large_string()) for d, places in places_of(release)}
    key = pc.binary_join_element_wise(*(shown.get(name, _text("0")) for name in flow.dimensions), _text(":"))
    value = numbers_of(release)[0]
    number = pc.if_else(pa.array(value.missing), _text("null"), number_texts(value))
    first = pc.binary_join_element_wise(_text('"'), key, _text('":['), number, _text(""))
    status = pa.array(release.status.ravel())
    coded = [
        pa.array([str(place) for place in each], pa.large_string()).take(status)
        for each in (range(len(OBS_STATUS)), CONF_PLACES)
    ]
    columns = [first, *coded, *_in_order(beside)]
    columns[-1] = pc.binary_join_element_wise(columns[-1], _text("],"), _text(""))
    return joined_lines(columns, ",")


def _in_order(beside: list[_Beside]) -> list[pa.Array | pa.Scalar]:
    """The columns up to the last that there is, each in its place among all attributes."""
    from discreet.model.sdmx import OF_VALUES

    there = {numbers.name: numbers.places for numbers in beside}
    names = list(OF_VALUES)[2:]
    last = max((names.index(name) + 1 for name in there), default=0)
    return [there.get(name, _text("null")) for name in names[:last]]


def _text(text: str) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


FORMAT = Format(
    "sdmx-json",
    "SDMX-JSON",
    "SDMX-JSON 1.0",
    "json",
    "application/vnd.sdmx.data+json; version=1.0.0-wd; charset=utf-8",
    to_sdmx_json,
    owns_extension=False,
)
