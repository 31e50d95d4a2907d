"""The feed of versions: every version of each dataset and when it was loaded, as Atom.

    GET /feed.atom                   one entry a version, the newest first; a new load is a new entry
    GET /datasets/{id}/feed.atom     the same of one dataset

An entry tells the label, the version and its digest, whether it is served, answered or not answered any more, and of the
one that is served the reference date and the note that every reader must be told. It tells nothing of what changed from
one version to the next: that would be about people. A version whose load nobody wrote down has no entry, since Atom
demands a time.

Source: RFC 4287.

The datasets as catalogues of others harvest them: DCAT-AP as JSON-LD, and schema.org for search engines.

    GET /.well-known/dcat        a dcat:Catalog with every dataset, each with a distribution a format
    a dataset's page             one schema.org Dataset as a data block

Both tell what the description tells and no more: no number of a table, no number of records. The file that a distribution
offers is the table that the dataset's page shows first.

Source: DCAT-AP 3.0 (https://semiceu.github.io/DCAT-AP/releases/3.0.0/), https://schema.org/Dataset.

What finds the datasets: the catalogue in DCAT-AP, the links that RFC 9727 asks for, and the feed of versions.

GET /.well-known/dcat    GET /.well-known/api-catalog    GET /feed.atom    GET /datasets/{id}/feed.atom
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID
from xml.etree import ElementTree as ET

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.formats import Format, formats
from discreet.model.request import TableRequest
from discreet.model.variable import Variable
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.release.measures import default_measure
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.negotiation import media_type
from discreet.web.pages import links as snippets
from discreet.web.pages.builder import default_axes
from discreet.web.query import refuse_unknown
from discreet.web.responses import conditional, strong_etag
from discreet.web.templating import plain
from discreet.web.urls import site_url
from discreet.workspace.options import Options
from discreet.workspace.versions.history import SHORT, VersionFacts

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
#: No character of XML, and left by `plain`.
_NO_XML = re.compile("[\ufffe\uffff]")
#: When nothing was loaded yet: Atom demands a time of the feed itself.
_NEVER = "1970-01-01T00:00:00Z"


def atom_feed(
    found: Sequence[tuple[DatasetService, Sequence[VersionFacts]]],
    publisher: str | None,
    path: str = "/feed.atom",
) -> bytes:
    """The versions whose load was written down, the newest first; `path` is where the feed itself is found."""
    base = site_url().base
    entries = [(facts.loaded, door, facts) for door, versions in found for facts in versions if facts.loaded]
    entries.sort(key=lambda item: (item[0], item[1].dataset.id, item[2].digest), reverse=True)
    feed = ET.Element("feed", {"xmlns": ATOM})
    _text(feed, "id", base + path)
    _text(feed, "title", "Versions of the datasets")
    _text(feed, "updated", entries[0][0] if entries else _NEVER)
    _text(ET.SubElement(feed, "author"), "name", publisher or "Discreet")
    ET.SubElement(feed, "link", {"rel": "self", "href": base + path})
    ET.SubElement(feed, "link", {"href": f"{base}/"})
    for _, door, facts in entries:
        _entry(feed, door, facts)
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _entry(feed: ET.Element, door: DatasetService, facts: VersionFacts) -> None:
    dataset, name = door.dataset, facts.version or facts.digest[:SHORT]
    entry = ET.SubElement(feed, "entry")
    _text(entry, "id", UUID(hex=facts.digest).urn)
    _text(entry, "title", f"{dataset.label}, version {name}")
    _text(entry, "updated", facts.loaded)
    also = "" if facts.current or facts.closed else f"?version={facts.digest[:SHORT]}"
    ET.SubElement(entry, "link", {"href": f"{site_url().base}/datasets/{dataset.id}{also}"})
    _text(entry, "summary", " ".join(_summary(door, facts)))


def _summary(door: DatasetService, facts: VersionFacts) -> list[str]:
    named = f"Version {facts.version} ({facts.digest[:SHORT]})".replace("  ", " ")
    if facts.closed:
        return [f"{named} is not answered.", facts.closed]
    if not facts.current:
        return [f"{named} was replaced, and is answered where a link names it."]
    dated = door.dataset.reference_date
    return [f"{named} is served.", *([f"Reference date: {dated}."] if dated else []), door.note()]


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NO_XML.sub("\ufffd", plain(text))


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


def dcat_catalogue(found: Sequence[tuple[DatasetService, str]], options: Options) -> dict[str, Any]:
    """The catalogue of all datasets, each with the time of its load."""
    base = site_url().base
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


def schema_org(door: DatasetService, options: Options) -> dict[str, Any]:
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
        "variableMeasured": [_variable_measured(variable) for variable in dataset.variables],
        "includedInDataCatalog": {"@type": "DataCatalog", "url": f"{site_url().base}/"},
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
    return _drop_empty(told)


def _dcat_dataset(door: DatasetService, loaded: str, options: Options) -> dict[str, Any]:
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
    return _drop_empty(told)


def _distribution(door: DatasetService, form: Format, address: str, options: Options) -> dict[str, Any]:
    told = {
        "@type": "dcat:Distribution",
        "dct:title": f"{door.dataset.label}: {form.label}",
        "dcat:accessURL": {"@id": _page(door)},
        "dcat:downloadURL": {"@id": address} if address else None,
        "dcat:mediaType": {"@id": _MEDIA_TYPES + media_type(form)},
        "dct:license": {"@id": licence} if (licence := _licence(door, options)) else None,
    }
    return _drop_empty(told)


def _service(ids: Sequence[str]) -> dict[str, Any]:
    base = site_url().base
    return {
        "@id": f"{base}/api",
        "@type": "dcat:DataService",
        "dct:title": "Tables by HTTP",
        "dcat:endpointURL": {"@id": f"{base}/api/datasets"},
        "dcat:endpointDescription": {"@id": f"{base}/openapi.json"},
        "dcat:servesDataset": [{"@id": f"{base}/datasets/{dataset_id}"} for dataset_id in ids],
    }


def _files(door: DatasetService) -> list[tuple[Format, str]]:
    """Every format with the address of the first table in it; empty where that table needs another question."""
    dataset = door.dataset
    offered = [form for form in formats() if form.installed and not form.is_picture]
    rows, columns = default_axes(dataset)
    asked = TableRequest(dataset.id, rows, columns, measure=default_measure(dataset))
    try:
        first = door.check(door.start(asked)).request
    except DiscreetError:
        return [(form, "") for form in offered]
    base = site_url().base
    return [(form, base + snippets.api_path(first, form.name)) for form in offered]


def _about(door: DatasetService) -> str:
    return f"{door.dataset.description} {door.note()}".strip()


def _publisher(door: DatasetService, options: Options) -> str:
    return door.dataset.about.publisher or options.publisher or door.dataset.source or _UNNAMED


def _licence(door: DatasetService, options: Options) -> str:
    return door.dataset.about.licence or options.licence or ""


def _organisation(door: DatasetService, options: Options) -> dict[str, Any]:
    contact = door.dataset.about.contact
    kind = "email" if "@" in contact else "url"
    named = {"@type": "Organization", "name": _publisher(door, options)}
    return named | ({"contactPoint": {"@type": "ContactPoint", kind: contact}} if contact else {})


def _variable_measured(variable: Variable) -> str | dict[str, Any]:
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


def _page(door: DatasetService) -> str:
    return f"{site_url().base}/datasets/{door.dataset.id}"


def _drop_empty(told: dict[str, Any]) -> dict[str, Any]:
    """What is known of a thing: empty lines are left out."""
    return {name: value for name, value in told.items() if value}


Found = list[tuple[DatasetService, tuple[VersionFacts, ...]]]

LD_JSON = "application/ld+json"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'


def catalogue_router(doors: DatasetRegistry, options: Options) -> APIRouter:
    """The routes of the catalogue and the feed."""
    router = APIRouter(include_in_schema=False)

    def answer(request: Request, write: Callable[[Found], bytes], kind: str, only: str = "") -> Response:
        refuse_unknown(request.query_params, ())
        chosen = [doors.door(only)] if only else open_datasets(doors)
        found = [(door, doors.versions(door.dataset.id)) for door in chosen]
        facts = [(door.digest, [asdict(each) for each in versions]) for door, versions in found]
        tag = strong_etag(kind, only, site_url().base, options.publisher, options.licence, facts)
        return conditional(request, tag, lambda: Response(write(found), media_type=kind))

    @router.get("/.well-known/dcat")
    def catalogue(request: Request) -> Response:
        """All datasets as a dcat:Catalog."""
        return answer(request, lambda found: _json(dcat_catalogue(_with_load_time(found), options)), LD_JSON)

    @router.get("/.well-known/api-catalog")
    def api_catalogue(request: Request) -> Response:
        """Where the API is, and where it is described."""
        return answer(request, lambda _: _json(_linkset()), LINKSET)

    @router.get("/feed.atom")
    def feed(request: Request) -> Response:
        """All versions, and when each was loaded."""
        return answer(request, lambda found: atom_feed(found, options.publisher), MEDIA_TYPE)

    @router.get("/datasets/{dataset_id}/feed.atom")
    def feed_of_one(request: Request, dataset_id: str) -> Response:
        """Which version of one dataset is served."""
        path = f"/datasets/{dataset_id}/feed.atom"
        return answer(
            request, lambda found: atom_feed(found, options.publisher, path), MEDIA_TYPE, only=dataset_id
        )

    return router


def _with_load_time(found: Found) -> list[tuple[DatasetService, str]]:
    """Each dataset with the time when its served version was loaded; empty where nobody wrote it down."""
    return [
        (door, next((facts.loaded for facts in versions if facts.digest == door.digest), ""))
        for door, versions in found
    ]


def _linkset() -> dict[str, Any]:
    base = site_url().base
    described = [{"href": f"{base}/openapi.json", "type": "application/json"}]
    catalogue = [{"href": f"{base}/.well-known/dcat", "type": LD_JSON}]
    return {
        "linkset": [{"anchor": f"{base}/api/datasets", "service-desc": described, "service-meta": catalogue}]
    }


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
