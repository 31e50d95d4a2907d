"""What finds the datasets: the catalogue in DCAT-AP, the links that RFC 9727 asks for, and the feed of versions.

GET /.well-known/dcat    GET /.well-known/api-catalog    GET /feed.atom    GET /datasets/{id}/feed.atom
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.server.address import here
from discreet.server.answer import conditional, strong_tag
from discreet.server.catalogue import dcat_catalogue
from discreet.server.datasets import usable
from discreet.server.feed import MEDIA_TYPE, atom_feed
from discreet.server.query import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.workspace.options import Options
    from discreet.workspace.version_facts import VersionFacts

    Found = list[tuple[Door, tuple[VersionFacts, ...]]]

LD_JSON = "application/ld+json"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'


def catalogue_router(doors: Doors, options: Options) -> APIRouter:
    """The routes of the catalogue and the feed."""
    router = APIRouter(include_in_schema=False)

    def answer(request: Request, write: Callable[[Found], bytes], kind: str, only: str = "") -> Response:
        refuse_unknown(request.query_params, ())
        chosen = [doors.door(only)] if only else usable(doors)
        found = [(door, doors.versions(door.dataset.id)) for door in chosen]
        facts = [(door.digest, [asdict(each) for each in versions]) for door, versions in found]
        tag = strong_tag(kind, only, here().base, options.publisher, options.licence, facts)
        return conditional(request, tag, lambda: Response(write(found), media_type=kind))

    @router.get("/.well-known/dcat")
    def catalogue(request: Request) -> Response:
        """All datasets as a dcat:Catalog."""
        return answer(request, lambda found: _json(dcat_catalogue(_served(found), options)), LD_JSON)

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


def _served(found: Found) -> list[tuple[Door, str]]:
    """Each dataset with the time when its served version was loaded; empty where nobody wrote it down."""
    return [
        (door, next((facts.loaded for facts in versions if facts.digest == door.digest), ""))
        for door, versions in found
    ]


def _linkset() -> dict[str, Any]:
    base = here().base
    described = [{"href": f"{base}/openapi.json", "type": "application/json"}]
    catalogue = [{"href": f"{base}/.well-known/dcat", "type": LD_JSON}]
    return {
        "linkset": [{"anchor": f"{base}/api/datasets", "service-desc": described, "service-meta": catalogue}]
    }


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
