"""The methodology of a dataset and its noise table: as JSON, as a page, and as a page in one file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from discreet.model.dataset import Dataset
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.openapi import DatasetId, problem_responses
from discreet.web.api.schemas import MethodologyDocument, NoisePlanDocument, NoiseTableDocument
from discreet.web.assets import FINGERPRINT, STYLESHEET
from discreet.web.i18n.dataset_labels import translate_dataset
from discreet.web.query import refuse_unknown
from discreet.web.responses import as_json, conditional, strong_etag
from discreet.web.templating import render
from discreet.web.urls import link

TEMPLATE = "methodology.html"
_STATUSES = (400, 404, 410, 414, 503)
VersionName = Annotated[
    str,
    Query(
        description="The beginning of a version's digest, or its name; by default the version that is served."
    ),
]


def methodology_html(document: dict[str, Any], dataset: Dataset) -> str:
    """The methodology of a dataset as one file: no script, and nothing from elsewhere."""
    style = Markup(STYLESHEET)  # noqa: S704 - our own file
    return render(TEMPLATE, layout="standalone.html", style=style, doc=document, described=dataset)


def add_methodology_api(router: APIRouter, doors: DatasetRegistry) -> None:
    """The routes of the document and of the noise."""

    @router.get(
        "/datasets/{dataset_id}/methodology",
        response_model=MethodologyDocument,
        responses=problem_responses(*_STATUSES),
    )
    def methodology(request: Request, dataset_id: DatasetId, version: VersionName = "") -> Response:
        """How the numbers of a dataset are made, what is promised and what is not."""
        refuse_unknown(request.query_params, ("version",))
        document = _document(doors, dataset_id, version)
        return conditional(request, strong_etag("methodology", document), lambda: as_json(document))

    @router.get(
        "/datasets/{dataset_id}/noise",
        response_model=NoiseTableDocument | NoisePlanDocument,
        responses=problem_responses(*_STATUSES),
    )
    def noise(request: Request, dataset_id: DatasetId, version: VersionName = "") -> Response:
        """The integers in which noise is looked up; they are public."""
        refuse_unknown(request.query_params, ("version",))
        door = doors.door(dataset_id, version=version)
        return conditional(
            request,
            strong_etag("noise", door.digest),
            lambda: _file(door.noise_text(), f"{dataset_id}-noise.json"),
        )


def add_methodology_page(router: APIRouter, doors: DatasetRegistry) -> None:
    """The route of the page."""

    @router.get("/datasets/{dataset_id}/methodology")
    def methodology(request: Request, dataset_id: str, version: str = "") -> Response:
        """How the numbers of a dataset are made, for people."""
        refuse_unknown(request.query_params, ("version",))
        document = _document(doors, dataset_id, version)
        described = translate_dataset(doors.door(dataset_id, version=version).dataset)
        text = render(TEMPLATE, layout="base.html", doc=document, described=described, asked_version=version)
        return conditional(request, strong_etag("methodology", FINGERPRINT, text), lambda: HTMLResponse(text))


def _document(doors: DatasetRegistry, dataset_id: str, version: str) -> dict[str, Any]:
    """The document, with a link that starts where this server stands."""
    found = doors.methodology(dataset_id, version)
    return {**found, "noise": {**found["noise"], "href": link(found["noise"]["href"])}}


def _json(text: str) -> Response:
    return Response(text.encode(), media_type="application/json; charset=utf-8")


def _file(text: str, name: str) -> Response:
    """JSON that a browser saves."""
    response = _json(text)
    response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response
