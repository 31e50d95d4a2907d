"""The datasets of a server, and their public descriptions as the API returns them; never a number of records."""

import logging
from dataclasses import asdict, dataclass
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from discreet.errors import DiscreetError, UnknownVersion
from discreet.model.dataset import Dataset
from discreet.model.variable import Variable
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.release.methodology_document import SurveyDocument, survey_document
from discreet.web.i18n.translation import dataset_in_language
from discreet.web.urls import link
from discreet.workspace.versions.history import VersionFacts

log = logging.getLogger("discreet.server")


def open_datasets(registry: DatasetRegistry) -> list[DatasetService]:
    """Every dataset that can be opened; a damaged one is logged and left out. If none can, the first error is raised."""
    found: list[DatasetService] = []
    failures: list[DiscreetError] = []
    for dataset_id in registry.ids():
        try:
            found.append(registry.open(dataset_id))
        except UnknownVersion as error:  # a registry of a version that not every dataset has
            failures.append(error)
        except DiscreetError as error:
            log.error("The dataset %s is left out: %s", dataset_id, error)  # noqa: TRY400 - the message is complete
            failures.append(error)
    if failures and not found:
        raise failures[0]
    return found


class CategoryDocument(TypedDict):
    """One category; `parent` is its code one level up a hierarchy."""

    code: str
    label: str
    parent: str | None


class VariableDocument(TypedDict):
    """One variable with its categories in order, and the address of their shapes."""

    name: str
    label: str
    description: str
    topic: str
    geography: bool
    categories: list[CategoryDocument]
    universe: str
    notes: str
    source: str
    classification: str
    boundaries: str | None


class HierarchyDocument(TypedDict):
    """The levels of a classification, coarse to fine, as names of variables."""

    name: str
    label: str
    levels: list[str]
    geography: bool


class GroupDocument(TypedDict):
    """One category of a code list, with the codes that it groups."""

    code: str
    label: str
    members: list[str]


class CodeListDocument(TypedDict):
    """A named grouping of a variable's categories: `levels=variable=name` shows it."""

    name: str
    label: str
    variable: str
    categories: list[GroupDocument]


class ProtectionDocument(TypedDict):
    """What is done to the counts, in words and limits."""

    method: str
    additivity: str
    promise: list[str]
    max_variables: int
    max_cells: int


class SummaryDocument(TypedDict):
    """A dataset in a list."""

    id: str
    label: str
    unit: str
    population: str
    source: str
    reference_date: str
    version: str
    variables: list[str]
    href: str


class ListDocument(TypedDict):
    """All datasets of the server."""

    datasets: list[SummaryDocument]


@dataclass(frozen=True, slots=True)
class VersionsDocument:
    """The versions of a dataset, the newest last."""

    dataset: str
    versions: list[VersionFacts]


class AboutDocument(TypedDict):
    """Who publishes a dataset, under which licence, and when it changes; empty where nothing is told."""

    publisher: str
    licence: str
    contact: str
    keywords: list[str]
    spatial: str
    temporal: str
    next_update: str


class DatasetDocument(TypedDict):
    """A dataset in full."""

    id: str
    label: str
    description: str
    unit: str
    population: str
    source: str
    reference_date: str
    version: str
    digest: str
    about: AboutDocument
    note: str
    variables: list[VariableDocument]
    hierarchies: list[HierarchyDocument]
    code_lists: list[CodeListDocument]
    protection: ProtectionDocument
    table_href: str
    survey: NotRequired[SurveyDocument]


def dataset_summary(dataset: Dataset) -> SummaryDocument:
    """A dataset in a list."""
    own = {"variables": [v.name for v in dataset.variables], "href": link(f"/api/datasets/{dataset.id}")}
    return cast("SummaryDocument", _values(dataset, SummaryDocument) | own)


def dataset_document(service: DatasetService) -> DatasetDocument:
    """A dataset with its variables and its protection."""
    dataset, protection = dataset_in_language(service.dataset), service.dataset.protection
    own = {
        "digest": service.digest,
        "about": asdict(dataset.about),
        "note": service.note(),
        "variables": [_variable(variable, dataset) for variable in dataset.variables],
        "hierarchies": [_values(each, HierarchyDocument) for each in dataset.hierarchies],
        "code_lists": [
            _values(each, CodeListDocument)
            | {"categories": [dict(zip(("code", "label", "members"), g, strict=True)) for g in each.groups]}
            for each in dataset.code_lists
        ],
        "protection": _values(protection, ProtectionDocument) | {"promise": service.promise()},
        "table_href": link(f"/api/datasets/{dataset.id}/table"),
    }
    document = _values(dataset, DatasetDocument) | own
    document["survey"] = survey_document(dataset)
    if document["survey"] is None:  # its document is that of 0.2.0
        del document["survey"]
    return cast("DatasetDocument", document)


def _values(source: object, kind: Any) -> dict[str, Any]:
    """The fields of a document, in their order, as attributes of a source; None for what it does not have."""
    return {name: getattr(source, name, None) for name in kind.__annotations__}


def _variable(variable: Variable, dataset: Dataset) -> dict[str, Any]:
    place = link(f"/api/datasets/{dataset.id}/boundaries/{variable.name}")
    return _values(variable, VariableDocument) | {
        "geography": variable.name in dataset.geography,
        "categories": [_values(each, CategoryDocument) for each in variable.categories],
        "boundaries": place if variable.name in dataset.boundaries else None,
    }
