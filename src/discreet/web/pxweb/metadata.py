"""The metadata of a table: a JSON-stat dataset without data, its code lists and its contents variable.

The values of the contents variable are the dataset's measures, the default first; a measure with sampling errors also has
its errors and the noise's share of them, since PxWeb clients read nothing but values. The code lists of a variable:

    vs_town_area                the categories themselves                                   Valueset
    agg_town_area.region        a coarser level, or a declared code list (`valueMap`)       Aggregation
    vs_town_area.region-area    all levels of a hierarchy, each followed by its parts       Valueset

PxWeb's profile of JSON-stat is narrow: indices are objects, every dimension and value has a label, labels of dimensions
are unique, and there are no additional top-level keys.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from discreet.formats.writers.json_stat import json_dimension
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import level_label, level_names
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.release.dataset_registry import DatasetService
from discreet.release.measures import default_measure, measures_of

_NAME = "ContentsCode"
CONTENTS_LABEL = "Contents"
_ERRORS = {
    "relative_standard_error": "relative standard error, sampling and noise together",
    "noise_share": "share of the noise in the error's variance",
}


@dataclass(frozen=True, slots=True)
class Content:
    """One value of the contents variable: a measure of the request, and which numbers of a release (`model/columns.py`)."""

    code: str
    label: str
    measure: str
    numbers: str
    unit: str
    decimals: int


def contents_name(dataset: Dataset) -> str:
    """The code of the contents variable, unlike any variable's."""
    taken = {variable.name.casefold() for variable in dataset.variables}
    name = _NAME
    while name.casefold() in taken:
        name += "_"
    return name


def contents_of(dataset: Dataset) -> tuple[Content, ...]:
    """The values of a dataset's contents variable, the default first."""
    found = []
    for measure in measures_of(dataset):
        title = measure.title(dataset)
        found.append(
            Content(measure.name, title, measure.name, "value", measure.unit(dataset), measure.decimals)
        )
        if measure.has_errors:
            found += [
                Content(f"{measure.name}_{name}", f"{title}: {meaning}", measure.name, name, "percent", 1)
                for name, meaning in _ERRORS.items()
            ]
    return tuple(found)


def contents_dimension(contents: Iterable[Content]) -> dict[str, Any]:
    """The contents variable as a dimension of JSON-stat."""
    listed = list(contents)
    return {
        "label": CONTENTS_LABEL,
        "category": {
            "index": {content.code: place for place, content in enumerate(listed)},
            "label": {content.code: content.label for content in listed},
            "unit": {
                content.code: {"base": content.unit, "decimals": content.decimals} for content in listed
            },
        },
        "extension": {"elimination": False, "show": "value", "codelists": [], "codeLists": []},
    }


@dataclass(frozen=True, slots=True)
class CodeList:
    """One code list of a variable; no levels stand for its own categories.

    The id is unique on the server: no dataset id has an underscore, and no variable name a dot.
    """

    id: str
    label: str
    variable: str
    levels: tuple[str, ...]
    aggregates: bool

    @property
    def type(self) -> str:
        """PxWeb's name of its kind."""
        return "Aggregation" if self.aggregates else "Valueset"


def code_lists(dataset: Dataset, variable: str) -> list[CodeList]:
    """The code lists of a variable; none without coarser levels."""
    coarser = level_names(dataset, variable)[:-1]
    if not coarser:
        return []
    start = f"{dataset.id}_{variable}"
    own = CodeList(f"vs_{start}", dataset.variable(variable).label, variable, (), aggregates=False)
    groups = [
        CodeList(f"agg_{start}.{level}", level_label(dataset, level), variable, (level,), aggregates=True)
        for level in coarser
    ]
    paths = [h.levels[: h.levels.index(variable) + 1] for h in dataset.hierarchies if variable in h.levels]
    nested = [
        CodeList(
            f"vs_{start}.{'-'.join(levels)}",
            " > ".join(level_label(dataset, each) for each in levels),
            variable,
            levels,
            aggregates=False,
        )
        for levels in paths
        if len(levels) > 1
    ]
    return [own, *groups, *nested]


def dimension_of(service: DatasetService, variable: str, levels: tuple[str, ...] = ()) -> Dimension:
    """The values of a variable at some levels, the total last."""
    dataset = service.dataset
    shown = ((variable, levels),) if levels else ()
    request = TableRequest(dataset.id, rows=(variable,), levels=shown, measure=default_measure(dataset))
    return service.read(request).shape.dimensions[0]


def code_list_document(
    service: DatasetService, wanted: CodeList, links: list[dict[str, str]]
) -> dict[str, Any]:
    """The JSON of a code list."""
    dimension = dimension_of(service, wanted.variable, wanted.levels)
    values = [
        {"code": code, "label": label, "valueMap": [dimension.base[place] for place in members]}
        for code, label, members in zip(dimension.codes, dimension.labels, dimension.members(), strict=True)
    ]
    return {
        "id": wanted.id,
        "label": wanted.label,
        "language": "en",
        "languages": ["en"],
        "type": wanted.type,
        "elimination": True,
        "eliminationValueCode": dimension.codes[-1],
        "values": values,
        "links": links,
    }


#: The label of pxwebpy's column of numbers, which would overwrite a dimension of this label.
_TAKEN = ("value",)


def metadata_document(
    service: DatasetService, dimensions: Iterable[Dimension], contents: Iterable[Content], base: str
) -> dict[str, Any]:
    """The metadata of a table with these dimensions."""
    dataset = service.dataset
    listed = list(dimensions)
    described = describe_dimensions(dataset, listed, contents, base)
    names = list(described)
    return {
        "version": "2.0",
        "class": "dataset",
        "label": dataset.label,
        "source": dataset.source,
        "note": [service.note()],
        "role": roles(dataset, listed),
        "id": names,
        "size": [len(described[name]["category"]["index"]) for name in names],
        "dimension": described,
        "value": [],
        "extension": {
            **px_extension(dataset, heading=names[-2:], stub=names[:-2]),
            "digest": service.digest,
            "dataset_version": dataset.version,
            "promise": list(service.promise()),
        },
    }


def describe_dimensions(
    dataset: Dataset, dimensions: Iterable[Dimension], contents: Iterable[Content], base: str
) -> dict[str, dict[str, Any]]:
    """Every dimension by its name, the contents last, with unique labels."""
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
            "links": [link_object(f"{base}/codelists/{quote(each.id)}", "metadata")],
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
    """The JSON-stat roles: geography and the contents."""
    geography = [dimension.name for dimension in dimensions if dimension.geography]
    return {**({"geo": geography} if geography else {}), "metric": [contents_name(dataset)]}


def px_extension(dataset: Dataset, *, heading: Iterable[str], stub: Iterable[str]) -> dict[str, Any]:
    """The keywords of a PX file; the first note is mandatory."""
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


def link_object(href: str, rel: str) -> dict[str, str]:
    """The JSON of a link."""
    return {"rel": rel, "hreflang": "en", "href": href}
