"""The guide for programmers: every interface of this server with live examples; the pages of error codes.

    GET /api        HTTP, PxWebApi, SDMX, Python, R, JavaScript, the command line; limits, keys, versions, errors

The page sends each example to the application itself, through all middlewares, and shows the first lines of the
response.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Message

from discreet.errors import NotFound
from discreet.formats import formats
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.admission import MAX_QUERY_BYTES
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.i18n.translation import gettext
from discreet.web.pages.builder import first_table
from discreet.web.pages.downloads import snippets
from discreet.web.problems import error_explanations
from discreet.web.responses import conditional, strong_etag
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import api_path, link, refuse_unknown, site_url, table_path
from discreet.workspace.options import Options

#: How much of a response is shown.
LINES, COLUMNS = 8, 100
#: The ASGI scope entries that an example shares with the request of the page.
_SHARED_SCOPE = ("type", "asgi", "http_version", "scheme", "server", "client")


@dataclass(frozen=True, slots=True)
class Example:
    """A URL to try, with its status and the first lines of its response."""

    title: str
    path: str
    status: int = 0
    answer: str = ""


async def api_guide(registry: DatasetRegistry, options: Options, request: Request) -> Response:
    """All interfaces with live examples."""
    refuse_unknown(request.query_params, ())
    found = await run_in_threadpool(open_datasets, registry)
    facts = site_url().base, options.pxweb_calls, [each.digest for each in found]
    tag = strong_etag("programmers", FINGERPRINT, *facts)
    context: dict[str, Any] = {}
    if tag not in request.headers.get("if-none-match", ""):
        context = await _context(request, found, options)
    return conditional(request, tag, lambda: render_page("programmers.html", **context))


async def _context(request: Request, found: Sequence[DatasetService], options: Options) -> dict[str, Any]:
    first = await run_in_threadpool(lambda: next(filter(None, map(first_table, found)), None))
    groups = [] if first is None else list(_examples(first))
    codes = {} if first is None else snippets(first, site_url().base)
    order = ("Python", "R", "JavaScript", gettext("Command line"), "curl", gettext("Excel (Power Query)"))
    return {
        "groups": [
            (kind, text, [await _run_example(request, each) for each in examples])
            for kind, text, examples in groups
        ],
        "codes": tuple((name, codes[name]) for name in order if name in codes),
        "forms": [form for form in formats() if form.installed],
        "max_query": MAX_QUERY_BYTES,
        "pxweb_calls": options.pxweb_calls,
    }


def _examples(table: TableRequest) -> Iterator[tuple[str, str, Iterable[Example]]]:
    place, names = f"/api/datasets/{table.dataset}", (*table.rows, *table.columns)
    csv, pxweb, flow = api_path(table, "csv"), "/api/pxweb/v2", "-".join((table.dataset, *names))
    http = {
        gettext("All datasets"): "/api/datasets",
        gettext("One dataset: variables and categories"): place,
        gettext("A table as CSV"): csv,
        gettext("The same as JSON-stat, with note and citation"): api_path(table, "json"),
        gettext("How large it is and whether it is allowed, without numbers"): f"{csv}&dry_run=1",
        gettext("Between which limits the true counts lie"): f"/api{table_path(table, 'interval')}",
        gettext("Versions"): f"{place}/versions",
        gettext("How the numbers are made"): f"{place}/methodology",
        gettext("A question that is refused, with advice"): f"{place}/table?rows={names[0]}x",
    }
    about = gettext("A table is an address. No account is needed, and other sites may ask as well (CORS).")
    yield "HTTP", about, starmap(Example, http.items())
    tables = {
        gettext("Tables"): f"{pxweb}/tables?lang=en",
        gettext("The metadata of a table"): f"{pxweb}/tables/{table.dataset}/metadata?lang=en",
    }
    about = gettext("For pxwebpy, pxstatspy, pxweb for R and other programs that read PxWeb.")
    yield "PxWebApi 2", about, starmap(Example, tables.items())
    flows = {
        gettext("Dataflows"): "/api/sdmx/dataflow/all/all",
        gettext("Data"): f"/api/sdmx/data/{flow}/all?format=sdmx-csv",
    }
    about = gettext("For sdmx1, rsdmx and other programs that read statistical offices.")
    yield "SDMX 2.1", about, starmap(Example, flows.items())


async def _run_example(request: Request, example: Example) -> Example:
    path, _, query = link(example.path).partition("?")
    scope = {
        **{name: request.scope[name] for name in _SHARED_SCOPE if name in request.scope},
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", request.headers.get("host", "").encode("latin-1")), (b"accept", b"*/*")],
        "state": {},
    }
    status, body = 0, b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(part: Message) -> None:
        nonlocal status, body
        status = part.get("status", status)
        body += part.get("body", b"")

    await request.app(scope, receive, send)
    return replace(example, status=status, answer=first_lines(body.decode("utf-8", "replace")))


def first_lines(text: str) -> str:
    r"""The first lines of a document; JSON and XML are indented first.

    >>> first_lines("a,b\n1,2\n")
    'a,b\n1,2'
    """
    if text.startswith("{"):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    lines = text.replace("><", ">\n<").splitlines() if text.startswith("<") else text.splitlines()
    cut = [line if len(line) <= COLUMNS else line[:COLUMNS] + " …" for line in lines[:LINES]]
    return "\n".join([*cut, "…"] if len(lines) > LINES else cut)


def error_list(request: Request) -> Response:
    """Every error by its code."""
    kinds = list(error_explanations().values())
    tag = strong_etag("errors", FINGERPRINT)
    return conditional(request, tag, lambda: render_page("errors.html", kinds=kinds))


def error_page(request: Request, code: str) -> Response:
    """The meaning of one code."""
    kinds = error_explanations()
    if code not in kinds:
        raise NotFound(
            message("There is no error of this code."),
            message("All codes are listed under {link}.", link=link("/errors")),
        )
    kind, meaning = kinds[code]
    tag = strong_etag("error", FINGERPRINT, code)
    return conditional(request, tag, lambda: render_page("error_meaning.html", kind=kind, meaning=meaning))
