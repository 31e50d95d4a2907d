"""What finds the datasets: the catalogue in DCAT-AP, the links that RFC 9727 asks for, and the feed of versions.

    GET /.well-known/dcat    GET /.well-known/api-catalog    GET /feed.atom

Comes from: harvesters, feed readers. Goes to: `catalogue`, `feed`.
"""

from __future__ import annotations

import json
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

    from discreet.answer.door import Door, Doors
    from discreet.workspace.options import Options

LD_JSON = "application/ld+json"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'


def catalogue_router(doors: Doors, options: Options) -> APIRouter:
    """The routes of the catalogue and the feed."""
    router = APIRouter(include_in_schema=False)

    def answer(request: Request, write: Callable[[list[tuple[Door, str]]], bytes], kind: str) -> Response:
        refuse_unknown(request.query_params, ())
        found = [(door, _loaded(doors, door)) for door in usable(doors)]
        facts = [(door.digest, loaded) for door, loaded in found]
        tag = strong_tag(kind, here().base, options.publisher, options.licence, facts)
        return conditional(request, tag, lambda: Response(write(found), media_type=kind))

    @router.get("/.well-known/dcat")
    def catalogue(request: Request) -> Response:
        """All datasets as a dcat:Catalog."""
        return answer(request, lambda found: _json(dcat_catalogue(found, options)), LD_JSON)

    @router.get("/.well-known/api-catalog")
    def api_catalogue(request: Request) -> Response:
        """Where the API is, and where it is described."""
        return answer(request, lambda _: _json(_linkset()), LINKSET)

    @router.get("/feed.atom")
    def feed(request: Request) -> Response:
        """Which versions are served."""
        return answer(request, lambda found: atom_feed(found, options.publisher), MEDIA_TYPE)

    return router


def _loaded(doors: Doors, door: Door) -> str:
    """When the version behind a door was loaded, in UTC; empty where nobody wrote it down."""
    known = doors.versions(door.dataset.id)
    return next((facts.loaded for facts in known if facts.digest == door.digest), "")


def _linkset() -> dict[str, Any]:
    base = here().base
    described = [{"href": f"{base}/openapi.json", "type": "application/json"}]
    catalogue = [{"href": f"{base}/.well-known/dcat", "type": LD_JSON}]
    return {
        "linkset": [{"anchor": f"{base}/api/datasets", "service-desc": described, "service-meta": catalogue}]
    }


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
