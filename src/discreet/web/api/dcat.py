"""Machine-readable catalogues: DCAT-AP as JSON-LD, schema.org for search engines, and Atom feeds of versions.

    GET /.well-known/dcat            a dcat:Catalog with every dataset, one distribution per format
    GET /.well-known/api-catalog     links to the API and its description (RFC 9727)
    GET /feed.atom                   one entry per version of each dataset, the newest first
    GET /datasets/{id}/feed.atom     the same for one dataset

They contain public metadata only: no number of a table, no number of records, nothing about what changed between
versions. A distribution's file is the first table of the dataset's page.

Source: DCAT-AP 3.0 (https://semiceu.github.io/DCAT-AP/releases/3.0.0/), https://schema.org/Dataset, RFC 4287.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID
from xml.etree import ElementTree as ET

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.formats import Format, formats
from discreet.model.variable import Variable
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.negotiation import media_type
from discreet.web.pages.builder import first_table
from discreet.web.responses import conditional, strong_etag
from discreet.web.templating import plain
from discreet.web.urls import api_path, refuse_unknown, site_url
from discreet.workspace.options import Options
from discreet.workspace.versions.history import SHORT, VersionFacts

#: Each dataset with its versions.
Found = Sequence[tuple[DatasetService, Sequence[VersionFacts]]]

LD_JSON = "application/ld+json"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
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
#: No characters of XML, and left by `plain`.
_NO_XML = re.compile("[\ufffe\uffff]")
#: The time of a feed without a load: Atom requires one.
_NEVER = "1970-01-01T00:00:00Z"


def catalogue_router(registry: DatasetRegistry, options: Options) -> APIRouter:
    """The routes of the catalogues and feeds."""
    router = APIRouter(include_in_schema=False)

    def respond(
        kind: str, write: Callable[[Found, str], bytes], request: Request, dataset_id: str = ""
    ) -> Response:
        refuse_unknown(request.query_params, ())
        services = [registry.open(dataset_id)] if dataset_id else open_datasets(registry)
        found = [(service, registry.versions(service.dataset.id)) for service in services]
        facts = [(service.digest, [asdict(each) for each in versions]) for service, versions in found]
        tag = strong_etag(kind, dataset_id, site_url().base, options.publisher, options.licence, facts)
        return conditional(request, tag, lambda: Response(write(found, dataset_id), media_type=kind))

    def feed(found: Found, dataset_id: str) -> bytes:
        return atom_feed(found, options.publisher, f"/datasets/{dataset_id}" if dataset_id else "")

    documents: dict[str, tuple[str, Callable[[Found, str], bytes]]] = {
        "/.well-known/dcat": (LD_JSON, lambda found, _: _json(dcat_catalogue(found, options))),
        "/.well-known/api-catalog": (LINKSET, lambda _found, _: _json(api_catalogue())),
        "/feed.atom": (MEDIA_TYPE, feed),
        "/datasets/{dataset_id}/feed.atom": (MEDIA_TYPE, feed),
    }
    for path, (kind, write) in documents.items():
        router.add_api_route(path, partial(respond, kind, write))
    return router


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def api_catalogue() -> dict[str, Any]:
    """The URLs of the API, of its description and of the catalogue."""
    base = site_url().base
    described = [{"href": f"{base}/openapi.json", "type": "application/json"}]
    catalogue = [{"href": f"{base}/.well-known/dcat", "type": LD_JSON}]
    return {
        "linkset": [{"anchor": f"{base}/api/datasets", "service-desc": described, "service-meta": catalogue}]
    }


def dcat_catalogue(found: Found, options: Options) -> dict[str, Any]:
    """The catalogue of all datasets."""
    base = site_url().base
    ids = [service.dataset.id for service, _ in found]
    return {
        "@context": CONTEXT,
        "@id": f"{base}/.well-known/dcat",
        "@type": "dcat:Catalog",
        "dct:title": f"Tables of {options.publisher}" if options.publisher else "Tables",
        "dct:description": _ABOUT,
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": options.publisher or _UNNAMED},
        "foaf:homepage": {"@id": f"{base}/"},
        "dcat:service": {
            "@id": f"{base}/api",
            "@type": "dcat:DataService",
            "dct:title": "Tables by HTTP",
            "dcat:endpointURL": {"@id": f"{base}/api/datasets"},
            "dcat:endpointDescription": {"@id": f"{base}/openapi.json"},
            "dcat:servesDataset": [{"@id": f"{base}/datasets/{dataset_id}"} for dataset_id in ids],
        },
        "dcat:dataset": [_dcat_dataset(service, versions, options) for service, versions in found],
    }


def _dcat_dataset(
    service: DatasetService, versions: Sequence[VersionFacts], options: Options
) -> dict[str, Any]:
    dataset, page = service.dataset, _page(service)
    about = dataset.about
    start, _, end = (about.temporal or dataset.reference_date).partition("/")
    dates = {
        f"dcat:{name}Date": {"@type": "xsd:date", "@value": date}
        for name, date in (("start", start), ("end", end or start))
    }
    key, at = ("vcard:hasEmail", "mailto:") if "@" in about.contact else ("vcard:hasURL", "")
    contact = {"@type": "vcard:Kind", "vcard:fn": about.contact, key: {"@id": f"{at}{about.contact}"}}
    loaded = next((facts.loaded for facts in versions if facts.digest == service.digest), "")
    document = {
        "@id": page,
        "@type": "dcat:Dataset",
        "dct:identifier": dataset.id,
        "dct:title": dataset.label,
        "dct:description": f"{dataset.description} {service.note()}".strip(),
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": _publisher(service, options)},
        "dct:source": dataset.source,
        "dct:accessRights": {"@id": _PUBLIC},
        "dct:modified": {"@type": "xsd:dateTime", "@value": loaded} if loaded else None,
        "dcat:version": dataset.version,
        "dcat:keyword": [*about.keywords, *(variable.label for variable in dataset.variables)],
        "dct:spatial": {"@type": "dct:Location", "rdfs:label": about.spatial} if about.spatial else None,
        "dct:temporal": {"@type": "dct:PeriodOfTime", **dates} if start else None,
        "dcat:contactPoint": contact if about.contact else None,
        "dcat:landingPage": {"@id": page},
        "dcat:distribution": [
            _distribution(service, form, url, options) for form, url in _first_files(service)
        ],
    }
    return _drop_empty(document)


def _distribution(service: DatasetService, form: Format, url: str, options: Options) -> dict[str, Any]:
    licence = service.dataset.about.licence or options.licence or ""
    return _drop_empty(
        {
            "@type": "dcat:Distribution",
            "dct:title": f"{service.dataset.label}: {form.label}",
            "dcat:accessURL": {"@id": _page(service)},
            "dcat:downloadURL": {"@id": url} if url else None,
            "dcat:mediaType": {"@id": _MEDIA_TYPES + media_type(form)},
            "dct:license": {"@id": licence} if licence else None,
        }
    )


def schema_org(service: DatasetService, options: Options) -> dict[str, Any]:
    """A dataset for search engines."""
    dataset, page = service.dataset, _page(service)
    contact = dataset.about.contact
    point = {"@type": "ContactPoint", "email" if "@" in contact else "url": contact} if contact else None
    publisher = {"@type": "Organization", "name": _publisher(service, options), "contactPoint": point}
    document = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "@id": page,
        "url": page,
        "name": dataset.label,
        "description": f"{dataset.description} {service.note()}".strip(),
        "identifier": service.digest,
        "version": dataset.version,
        "temporalCoverage": dataset.about.temporal or dataset.reference_date,
        "spatialCoverage": dataset.about.spatial,
        "keywords": list(dataset.about.keywords),
        "creditText": dataset.source,
        "license": dataset.about.licence or options.licence or "",
        "publisher": _drop_empty(publisher),
        "isAccessibleForFree": True,
        "variableMeasured": [_variable_measured(variable) for variable in dataset.variables],
        "includedInDataCatalog": {"@type": "DataCatalog", "url": f"{site_url().base}/"},
        "distribution": [
            {
                "@type": "DataDownload",
                "name": form.label,
                "encodingFormat": media_type(form),
                "contentUrl": url,
            }
            for form, url in _first_files(service)
        ],
    }
    return _drop_empty(document)


def _variable_measured(variable: Variable) -> str | dict[str, Any]:
    known = _drop_empty({"description": variable.description, "sameAs": variable.classification})
    return {"@type": "PropertyValue", "name": variable.label, **known} if known else variable.label


def _first_files(service: DatasetService) -> list[tuple[Format, str]]:
    """Every format with the URL of the first table in it; the URL is empty where that table is refused."""
    first = first_table(service)
    return [
        (form, "" if first is None else site_url().base + api_path(first, form.name))
        for form in formats()
        if form.installed and not form.is_picture
    ]


def _page(service: DatasetService) -> str:
    return f"{site_url().base}/datasets/{service.dataset.id}"


def _publisher(service: DatasetService, options: Options) -> str:
    dataset = service.dataset
    return dataset.about.publisher or options.publisher or dataset.source or _UNNAMED


def _drop_empty(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value}


def atom_feed(found: Found, publisher: str | None, below: str = "") -> bytes:
    """The versions with a recorded load time, the newest first; `below` is the path of a feed of one dataset.

    An entry has the label, the version with its digest, and its state; the current version also its reference date
    and its note.
    """
    base = site_url().base
    entries = [
        (facts.loaded, service, facts) for service, versions in found for facts in versions if facts.loaded
    ]
    entries.sort(key=lambda item: (item[0], item[1].dataset.id, item[2].digest), reverse=True)
    feed = ET.Element("feed", {"xmlns": ATOM})
    _text(feed, "id", f"{base}{below}/feed.atom")
    _text(feed, "title", "Versions of the datasets")
    _text(feed, "updated", entries[0][0] if entries else _NEVER)
    _text(ET.SubElement(feed, "author"), "name", publisher or "Discreet")
    ET.SubElement(feed, "link", {"rel": "self", "href": f"{base}{below}/feed.atom"})
    ET.SubElement(feed, "link", {"href": f"{base}/"})
    for _, service, facts in entries:
        dataset = service.dataset
        entry = ET.SubElement(feed, "entry")
        _text(entry, "id", UUID(hex=facts.digest).urn)
        _text(entry, "title", f"{dataset.label}, version {facts.version or facts.digest[:SHORT]}")
        _text(entry, "updated", facts.loaded)
        pin = "" if facts.current or facts.closed else f"?version={facts.digest[:SHORT]}"
        ET.SubElement(entry, "link", {"href": f"{base}/datasets/{dataset.id}{pin}"})
        _text(entry, "summary", " ".join(_summary(service, facts)))
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _summary(service: DatasetService, facts: VersionFacts) -> list[str]:
    named = f"Version {facts.version} ({facts.digest[:SHORT]})".replace("  ", " ")
    if facts.closed:
        return [f"{named} is not answered.", facts.closed]
    if not facts.current:
        return [f"{named} was replaced, and is answered where a link names it."]
    dated = service.dataset.reference_date
    return [f"{named} is served.", *([f"Reference date: {dated}."] if dated else []), service.note()]


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NO_XML.sub("\ufffd", plain(text))
