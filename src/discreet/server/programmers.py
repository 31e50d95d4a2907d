"""The page for programmers: every way to ask this server, each with an example that it answers now.

    GET /api        HTTP, PxWebApi, SDMX, Python, R, JavaScript, the command line; limits, keys, versions, errors

An example is an address of this server. The page asks it within the server, through all layers, and shows the first
lines of the answer: what a reader sees is what a program gets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations

from discreet.answer.measures import default_measure
from discreet.errors import DiscreetError
from discreet.formats import formats
from discreet.model.request import TableRequest
from discreet.server import snippets
from discreet.server.address import here, link
from discreet.server.answer import conditional, strong_tag
from discreet.server.assets import FINGERPRINT
from discreet.server.datasets import usable
from discreet.server.form import default_axes
from discreet.server.query import refuse_unknown
from discreet.server.security import MAX_QUERY_BYTES
from discreet.server.templating import page
from discreet.server.words import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi import APIRouter
    from starlette.types import Message

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
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


def add_programmers(router: APIRouter, doors: Doors, options: Options) -> None:
    """The route of the page."""

    @router.get("/api")
    async def programmers(request: Request) -> Response:
        """The ways to ask this server, with examples that it answers."""
        refuse_unknown(request.query_params, ())
        found = await run_in_threadpool(usable, doors)
        facts = here().base, options.pxweb_calls, [door.digest for door in found]
        tag = strong_tag("programmers", FINGERPRINT, *facts)
        told: dict[str, Any] = {}
        if tag not in request.headers.get("if-none-match", ""):
            told = await _told(request, found, options)
        return conditional(request, tag, lambda: page("programmers.html", **told))


async def _told(request: Request, found: Sequence[Door], options: Options) -> dict[str, Any]:
    first = await run_in_threadpool(_first_table, found)
    groups = [] if first is None else list(_examples(first))
    answered = [
        (kind, text, [await _tried(request, each) for each in examples]) for kind, text, examples in groups
    ]
    return {
        "groups": answered,
        "codes": () if first is None else _codes(first),
        "forms": [form for form in formats() if form.installed],
        "max_query": MAX_QUERY_BYTES,
        "pxweb_calls": options.pxweb_calls,
    }


def _first_table(found: Sequence[Door]) -> TableRequest | None:
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
        say("A table is an address. No account is needed, and other sites may ask as well (CORS)."),
        [
            Example(say("All datasets"), "/api/datasets"),
            Example(say("One dataset: variables and categories"), place),
            Example(say("A table as CSV"), csv),
            Example(say("The same as JSON-stat, with note and citation"), snippets.api_path(asked, "json")),
            Example(say("How large it is and whether it is allowed, without numbers"), f"{csv}&dry_run=1"),
            Example(say("Between which limits the true counts lie"), f"/api{snippets.interval_path(asked)}"),
            Example(say("Versions"), f"{place}/versions"),
            Example(say("How the numbers are made"), f"{place}/methodology"),
            Example(say("A question that is refused, with advice"), f"{place}/table?rows={names[0]}x"),
        ],
    )
    pxweb = "/api/pxweb/v2"
    yield (
        "PxWebApi 2",
        say("For pxwebpy, pxstatspy, pxweb for R and other programs that read PxWeb."),
        [
            Example(say("Tables"), f"{pxweb}/tables?lang=en"),
            Example(say("The metadata of a table"), f"{pxweb}/tables/{asked.dataset}/metadata?lang=en"),
        ],
    )
    flow = "-".join((asked.dataset, *names))
    yield (
        "SDMX 2.1",
        say("For sdmx1, rsdmx and other programs that read statistical offices."),
        [
            Example(say("Dataflows"), "/api/sdmx/dataflow/all/all"),
            Example(say("Data"), f"/api/sdmx/data/{flow}/all?format=sdmx-csv"),
        ],
    )


def _codes(asked: TableRequest) -> tuple[tuple[str, str], ...]:
    """The same table from programs: the name and the code."""
    base = here().base
    return (
        ("Python", snippets.python(asked, base)),
        ("R", snippets.r(asked, base)),
        ("JavaScript", snippets.javascript(asked, base)),
        (say("Command line"), snippets.command(asked, base)),
        ("curl", snippets.curl(asked, base)),
        (say("Excel (Power Query)"), snippets.power_query(asked, base)),
    )


async def _tried(request: Request, example: Example) -> Example:
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
    return Example(example.title, example.path, status, beginning(body.decode("utf-8", "replace")))


def beginning(text: str) -> str:
    r"""The first lines of a document; JSON is laid out first.

    >>> beginning("a,b\n1,2\n")
    'a,b\n1,2'
    """
    if text.startswith("{"):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    lines = text.replace("><", ">\n<").splitlines() if text.startswith("<") else text.splitlines()
    cut = [line if len(line) <= COLUMNS else line[:COLUMNS] + " …" for line in lines[:LINES]]
    return "\n".join([*cut, "…"] if len(lines) > LINES else cut)
