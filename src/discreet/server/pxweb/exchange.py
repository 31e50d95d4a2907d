"""A request to PxWebApi: its path in any case, its body, its problems in the words that PxWeb's programs show.

title = the code of the error, such as too-many-cells       detail = what is wrong, and what to do
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation of `read_body`
from starlette.responses import Response

from discreet.errors import BodyTooLarge, DiscreetError
from discreet.server.problems import PROBLEM_JSON, problem_response

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "/api/pxweb/v2"
#: The bytes of a body: enough for every code of a large table.
LARGEST_BODY = 1_048_576


class AnyCase:
    """Lets the fixed words of a path below the API be written in any case; ids are left as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with the path as the routes have it."""
        root = scope.get("root_path", "")
        path = scope.get("path", "").removeprefix(root)
        if scope["type"] == "http" and path.lower().startswith(f"{PREFIX}/"):
            scope = {**scope, "path": root + in_lower_case(path)}
        await self.app(scope, receive, send)


def in_lower_case(path: str) -> str:
    """A path below the API with its fixed words in lower case.

    >>> in_lower_case("/api/PxWeb/v2/codeLists/vs_Area")
    '/api/pxweb/v2/codelists/vs_Area'
    """
    first, *rest = path[len(PREFIX) + 1 :].split("/", 2)
    return "/".join([PREFIX, first.lower(), *rest[:1], *(word.lower() for word in rest[1:])])


class PxWebRoute(APIRoute):
    """A route whose errors become problems in PxWeb's words."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors turned into problems."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except DiscreetError as error:
                return problem(request, error)

        return handler


def problem(request: Request, error: DiscreetError) -> Response:
    """An error as PxWeb's programs show it."""
    told = problem_response(request, error)
    document = json.loads(bytes(told.body))
    document |= {"title": document["code"], "detail": f"{document['detail']} {document['advice']}".strip()}
    response = Response(json.dumps(document).encode(), told.status_code, media_type=PROBLEM_JSON)
    response.headers.update({k: v for k, v in told.headers.items() if not k.startswith("content-")})
    return response


async def read_body(request: Request) -> bytes:
    """The body of a request, no more of it than is allowed.

    Raises:
        BodyTooLarge: It is longer.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge(
                f"The body has more than {LARGEST_BODY:,} bytes.", "Select with * or RANGE(first,last)."
            )
    return body
