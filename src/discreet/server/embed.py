"""A table alone, for a frame on another page: with its title, note, source and a link to where it comes from.

    GET /embed/datasets/{id}?rows=..&columns=..        the parameters of the table's page

Any page may show it in a frame, and that is all it may do: the policy of this page allows no script, no form and no
connection. What is refused says so in the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.viewed import viewed
from discreet.model.told import told
from discreet.model.view import VIEW_PARAMETERS
from discreet.server import snippets
from discreet.server.address import here
from discreet.server.answer import asked_door, check, conditional, tag_of
from discreet.server.assets import FINGERPRINT
from discreet.server.grid import Layout, grid
from discreet.server.problems import public
from discreet.server.query import TABLE_PARAMETERS, asked_version, read_table, read_view, refuse_unknown
from discreet.server.spoken import spoken_release
from discreet.server.templating import page

if TYPE_CHECKING:
    from fastapi import APIRouter

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question

#: Any page may frame this one; it may load our stylesheet and nothing else.
POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
#: A table with more cells is nothing for a frame.
MOST_CELLS = 2_000


def add_embed(router: APIRouter, doors: Doors) -> None:
    """The route of the page."""

    @router.get("/embed/datasets/{dataset_id}")
    def embed(request: Request, dataset_id: str) -> Response:
        """The table alone."""
        try:
            refuse_unknown(request.query_params, (*TABLE_PARAMETERS, *VIEW_PARAMETERS))
            door = asked_door(doors, request, dataset_id)
            question = check(door, read_table(door.dataset, request.query_params))
            tag = tag_of(question, "embed", FINGERPRINT, here().base, str(request.query_params))
            response = conditional(
                request, tag, lambda: _table(request, door, question), lasting=question.lasting
            )
        except DiscreetError as error:
            shown = public(error)
            response = page("embed.html", status=shown.http_status, error=shown)
            response.headers["cache-control"] = "no-store"
        response.headers["content-security-policy"] = POLICY
        return response


def _table(request: Request, door: Door, question: Question) -> Response:
    if question.cells > MOST_CELLS:
        raise BadRequest(
            told(
                "The table has {cells:,} cells, and a frame shows at most {most_cells:,}.",
                cells=question.cells,
                most_cells=MOST_CELLS,
            ),
            told("Choose fewer variables or categories, or link to the page."),
        )
    view, version = read_view(request.query_params), asked_version(request.query_params)
    release = spoken_release(viewed(door.answer(question), view))
    return page(
        "embed.html",
        error=None,
        dataset=release.dataset,
        digest=question.digest,
        title=release.title,
        notes=release.notes,
        grid=grid(Layout(release)),
        address=here().base + snippets.page_path(question.request, [*view.to_query(), *version]),
    )
