"""Data of a dataflow: a whole protected table, cut to the key, as SDMX-JSON or SDMX-CSV.

`Accept` chooses between the two as SDMX's clients ask: `application/vnd.sdmx.data+csv` or `text/csv` is SDMX-CSV, and
everything else SDMX-JSON. A client that wants SDMX-ML gets SDMX-JSON too: sdmx1 asks for SDMX-ML wherever it knows a
structure, and reads by the type of the answer.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import Refused
from discreet.formats import Format, named_format
from discreet.formats.sdmx_csv import sdmx_csv
from discreet.formats.sdmx_json import sdmx_json
from discreet.model.cut import cut
from discreet.model.request import TableRequest
from discreet.server.answer import check
from discreet.server.negotiation import accepted_ranges
from discreet.server.sdmx.key import read_key, table_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.answer.door import Door
    from discreet.answer.question import Question
    from discreet.model.release import Release
    from discreet.model.sdmx import Flow
    from discreet.server.sdmx.flows import DescribedFlow
    from discreet.server.sdmx.key import Wanted

_WRITERS: dict[str, Callable[[Release, Flow], Iterator[bytes]]] = {
    "sdmx-json": sdmx_json,
    "sdmx-csv": sdmx_csv,
}
DATA_FORMATS = tuple(_WRITERS)
_CSV = ("application/vnd.sdmx.data+csv", "text/csv")
_JSON = ("application/vnd.sdmx.data+json", "application/json", "text/json", "*/*")


@dataclass(frozen=True, slots=True)
class DataQuery:
    """What is asked of a dataflow, checked against the rules of shape.

    Args:
        described: The dataflow.
        wanted: For each dimension of which not everything is wanted, the codes that are.
        question: The question of the whole table.
    """

    described: DescribedFlow
    wanted: Wanted
    question: Question


def read_query(door: Door, described: DescribedFlow, key: str) -> DataQuery:
    """The question that a key asks.

    Raises:
        BadRequest, UnknownCategory: The key cannot be read.
        Refused: A rule does not allow the table of its variables.
    """
    wanted = read_key(described, key)
    variables = table_variables(described, wanted)
    asked = TableRequest(door.dataset.id, rows=variables, measure=described.measure.name)
    try:
        return DataQuery(described, wanted, check(door, asked))
    except Refused as error:
        refusal = copy(error)
        refusal.advice = f"{error.advice} {_advice(described)}".strip()
        raise refusal from None


def _advice(described: DescribedFlow) -> str:
    return (
        f'Write _T in the key for a dimension that the table shall not have, in the dataflow "{described.dataset.id}"; '
        f'or ask for the dataflow of fewer variables, as in "{described.smaller}".'
    )


def document(release: Release, query: DataQuery, form: Format) -> Iterator[bytes]:
    """The cells of a whole table that are wanted, as a document in pieces."""
    shown = {d.name for d in release.dimensions}
    codes = {name: codes for name, codes in query.wanted.items() if name in shown}
    return _WRITERS[form.name](cut(release, codes), query.described.flow)


def negotiated(accept: str) -> Format:
    """The format that a client wants: of those that it names and we have, the one it likes best.

    >>> negotiated("application/vnd.sdmx.data+csv;version=2.0.0").name, negotiated("*/*").name
    ('sdmx-csv', 'sdmx-json')
    """
    best, name = 0.0, "sdmx-json"
    for media_type, quality in accepted_ranges(accept):
        if media_type in _CSV + _JSON and quality > best:
            best, name = quality, "sdmx-csv" if media_type in _CSV else "sdmx-json"
    return named_format(name)
