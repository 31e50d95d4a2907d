"""A table alone, for a frame on another page: with its title, note, source and a link to where it comes from.

    GET /embed/datasets/{id}?rows=..&columns=..        the parameters of the table's page

Any page may show it in a frame, and that is all it may do: the policy of this page allows no script, no form and no
connection. What is refused says so in the frame.
"""

from __future__ import annotations

from fastapi import (
    APIRouter,
    Request,
)
from starlette.responses import Response

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.table_view import apply_view
from discreet.model.messages.text import message
from discreet.model.view import VIEW_PARAMETERS
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.dataset_labels import translate_release
from discreet.web.pages import links as snippets
from discreet.web.pages.table_grid import Layout, grid
from discreet.web.problems import public_error
from discreet.web.query import TABLE_PARAMETERS, read_table, read_view, refuse_unknown, version_query
from discreet.web.responses import check_request, conditional, etag_of, open_service
from discreet.web.templating import render_page
from discreet.web.urls import site_url

#: Any page may frame this one; it may load our stylesheet and nothing else.
POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
#: A table with more cells is nothing for a frame.
MOST_CELLS = 2_000


def add_embed(router: APIRouter, doors: DatasetRegistry) -> None:
    """The route of the page."""

    @router.get("/embed/datasets/{dataset_id}")
    def embed(request: Request, dataset_id: str) -> Response:
        """The table alone."""
        try:
            refuse_unknown(request.query_params, (*TABLE_PARAMETERS, *VIEW_PARAMETERS))
            door = open_service(doors, request, dataset_id)
            question = check_request(door, read_table(door.dataset, request.query_params))
            tag = etag_of(question, "embed", FINGERPRINT, site_url().base, str(request.query_params))
            response = conditional(
                request, tag, lambda: _table(request, door, question), lasting=question.lasting
            )
        except DiscreetError as error:
            shown = public_error(error)
            response = render_page("embed.html", status=shown.http_status, error=shown)
            response.headers["cache-control"] = "no-store"
        response.headers["content-security-policy"] = POLICY
        return response


def _table(request: Request, door: DatasetService, question: CheckedRequest) -> Response:
    if question.cells > MOST_CELLS:
        raise BadRequest(
            message(
                "The table has {cells:,} cells, and a frame shows at most {most_cells:,}.",
                cells=question.cells,
                most_cells=MOST_CELLS,
            ),
            message("Choose fewer variables or categories, or link to the page."),
        )
    view, version = read_view(request.query_params), version_query(request.query_params)
    release = translate_release(apply_view(door.answer(question), view))
    return render_page(
        "embed.html",
        error=None,
        dataset=release.dataset,
        digest=question.digest,
        title=release.title,
        notes=release.notes,
        grid=grid(Layout(release)),
        address=site_url().base + snippets.page_path(question.request, [*view.to_query(), *version]),
    )
