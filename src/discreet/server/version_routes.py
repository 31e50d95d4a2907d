"""The versions of a dataset: which there are, and two of them compared.

GET /api/datasets/{id}/versions
GET /api/datasets/{id}/compare?version=..&with=..&rows=..&columns=..&level=..
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations of routes
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations of routes

from discreet.errors import BadRequest
from discreet.server.answer import as_json, conditional, strong_tag
from discreet.server.answer_documents import ComparedDocument, VersionsDocument
from discreet.server.comparison import read_comparison
from discreet.server.openapi import PERHAPS_A_KEY, DatasetId, compare_parameters, problem_responses
from discreet.server.query import refuse_unknown

if TYPE_CHECKING:
    from fastapi import APIRouter

    from discreet.answer.doors import Doors


def add_version_routes(router: APIRouter, doors: Doors) -> None:
    """The routes of versions."""

    @router.get(
        "/datasets/{dataset_id}/versions",
        response_model=VersionsDocument,
        responses=problem_responses(400, 404, 414, 503),
    )
    def versions(request: Request, dataset_id: DatasetId) -> Response:
        """The versions of a dataset, the newest last, and why a version is not answered."""
        refuse_unknown(request.query_params, ())
        found = [asdict(facts) for facts in doors.versions(dataset_id)]
        document = {"dataset": dataset_id, "versions": found}
        return conditional(request, strong_tag("versions", document), lambda: as_json(document))

    @router.get(
        "/datasets/{dataset_id}/compare",
        response_model=ComparedDocument,
        responses=problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": compare_parameters(), "security": PERHAPS_A_KEY},
    )
    def comparison(request: Request, dataset_id: DatasetId) -> Response:
        """One table in two versions: both numbers of each cell, their difference and their ratio."""
        wanted = read_comparison(doors, request, dataset_id)
        if wanted is None:
            raise BadRequest("No version is named to compare with.", "Add with=, as in with=1.")
        tag = wanted.tag("compare")
        return conditional(request, tag, lambda: as_json(wanted.answer().document()), metered=wanted.metered)
