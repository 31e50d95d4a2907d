"""The boundaries of areas, as they were declared: `/api/datasets/{id}/boundaries/{variable}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path, Request
from starlette.responses import Response

from discreet.errors import NotFound
from discreet.server.answer import asked_door, conditional, strong_tag
from discreet.server.openapi import DatasetId, problem_responses, version_parameter
from discreet.server.query import refuse_unknown

if TYPE_CHECKING:
    from fastapi import APIRouter

    from discreet.answer.doors import Doors

GEOJSON = "application/geo+json"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "A FeatureCollection.", "content": {GEOJSON: {"schema": {"type": "object"}}}}
}
VariableName = Annotated[str, Path(description="A variable with boundaries.", examples=["region"])]


def add_boundary_routes(router: APIRouter, doors: Doors) -> None:
    """Add the route to those of the API."""

    @router.get(
        "/datasets/{dataset_id}/boundaries/{variable}",
        response_class=Response,
        responses={**_ANSWERS, **problem_responses(400, 404, 410, 414, 503)},
        openapi_extra={"parameters": [version_parameter()]},
    )
    def boundaries(request: Request, dataset_id: DatasetId, variable: VariableName) -> Response:
        """The shapes of a variable's areas as GeoJSON; each feature has its code and label."""
        refuse_unknown(request.query_params, ("version",))
        door = asked_door(doors, request, dataset_id)
        found = door.dataset.boundaries.get(variable)
        if found is None:
            known = ", ".join(sorted(door.dataset.boundaries))
            raise NotFound(
                f'The dataset "{dataset_id}" has no boundaries of "{variable[:64]}".',
                f"It has those of {known}." if known else "Its description declares none.",
            )
        tag = strong_tag("boundaries", door.digest, variable)
        return conditional(request, tag, lambda: Response(found.content, media_type=GEOJSON), lasting=True)
