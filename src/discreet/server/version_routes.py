"""The versions of a dataset: which there are, and two of them compared.

    GET /api/datasets/{id}/versions
    GET /api/datasets/{id}/compare?version=..&with=..&rows=..&columns=..&level=..

Both versions of a comparison are asked through their doors: one that is closed answers 410.

Comes from: the reader's programs. Goes to: `answer`, `inference/compared.py`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path, Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.inference.compared import compare
from discreet.server.answer import asked_door, bearer, check, conditional, strong_tag, tag_of
from discreet.server.answer_documents import ComparedDocument, VersionsDocument
from discreet.server.interval import read_level
from discreet.server.openapi import PERHAPS_A_KEY, compare_parameters, problem_responses
from discreet.server.query import TABLE_PARAMETERS, read_table, read_word, refuse_unknown

if TYPE_CHECKING:
    from fastapi import APIRouter

    from discreet.answer.door import Doors

COMPARE_PARAMETERS = (*TABLE_PARAMETERS, "with", "level")
DatasetId = Annotated[str, Path(description="The dataset's id.", examples=["census"])]


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
        return conditional(request, strong_tag("versions", document), lambda: _json(document))

    @router.get(
        "/datasets/{dataset_id}/compare",
        response_model=ComparedDocument,
        responses=problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": compare_parameters(), "security": PERHAPS_A_KEY},
    )
    def comparison(request: Request, dataset_id: DatasetId) -> Response:
        """One table in two versions: both numbers of each cell, their difference and their ratio."""
        query, key = request.query_params, bearer(request)
        refuse_unknown(query, COMPARE_PARAMETERS)
        door = asked_door(doors, request, dataset_id, key)
        level, word = read_level(query), read_word(query, "with")
        if not word:
            raise BadRequest("No version is named to compare with.", "Add with=, as in with=1.")
        other, asked = doors.door(dataset_id, key, word), read_table(door.dataset, query)
        questions = check(door, asked), check(other, asked)
        return conditional(
            request,
            tag_of(questions[0], "compare", other.digest, questions[1].request.to_query(), level),
            lambda: _json(compare(door.answer(questions[0]), other.answer(questions[1]), level).document()),
            metered=any(question.metered for question in questions),
        )


def _json(document: dict[str, Any]) -> Response:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), media_type="application/json; charset=utf-8")
