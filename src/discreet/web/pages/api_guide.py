"""The page for programmers: every way to ask this server, each with an example that it answers now.

    GET /api        HTTP, PxWebApi, SDMX, Python, R, JavaScript, the command line; limits, keys, versions, errors

An example is an address of this server. The page asks it within the server, through all layers, and shows the first
lines of the answer: what a reader sees is what a program gets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fastapi import (
    APIRouter,
    Request,
)
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Message

from discreet.errors import DiscreetError
from discreet.formats import formats
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.release.measures import default_measure
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.messages import gettext
from discreet.web.pages import links as snippets
from discreet.web.pages.builder import default_axes
from discreet.web.query import refuse_unknown
from discreet.web.responses import conditional, strong_etag
from discreet.web.security import MAX_QUERY_BYTES
from discreet.web.templating import render_page
from discreet.web.urls import link, site_url
from discreet.workspace.options import Options

#: How much of an answer is shown.
LINES, COLUMNS = 8, 100
#: What a question within the server has of the one that it is asked for.
_OF_THE_CONNECTION = ("type", "asgi", "http_version", "scheme", "server", "client")


@dataclass(frozen=True, slots=True)
class Example:
    """An address that can be tried: what it gives, and the first lines of the answer."""

    title: str
    path: str
    status: int = 0
    answer: str = ""


def add_api_guide(router: APIRouter, doors: DatasetRegistry, options: Options) -> None:
    """The route of the page."""

    @router.get("/api")
    async def programmers(request: Request) -> Response:
        """The ways to ask this server, with examples that it answers."""
        refuse_unknown(request.query_params, ())
        found = await run_in_threadpool(open_datasets, doors)
        facts = site_url().base, options.pxweb_calls, [door.digest for door in found]
        tag = strong_etag("programmers", FINGERPRINT, *facts)
        told: dict[str, Any] = {}
        if tag not in request.headers.get("if-none-match", ""):
            told = await _page_context(request, found, options)
        return conditional(request, tag, lambda: render_page("programmers.html", **told))


async def _page_context(
    request: Request, found: Sequence[DatasetService], options: Options
) -> dict[str, Any]:
    first = await run_in_threadpool(_first_table, found)
    groups = [] if first is None else list(_examples(first))
    answered = [
        (kind, text, [await _run_example(request, each) for each in examples])
        for kind, text, examples in groups
    ]
    return {
        "groups": answered,
        "codes": () if first is None else _codes(first),
        "forms": [form for form in formats() if form.installed],
        "max_query": MAX_QUERY_BYTES,
        "pxweb_calls": options.pxweb_calls,
    }


def _first_table(found: Sequence[DatasetService]) -> TableRequest | None:
    """The table that the page of the first dataset shows first, of those that anybody may ask for."""
    for door in found:
        rows, columns = default_axes(door.dataset)
        try:
            asked = TableRequest(door.dataset.id, rows, columns, measure=default_measure(door.dataset))
            return door.check(door.start(asked)).request
        except DiscreetError:
            continue
    return None


def _examples(asked: TableRequest) -> Iterator[tuple[str, str, list[Example]]]:
    """The examples by the kind of interface."""
    place, names = f"/api/datasets/{asked.dataset}", (*asked.rows, *asked.columns)
    csv = snippets.api_path(asked, "csv")
    yield (
        "HTTP",
        gettext("A table is an address. No account is needed, and other sites may ask as well (CORS)."),
        [
            Example(gettext("All datasets"), "/api/datasets"),
            Example(gettext("One dataset: variables and categories"), place),
            Example(gettext("A table as CSV"), csv),
            Example(
                gettext("The same as JSON-stat, with note and citation"), snippets.api_path(asked, "json")
            ),
            Example(
                gettext("How large it is and whether it is allowed, without numbers"), f"{csv}&dry_run=1"
            ),
            Example(
                gettext("Between which limits the true counts lie"), f"/api{snippets.interval_path(asked)}"
            ),
            Example(gettext("Versions"), f"{place}/versions"),
            Example(gettext("How the numbers are made"), f"{place}/methodology"),
            Example(gettext("A question that is refused, with advice"), f"{place}/table?rows={names[0]}x"),
        ],
    )
    pxweb = "/api/pxweb/v2"
    yield (
        "PxWebApi 2",
        gettext("For pxwebpy, pxstatspy, pxweb for R and other programs that read PxWeb."),
        [
            Example(gettext("Tables"), f"{pxweb}/tables?lang=en"),
            Example(gettext("The metadata of a table"), f"{pxweb}/tables/{asked.dataset}/metadata?lang=en"),
        ],
    )
    flow = "-".join((asked.dataset, *names))
    yield (
        "SDMX 2.1",
        gettext("For sdmx1, rsdmx and other programs that read statistical offices."),
        [
            Example(gettext("Dataflows"), "/api/sdmx/dataflow/all/all"),
            Example(gettext("Data"), f"/api/sdmx/data/{flow}/all?format=sdmx-csv"),
        ],
    )


def _codes(asked: TableRequest) -> tuple[tuple[str, str], ...]:
    """The same table from programs: the name and the code."""
    base = site_url().base
    return (
        ("Python", snippets.python(asked, base)),
        ("R", snippets.r(asked, base)),
        ("JavaScript", snippets.js_fetch(asked, base)),
        (gettext("Command line"), snippets.command(asked, base)),
        ("curl", snippets.curl(asked, base)),
        (gettext("Excel (Power Query)"), snippets.power_query(asked, base)),
    )


async def _run_example(request: Request, example: Example) -> Example:
    """The example with the answer that it has now."""
    path, _, query = link(example.path).partition("?")
    headers = [(b"host", request.headers.get("host", "").encode("latin-1")), (b"accept", b"*/*")]
    scope = {
        **{name: request.scope[name] for name in _OF_THE_CONNECTION if name in request.scope},
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "state": {},
    }
    status, body = 0, b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    await request.app(scope, receive, send)
    return Example(example.title, example.path, status, first_lines(body.decode("utf-8", "replace")))


def first_lines(text: str) -> str:
    r"""The first lines of a document; JSON is laid out first.

    >>> first_lines("a,b\n1,2\n")
    'a,b\n1,2'
    """
    if text.startswith("{"):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    lines = text.replace("><", ">\n<").splitlines() if text.startswith("<") else text.splitlines()
    cut = [line if len(line) <= COLUMNS else line[:COLUMNS] + " …" for line in lines[:LINES]]
    return "\n".join([*cut, "…"] if len(lines) > LINES else cut)
