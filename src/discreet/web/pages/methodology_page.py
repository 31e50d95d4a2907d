"""The methodology of a dataset with its noise table, as JSON, page and HTML file; and the page of its privacy budget."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from discreet.model.dataset import Dataset
from discreet.noise.files.document import NoisePlanDocument, NoiseTableDocument
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.methodology_document import MethodologyDocument
from discreet.web.api.openapi import DatasetId, problem_responses
from discreet.web.i18n.translation import translate_dataset
from discreet.web.responses import as_json, conditional, no_store, strong_etag
from discreet.web.templating import FINGERPRINT, STYLESHEET, render, render_page
from discreet.web.urls import link, refuse_unknown

TEMPLATE = "methodology.html"
_STATUSES = (400, 404, 410, 414, 503)
VersionName = Annotated[
    str,
    Query(
        description="The beginning of a version's digest, or its name; by default the version that is served."
    ),
]


def methodology_html(document: dict[str, Any], dataset: Dataset) -> str:
    """The methodology as one HTML file without scripts or external resources."""
    style = Markup(STYLESHEET)  # noqa: S704 - our own file
    return render(TEMPLATE, layout="standalone.html", style=style, doc=document, described=dataset)


def add_methodology_api(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the API routes of the document and of the noise table."""

    @router.get(
        "/datasets/{dataset_id}/methodology",
        response_model=MethodologyDocument,
        responses=problem_responses(*_STATUSES),
    )
    def methodology(request: Request, dataset_id: DatasetId, version: VersionName = "") -> Response:
        """How the numbers of a dataset are made, what is promised and what is not."""
        refuse_unknown(request.query_params, ("version",))
        document = _document(registry, dataset_id, version)
        return conditional(request, strong_etag("methodology", document), lambda: as_json(document))

    @router.get(
        "/datasets/{dataset_id}/noise",
        response_model=NoiseTableDocument | NoisePlanDocument,
        responses=problem_responses(*_STATUSES),
    )
    def noise(request: Request, dataset_id: DatasetId, version: VersionName = "") -> Response:
        """The integers in which noise is looked up; they are public."""
        refuse_unknown(request.query_params, ("version",))
        service = registry.open(dataset_id, version=version)

        def file() -> Response:
            response = Response(service.noise_text().encode(), media_type="application/json; charset=utf-8")
            response.headers["content-disposition"] = f'attachment; filename="{dataset_id}-noise.json"'
            return response

        return conditional(request, strong_etag("noise", service.digest), file)


def methodology_page(
    registry: DatasetRegistry, request: Request, dataset_id: str, version: str = ""
) -> Response:
    """How the numbers of a dataset are made, for people."""
    refuse_unknown(request.query_params, ("version",))
    document = _document(registry, dataset_id, version)
    described = translate_dataset(registry.open(dataset_id, version=version).dataset)
    text = render(TEMPLATE, layout="base.html", doc=document, described=described, asked_version=version)
    return conditional(request, strong_etag("methodology", FINGERPRINT, text), lambda: HTMLResponse(text))


def _document(registry: DatasetRegistry, dataset_id: str, version: str) -> dict[str, Any]:
    """The document, with its link below the root of this server."""
    found = registry.methodology(dataset_id, version)
    return {**found, "noise": {**found["noise"], "href": link(found["noise"]["href"])}}


def budget_page(registry: DatasetRegistry, request: Request, dataset_id: str) -> Response:
    """The budget of a dataset under `dp`; never cached, since it changes as others spend."""
    refuse_unknown(request.query_params, ())
    service = registry.open(dataset_id)
    found, dataset = service.budget(), translate_dataset(service.dataset)
    tables = [
        {**table, "label": " × ".join(dataset.variable(name).label for name in table["variables"])}
        for table in found["tables"]
    ]
    page = render_page(
        "budget.html",
        dataset=dataset,
        found=found,
        left=service.budget_left(),
        promise=service.promise(),
        tables=sorted(tables, key=lambda each: (-each["epsilon"], len(each["variables"]), each["label"])),
        largest=max(table["epsilon"] for table in found["tables"]),
    )
    return no_store(page)
