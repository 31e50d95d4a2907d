"""A table alone, for an iframe on another site: title, table, note, source and a link to its page.

    GET /embed/datasets/{id}?rows=..&columns=..        the parameters of the table's page

Any site may frame it. Its Content-Security-Policy allows no script, no form and no connection. A refusal is shown in
the iframe.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.table_view import apply_view
from discreet.model.messages.text import message
from discreet.model.view import VIEW_PARAMETERS
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.i18n.dataset_labels import translate_release
from discreet.web.pages.links import page_path
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import Layout, grid
from discreet.web.problems import public_error
from discreet.web.query import TABLE_PARAMETERS
from discreet.web.templating import render_page
from discreet.web.urls import site_url

#: Any site may frame this page; it may load our stylesheet and nothing else.
POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
#: The largest table in an iframe.
MOST_CELLS = 2_000


def add_embed(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the route of the page."""

    @router.get("/embed/datasets/{dataset_id}")
    def table_alone(request: Request, dataset_id: str) -> Response:
        """The table alone."""
        try:
            page = parse_page(registry, request, dataset_id, (*TABLE_PARAMETERS, *VIEW_PARAMETERS))
            response = page.respond("embed", lambda: _render(page))
        except DiscreetError as error:
            shown = public_error(error)
            response = render_page("embed.html", status=shown.http_status, error=shown)
            response.headers["cache-control"] = "no-store"
        response.headers["content-security-policy"] = POLICY
        return response


def _render(page: PageRequest) -> Response:
    if page.checked.cells > MOST_CELLS:
        raise BadRequest(
            message(
                "The table has {cells:,} cells, and a frame shows at most {most_cells:,}.",
                cells=page.checked.cells,
                most_cells=MOST_CELLS,
            ),
            message("Choose fewer variables or categories, or link to the page."),
        )
    release = translate_release(apply_view(page.service.answer(page.checked), page.view))
    return render_page(
        "embed.html",
        error=None,
        dataset=release.dataset,
        digest=page.checked.digest,
        title=release.title,
        notes=release.notes,
        grid=grid(Layout(release)),
        address=site_url().base + page_path(page.table, page.items),
    )
