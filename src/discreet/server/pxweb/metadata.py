"""What a table has: its variables, values and code lists, as a JSON-stat dataset without data.

PxWeb's profile of JSON-stat is narrow: indices are objects, every dimension and value has a label, labels of dimensions
are all different, and nothing stands at the top that JSON-stat does not name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from discreet.formats.json_stat import json_dimension
from discreet.model.variable import TOTAL
from discreet.server.pxweb.code_lists import code_lists
from discreet.server.pxweb.contents import contents_dimension, contents_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.answer.door import Door
    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension
    from discreet.server.pxweb.contents import Content

#: pxwebpy calls the column of numbers so: a dimension of this label would be overwritten.
_TAKEN = ("value",)


def metadata_document(
    door: Door, dimensions: Iterable[Dimension], contents: Iterable[Content], base: str
) -> dict[str, Any]:
    """The metadata of a table, for the dimensions as they would be shown."""
    dataset = door.dataset
    listed = list(dimensions)
    described = described_dimensions(dataset, listed, contents, base)
    names = list(described)
    return {
        "version": "2.0",
        "class": "dataset",
        "label": dataset.label,
        "source": dataset.source,
        "note": [door.note()],
        "role": roles(dataset, listed),
        "id": names,
        "size": [len(described[name]["category"]["index"]) for name in names],
        "dimension": described,
        "value": [],
        "extension": {
            **px_extension(dataset, heading=names[-2:], stub=names[:-2]),
            "digest": door.digest,
            "dataset_version": dataset.version,
            "promise": list(door.promise()),
        },
    }


def described_dimensions(
    dataset: Dataset, dimensions: Iterable[Dimension], contents: Iterable[Content], base: str
) -> dict[str, dict[str, Any]]:
    """Every dimension by its name, the contents last, with labels that are all different."""
    found = {dimension.name: _dimension(dataset, dimension, base) for dimension in dimensions}
    found[contents_name(dataset)] = contents_dimension(contents)
    seen = set(_TAKEN)
    for name, described in found.items():
        while described["label"].casefold() in seen:
            described["label"] = f"{described['label']} ({name})"
        seen.add(described["label"].casefold())
    return found


def _dimension(dataset: Dataset, dimension: Dimension, base: str) -> dict[str, Any]:
    lists = [
        {
            "id": each.id,
            "label": each.label,
            "type": each.type,
            "links": [link(f"{base}/codelists/{quote(each.id)}", "metadata")],
        }
        for each in code_lists(dataset, dimension.name)
    ]
    extension = {
        "elimination": True,
        "eliminationValueCode": TOTAL,
        "show": "value",
        "codelists": lists,
        "codeLists": lists,  # the spelling before PxWebApi 2.0, which pxwebpy reads
    }
    return {**json_dimension(dimension), "extension": extension}


def roles(dataset: Dataset, dimensions: Iterable[Dimension]) -> dict[str, list[str]]:
    """Which dimension is what: geography, and the contents."""
    geography = [dimension.name for dimension in dimensions if dimension.geography]
    return {**({"geo": geography} if geography else {}), "metric": [contents_name(dataset)]}


def px_extension(dataset: Dataset, *, heading: Iterable[str], stub: Iterable[str]) -> dict[str, Any]:
    """What PxWeb calls by the keywords of a PX file; the first note is mandatory."""
    return {
        "noteMandatory": {"0": True},
        "px": {
            "tableid": dataset.id,
            "matrix": dataset.id,
            "decimals": 0,
            "language": "en",
            "aggregallowed": False,
            "contents": dataset.unit,
            "description": dataset.label,
            "subject-code": dataset.id,
            "subject-area": dataset.label,
            "heading": list(heading),
            "stub": list(stub),
        },
    }


def link(href: str, rel: str) -> dict[str, str]:
    """One link."""
    return {"rel": rel, "hreflang": "en", "href": href}
