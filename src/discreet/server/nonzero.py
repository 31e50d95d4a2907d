"""A table of which only the cells that are not 0 are sent: `nonzero=yes`. They leave while they are counted.

The server keeps its own limit: `nonzero_cells`, by default the dataset's `max_cells`. Whoever serves wide tables raises it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.formats import listing_format
from discreet.model.told import told
from discreet.server.answer import check, conditional, tag_of
from discreet.server.in_flight import LISTED, take
from discreet.server.query import read_yes_no
from discreet.server.snippets import file_stem
from discreet.server.spoken import asked_listing
from discreet.server.streaming import document_response
from discreet.server.transfer import is_head

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from discreet.answer.door import Door
    from discreet.answer.question import Question
    from discreet.formats import Format
    from discreet.model.request import TableRequest


def wants_nonzero(query: QueryParams, others: tuple[str, ...]) -> bool:
    """Whether only cells that are not 0 are asked for; with nothing that needs the others.

    Raises:
        BadRequest: Something else is asked for beside them.
    """
    if not read_yes_no(query, "nonzero", default=False):
        return False
    for name in others:
        if query.get(name):
            raise BadRequest(
                told('"{name}" is for whole tables, and only cells that are not 0 are asked for.', name=name),
                told("Leave one of them out."),
            )
    return True


def nonzero_answer(
    request: Request, door: Door, asked: TableRequest, form: Format, most: int | None, *, download: bool
) -> Response:
    """The cells that are not 0, as a document.

    Args:
        request: What was sent.
        door: Of the dataset.
        asked: Which table.
        form: As what.
        most: How many cells the table may have; as the dataset says where nothing is given.
        download: Whether it is a file to save.
    """
    listing_format(form)
    limit = door.dataset.protection.max_cells if most is None else most
    question = check(door, asked, partial(door.check_nonzero, most_cells=limit))
    response = conditional(
        request,
        tag_of(question, form.name, "nonzero"),
        lambda: _document(request, door, question, form),
        metered=question.metered,
        vary="" if "format" in request.query_params else "Accept",
    )
    if download:
        name = f"{file_stem(question.request)}.{form.extension}"
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def _document(request: Request, door: Door, question: Question, form: Format) -> Response:
    if is_head(request):
        response = Response(headers={"content-type": form.media_type})
        del response.headers["content-length"]
        return response
    take(min(question.cells, LISTED))
    return document_response(request, form.stream(asked_listing(door.nonzero(question))), form.media_type)
