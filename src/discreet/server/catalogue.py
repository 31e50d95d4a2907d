"""The datasets as catalogues of others harvest them: DCAT-AP as JSON-LD, and schema.org for search engines.

    GET /.well-known/dcat        a dcat:Catalog with every dataset, each with a distribution a format
    a dataset's page             one schema.org Dataset as a data block

Both tell what the description tells and no more: no number of a table, no number of records. The file that a distribution
offers is the table that the dataset's page shows first.

Source: DCAT-AP 3.0 (https://semiceu.github.io/DCAT-AP/releases/3.0.0/), https://schema.org/Dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.answer.measures import default_measure
from discreet.errors import DiscreetError
from discreet.formats import formats
from discreet.model.request import TableRequest
from discreet.server import snippets
from discreet.server.address import here
from discreet.server.form import default_axes
from discreet.server.negotiation import media_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.door import Door
    from discreet.formats import Format
    from discreet.model.variable import Variable
    from discreet.workspace.options import Options

CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA_TYPES = "http://www.iana.org/assignments/media-types/"
_PUBLIC = "http://publications.europa.eu/resource/authority/access-right/PUBLIC"
_UNNAMED = "The office that runs this server"
_ABOUT = "Protected tables from microdata: noise is put on every count before it leaves."


def dcat_catalogue(found: Sequence[tuple[Door, str]], options: Options) -> dict[str, Any]:
    """The catalogue of all datasets, each with the time of its load."""
    base = here().base
    return {
        "@context": CONTEXT,
        "@id": f"{base}/.well-known/dcat",
        "@type": "dcat:Catalog",
        "dct:title": f"Tables of {options.publisher}" if options.publisher else "Tables",
        "dct:description": _ABOUT,
        "dct:publisher": _agent(options.publisher or _UNNAMED),
        "foaf:homepage": {"@id": f"{base}/"},
        "dcat:service": _service([door.dataset.id for door, _ in found]),
        "dcat:dataset": [_dcat_dataset(door, loaded, options) for door, loaded in found],
    }


def schema_org(door: Door, options: Options) -> dict[str, Any]:
    """A dataset for search engines."""
    dataset, page = door.dataset, _page(door)
    told = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "@id": page,
        "url": page,
        "name": dataset.label,
        "description": _about(door),
        "identifier": door.digest,
        "version": dataset.version,
        "temporalCoverage": dataset.about.temporal or dataset.reference_date,
        "spatialCoverage": dataset.about.spatial,
        "keywords": list(dataset.about.keywords),
        "creditText": dataset.source,
        "license": _licence(door, options),
        "publisher": _organisation(door, options),
        "isAccessibleForFree": True,
        "variableMeasured": [_measured(variable) for variable in dataset.variables],
        "includedInDataCatalog": {"@type": "DataCatalog", "url": f"{here().base}/"},
        "distribution": [
            {
                "@type": "DataDownload",
                "name": form.label,
                "encodingFormat": media_type(form),
                "contentUrl": address,
            }
            for form, address in _files(door)
        ],
    }
    return _known(told)


def _dcat_dataset(door: Door, loaded: str, options: Options) -> dict[str, Any]:
    dataset, page = door.dataset, _page(door)
    told = {
        "@id": page,
        "@type": "dcat:Dataset",
        "dct:identifier": dataset.id,
        "dct:title": dataset.label,
        "dct:description": _about(door),
        "dct:publisher": _agent(_publisher(door, options)),
        "dct:source": dataset.source,
        "dct:accessRights": {"@id": _PUBLIC},
        "dct:modified": {"@type": "xsd:dateTime", "@value": loaded} if loaded else None,
        "dcat:version": dataset.version,
        "dcat:keyword": [*dataset.about.keywords, *(variable.label for variable in dataset.variables)],
        "dct:spatial": {"@type": "dct:Location", "rdfs:label": dataset.about.spatial}
        if dataset.about.spatial
        else None,
        "dct:temporal": _period(dataset.about.temporal or dataset.reference_date),
        "dcat:contactPoint": _contact(dataset.about.contact),
        "dcat:landingPage": {"@id": page},
        "dcat:distribution": [_distribution(door, form, address, options) for form, address in _files(door)],
    }
    return _known(told)


def _distribution(door: Door, form: Format, address: str, options: Options) -> dict[str, Any]:
    told = {
        "@type": "dcat:Distribution",
        "dct:title": f"{door.dataset.label}: {form.label}",
        "dcat:accessURL": {"@id": _page(door)},
        "dcat:downloadURL": {"@id": address} if address else None,
        "dcat:mediaType": {"@id": _MEDIA_TYPES + media_type(form)},
        "dct:license": {"@id": licence} if (licence := _licence(door, options)) else None,
    }
    return _known(told)


def _service(ids: Sequence[str]) -> dict[str, Any]:
    base = here().base
    return {
        "@id": f"{base}/api",
        "@type": "dcat:DataService",
        "dct:title": "Tables by HTTP",
        "dcat:endpointURL": {"@id": f"{base}/api/datasets"},
        "dcat:endpointDescription": {"@id": f"{base}/openapi.json"},
        "dcat:servesDataset": [{"@id": f"{base}/datasets/{dataset_id}"} for dataset_id in ids],
    }


def _files(door: Door) -> list[tuple[Format, str]]:
    """Every format with the address of the first table in it; empty where that table needs another question."""
    dataset = door.dataset
    offered = [form for form in formats() if form.installed and not form.is_picture]
    rows, columns = default_axes(dataset)
    asked = TableRequest(dataset.id, rows, columns, measure=default_measure(dataset))
    try:
        first = door.check(door.start(asked)).request
    except DiscreetError:
        return [(form, "") for form in offered]
    base = here().base
    return [(form, base + snippets.api_path(first, form.name)) for form in offered]


def _about(door: Door) -> str:
    return f"{door.dataset.description} {door.note()}".strip()


def _publisher(door: Door, options: Options) -> str:
    return door.dataset.about.publisher or options.publisher or door.dataset.source or _UNNAMED


def _licence(door: Door, options: Options) -> str:
    return door.dataset.about.licence or options.licence or ""


def _organisation(door: Door, options: Options) -> dict[str, Any]:
    contact = door.dataset.about.contact
    kind = "email" if "@" in contact else "url"
    named = {"@type": "Organization", "name": _publisher(door, options)}
    return named | ({"contactPoint": {"@type": "ContactPoint", kind: contact}} if contact else {})


def _measured(variable: Variable) -> str | dict[str, Any]:
    """A variable: its label, or what more is told of it."""
    told = {"description": variable.description, "sameAs": variable.classification}
    known = {name: text for name, text in told.items() if text}
    return {"@type": "PropertyValue", "name": variable.label, **known} if known else variable.label


def _contact(contact: str) -> dict[str, Any] | None:
    if not contact:
        return None
    place = (
        {"vcard:hasEmail": {"@id": f"mailto:{contact}"}}
        if "@" in contact
        else {"vcard:hasURL": {"@id": contact}}
    )
    return {"@type": "vcard:Kind", "vcard:fn": contact, **place}


def _period(temporal: str) -> dict[str, Any] | None:
    """A date, or two with a slash between them, as a period of time."""
    if not temporal:
        return None
    start, _, end = temporal.partition("/")
    dates = {"dcat:startDate": start, "dcat:endDate": end or start}
    return {
        "@type": "dct:PeriodOfTime",
        **{name: {"@type": "xsd:date", "@value": date} for name, date in dates.items()},
    }


def _agent(name: str) -> dict[str, Any]:
    return {"@type": "foaf:Agent", "foaf:name": name}


def _page(door: Door) -> str:
    return f"{here().base}/datasets/{door.dataset.id}"


def _known(told: dict[str, Any]) -> dict[str, Any]:
    """What is known of a thing: empty lines are left out."""
    return {name: value for name, value in told.items() if value}
