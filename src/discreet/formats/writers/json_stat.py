"""JSON-stat 2.0, compact: dense values, category indices as objects, status by position.

The mandatory note is `note[0]`; the guarantee is under `extension.confidentiality`. Further numbers are lists under
`extension`, by their names. A total is the category `_T`. `json_stat` is the document as a dictionary in which long lists
are `Later`; `json_pieces` writes it, each long list block by block.
Read by pyjstat, rjstat and jsonstat-toolkit; https://json-stat.org/full/.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

import numpy as np
import pyarrow as pa
from typing_extensions import TypedDict

from discreet.formats.writers.csv import join_lines, number_texts, take, text_array, text_scalar
from discreet.model.columns import NONE, blocks, numbers_of
from discreet.model.dataset import Dataset
from discreet.model.release import STATUS_MEANING, STATUSES, Release
from discreet.model.shape import Dimension


class JsonStatCategory(TypedDict):
    """The categories of a dimension: places and labels by code, and the parts of a category by its code."""

    index: dict[str, int]
    label: dict[str, str]
    child: NotRequired[dict[str, list[str]]]


class JsonStatDimension(TypedDict):
    """One dimension."""

    label: str
    category: JsonStatCategory


class JsonStatConfidentiality(TypedDict):
    """What protects the numbers; `noise` and its kin are the public distribution of the noise."""

    method: str
    perturbed: bool
    additivity: str
    promise: list[str]
    verdict: NotRequired[dict[str, Any]]


class JsonStatStatus(TypedDict):
    """What the letters of `status` mean."""

    label: dict[str, str]


class JsonStatExtension(TypedDict):
    """What Discreet tells beside JSON-stat."""

    dataset: str
    dataset_version: str
    digest: str
    unit: str
    population: str
    reference_date: str
    query: str
    measure: str
    status: JsonStatStatus
    confidentiality: JsonStatConfidentiality
    signed: NotRequired[list[float | None]]
    relative_standard_error: NotRequired[list[float | None]]
    noise_share: NotRequired[list[float | None]]
    percent: NotRequired[list[float | None]]
    rank: NotRequired[list[int | None]]
    meaning: NotRequired[dict[str, str]]
    selection: NotRequired[dict[str, list[str]]]
    design_effect: NotRequired[float]


_ClassJsonStat = TypedDict("_ClassJsonStat", {"class": Literal["dataset"]})


class JsonStatDocument(_ClassJsonStat):
    """A table as JSON-stat 2.0: dense values in the order of the dimensions, the last one runs fastest."""

    version: Literal["2.0"]
    label: str
    source: str
    note: list[str]
    id: list[str]
    size: list[int]
    dimension: dict[str, JsonStatDimension]
    value: list[float | None]
    status: dict[str, str]
    extension: JsonStatExtension
    role: NotRequired[dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Later:
    """A long list or object of a document, made when it is written.

    Args:
        brackets: `[]` or `{}`.
        items: Yields the items in pieces, each item followed by a comma.
    """

    brackets: str
    items: Callable[[], Iterator[bytes]]

    def pieces(self) -> Iterator[bytes]:
        yield self.brackets[0].encode()
        before = b""
        for piece in filter(None, self.items()):
            yield before
            before = piece
        yield before[:-1] + self.brackets[1].encode()


def to_json_stat(release: Release) -> Iterator[bytes]:
    """The release as a JSON-stat 2.0 dataset."""
    return json_pieces(json_stat(release))


def json_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """The JSON of a document that may hold `Later`, compact, in pieces.

    >>> b"".join(json_pieces({"a": Later("[]", lambda: iter([b"1,2,", b"3,"])), "b": None}))
    b'{"a":[1,2,3],"b":null}'
    """
    mark, waiting = secrets.token_hex(16), []  # a text that no document contains

    def later(value: Any) -> str:
        if not isinstance(value, Later):
            raise TypeError(f"{type(value).__name__} is not JSON")
        waiting.append(value)
        return mark

    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=later)
    first, *others = text.split(f'"{mark}"')
    yield first.encode()
    for value, part in zip(waiting, others, strict=True):
        yield from value.pieces()
        yield part.encode()


def json_stat(release: Release) -> dict[str, Any]:
    """The release as the JSON-stat 2.0 structure."""
    dataset = release.dataset
    names = [numbers.name for numbers in numbers_of(release, NONE)]
    columns = {name: _column(release, number) for number, name in enumerate(names)}
    document: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": release.title,
        "source": dataset.source,
        "note": list(release.notes),
        "id": [dimension.name for dimension in release.dimensions],
        "size": [dimension.length for dimension in release.dimensions],
        "dimension": {
            d.name: {**json_dimension(d), **_variable_notes(dataset, d.name)} for d in release.dimensions
        },
        "value": columns.pop("value"),
        "status": Later("{}", lambda: _statuses(release)),
        "extension": _extension(release, columns),
    }
    geography = [dimension.name for dimension in release.dimensions if dimension.geography]
    if geography:
        document["role"] = {"geo": geography}
    return document


def _column(release: Release, number: int) -> Later:
    """One column of numbers in the order of the cells; null where nothing is released."""

    def items() -> Iterator[bytes]:
        for lines in blocks(release):
            yield join_lines([number_texts(numbers_of(release, lines)[number], missing="null")], "", ",")

    return Later("[]", items)


def _statuses(release: Release) -> Iterator[bytes]:
    """The status letters by position."""
    letters = text_array(f'":"{letter}"' for letter in STATUSES)
    for lines in blocks(release):
        status = release.status.flat[lines]
        marked = np.flatnonzero(status)
        places = pa.array(marked + lines.start).cast(pa.large_string())
        yield join_lines([text_scalar('"'), places, take(letters, status[marked])], "", ",")


def json_dimension(dimension: Dimension) -> JsonStatDimension:
    """One dimension, with its hierarchy."""
    index = {code: place for place, code in enumerate(dimension.codes)}
    labels = dict(zip(dimension.codes, dimension.labels, strict=True))
    category: JsonStatCategory = {"index": index, "label": labels}
    children: dict[str, list[str]] = {}
    for output in dimension.outputs:
        if output.parent >= 0:
            children.setdefault(dimension.outputs[output.parent].code, []).append(output.code)
    if children:
        category["child"] = children
    return {"label": dimension.label, "category": category}


def _variable_notes(dataset: Dataset, name: str) -> dict[str, Any]:
    """The metadata of a variable: notes as JSON-stat has them, the rest under its extension."""
    if name not in {variable.name for variable in dataset.variables}:
        return {}
    variable = dataset.variable(name)
    metadata = {
        "definition": variable.description,
        "universe": variable.universe,
        "source": variable.source,
        "classification": variable.classification,
    }
    known = {key: text for key, text in metadata.items() if text}
    return ({"note": [variable.notes]} if variable.notes else {}) | ({"extension": known} if known else {})


def _statistic(release: Release) -> dict[str, Any]:
    """Unit and decimals of the numbers of a numeric variable."""
    if release.measure.magnitude is None:
        return {}
    decimals = release.measure.decimals
    return {"value_unit": {"label": release.measure.unit(release.dataset), "decimals": decimals}}


def _extension(release: Release, columns: dict[str, Later]) -> dict[str, Any]:
    dataset = release.dataset
    return {
        "dataset": dataset.id,
        "dataset_version": dataset.version,
        "digest": release.digest,
        "unit": dataset.unit,
        "population": dataset.population,
        "reference_date": dataset.reference_date,
        **({"about": about} if (about := dataset.about.as_json()) else {}),
        "query": release.query,
        **({} if release.selection is None else {"selection": dict(release.selection.codes)}),
        "measure": release.request.measure,
        **_statistic(release),
        **columns,
        **({"meaning": meanings} if (meanings := {c.name: c.meaning for c in release.derived}) else {}),
        "status": {"label": STATUS_MEANING},
        "confidentiality": {
            "method": dataset.protection.method,
            "perturbed": True,
            "additivity": release.request.additivity or dataset.protection.additivity,
            **release.distribution.document(),
            "promise": list(release.promise),
            **({} if release.verdict is None else {"verdict": dict(release.verdict)}),
        },
    }
