"""Errors as responses: problem+json for the API and an HTML page for people, with the same text.

    {type, title, status, detail, instance, code, advice}        RFC 9457

`type` is the URL of a page that explains the code. Details of a server error (status 500 and above) go to the log; the
reader gets the code only.
"""

import inspect
import json
import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from typing_extensions import TypedDict

from discreet.errors import (
    BadRequest,
    Busy,
    DiscreetError,
    MethodNotAllowed,
    NotFound,
    Refused,
    TooManyCalls,
    all_errors,
)
from discreet.model.messages.text import message
from discreet.rules.rule import kinds
from discreet.web.context import request_context
from discreet.web.templating import render_page
from discreet.web.urls import is_for_programs, link, strip_root

PROBLEM_JSON = "application/problem+json"
#: The Retry-After of 503 in seconds.
RETRY_AFTER = 5
log = logging.getLogger("discreet.server")


class ProblemDocument(TypedDict):
    """Why a request was not answered (RFC 9457), with a stable code and advice."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    advice: str


def install_error_handlers(app: FastAPI) -> None:
    """Turn every error of the application into a problem response."""
    app.add_exception_handler(DiscreetError, problem_response)  # type: ignore[arg-type] # of what it is registered for
    app.add_exception_handler(RequestValidationError, _on_validation)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _on_http)  # type: ignore[arg-type]


def public_error(error: DiscreetError) -> DiscreetError:
    """The error as a reader may see it; details of the server go to its log."""
    if error.http_status < 500 or type(error) is DiscreetError or isinstance(error, Busy):
        return error
    log.error("%s: %s", error.code, error)
    return type(error)(
        message("The server cannot answer at the moment."),
        message("Try again later; the operator finds the reason in the server's log."),
    )


def busy() -> Busy:
    """503: there is no capacity at the moment."""
    return Busy(
        message("The server has too much to do at the moment."),
        message("Try again in {seconds} seconds, or ask for a smaller table.", seconds=RETRY_AFTER),
        retry_after=RETRY_AFTER,
    )


def problem_response(request: Request, error: DiscreetError) -> Response:
    """An error as JSON or as a page, depending on the URL."""
    note_refusal(error)
    shown = public_error(error)
    if _for_programs(request):
        document: ProblemDocument = {
            "type": link(f"/errors/{shown.code}"),
            "title": shown.title,
            "status": shown.http_status,
            "detail": shown.message,
            "instance": request.url.path,
            "code": shown.code,
            "advice": shown.advice,
        }
        body = json.dumps(document, ensure_ascii=True).encode()
        response = Response(body, shown.http_status, media_type=PROBLEM_JSON)
    else:
        response = render_page("error.html", status=shown.http_status, error=shown)
    response.headers["cache-control"] = "no-store"
    if shown.http_status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="discreet"'
    if isinstance(error, TooManyCalls | Busy):
        response.headers["retry-after"] = str(error.retry_after)
    return response


def note_refusal(error: DiscreetError) -> None:
    """Record the error code for the audit log; the first one of a request counts."""
    context = request_context()
    context.code = context.code or error.code


def error_explanations() -> dict[str, tuple[DiscreetError | type[DiscreetError], str]]:
    """Every error with its meaning by code, including the codes of rules."""
    found: dict[str, tuple[DiscreetError | type[DiscreetError], str]] = {
        kind.code: (kind, explain_error(kind)) for kind in all_errors()
    }
    for rule in kinds().values():
        if rule.refuses() and rule.refusal_code() not in found:
            found[rule.kind] = (Refused("", code=rule.kind), explain_error(rule))
    return found


def explain_error(kind: type[object]) -> str:
    """The meaning of an error: its docstring without markup."""
    if kind is DiscreetError:
        return (
            "Something unexpected happened on the server. Its log has the number of the incident and no more."
        )
    return " ".join((inspect.getdoc(kind) or "").replace("`", "").split())


def _on_validation(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    name = first["loc"][-1]
    return problem_response(
        request,
        BadRequest(
            message('The parameter "{name}" cannot be read.', name=name),
            message("{first}.", first=first["msg"]),
        ),
    )


def _on_http(request: Request, error: HTTPException) -> Response:
    """404 and 405 of Starlette's router."""
    if error.status_code == 404:
        return problem_response(
            request,
            NotFound(
                message("There is nothing at this address."),
                f"The API starts at {link('/api/datasets')} and is described at {link('/openapi.json')}."
                if _for_programs(request)
                else message("Check the address, or start from the list of datasets."),
            ),
        )
    if error.status_code == 405:
        # Every GET route answers HEAD.
        allowed = [m for m in ("GET", "HEAD", "POST") if _is_route(request, m.replace("HEAD", "GET"))]
        refusal = MethodNotAllowed(
            message("{method} is not offered here.", method=request.method),
            message("Use {allowed:or}.", allowed=tuple(allowed)),
        )
        response = problem_response(request, refusal)
        response.headers["allow"] = ", ".join(allowed)
        return response
    return problem_response(
        request, BadRequest(message("The request cannot be read."), message("Check the address."))
    )


def _is_route(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


def _for_programs(request: Request) -> bool:
    return is_for_programs(strip_root(request.url.path))
