"""Routes of pages that show parts of a table: a block of cells for scripts, all sheets for paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from discreet.errors import BadRequest
from discreet.model.told import told
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.server import snippets
from discreet.server.address import here
from discreet.server.answer import asked_door, check, conditional, tag_of
from discreet.server.assets import FINGERPRINT
from discreet.server.blocks import BLOCK_PARAMETERS, block_document, read_block
from discreet.server.paper import MOST_CELLS, sheets
from discreet.server.query import TABLE_PARAMETERS, asked_version, read_table, read_view, refuse_unknown
from discreet.server.reading import ALL_LAYERS, chosen_rows, read_reading
from discreet.server.spoken import spoken_dataset
from discreet.server.templating import page

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question
    from discreet.server.layouts import Layouts

_PARAMETERS = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS)


def table_router(doors: Doors, layouts: Layouts) -> APIRouter:
    """The routes of parts of a table."""
    router = APIRouter(include_in_schema=False)

    @router.get("/datasets/{dataset_id}/block")
    def block(request: Request, dataset_id: str) -> Response:
        """Some rows and columns of a table, as a page shows them."""
        refuse_unknown(request.query_params, (*_PARAMETERS, *BLOCK_PARAMETERS))
        door, question = _asked(request, doors, dataset_id)
        tag = tag_of(question, "block", FINGERPRINT, list(request.query_params.multi_items()))
        return conditional(
            request, tag, lambda: _block(request, door, question, layouts), lasting=question.lasting
        )

    @router.get("/datasets/{dataset_id}/print")
    def printed(request: Request, dataset_id: str) -> Response:
        """A whole table in sheets of paper."""
        refuse_unknown(request.query_params, _PARAMETERS)
        door, question = _asked(request, doors, dataset_id)
        tag = tag_of(question, "print", FINGERPRINT, here().base, list(request.query_params.multi_items()))
        return conditional(
            request, tag, lambda: _printed(request, door, question, layouts), lasting=question.lasting
        )

    return router


def _asked(request: Request, doors: Doors, dataset_id: str) -> tuple[Door, Question]:
    door = asked_door(doors, request, dataset_id)
    return door, check(door, read_table(door.dataset, request.query_params))


def _block(request: Request, door: Door, question: Question, layouts: Layouts) -> Response:
    query = request.query_params
    reading = read_reading(query)
    layout = layouts.layout(door, question, read_view(query), reading.labels)
    rows, columns = read_block(query, chosen_rows(layout, reading.layer), layout.lengths[1])
    return JSONResponse(block_document(layout, rows, columns))


def _printed(request: Request, door: Door, question: Question, layouts: Layouts) -> Response:
    query = request.query_params
    if question.cells > MOST_CELLS:
        raise BadRequest(
            told("The table has {cells:,} cells: too many to print.", cells=question.cells),
            told(
                "Download it, or choose fewer categories: at most {most_cells:,} cells are printed.",
                most_cells=MOST_CELLS,
            ),
        )
    view, reading = read_view(query), read_reading(query)
    layout = layouts.layout(door, question, view, reading.labels)
    release = layout.release
    return page(
        "print.html",
        dataset=spoken_dataset(question.dataset),
        digest=question.digest,
        title=release.title,
        facts=snippets.facts(spoken_dataset(question.dataset), question.request),
        notes=release.notes,
        sheets=sheets(layout, chosen_rows(layout, reading.layer or ALL_LAYERS)),
        table=snippets.page_path(
            question.request, [*view.to_query(), *reading.to_query(), *asked_version(query)]
        ),
        citation=snippets.citation(question, here().base, view.to_query()),
    )
