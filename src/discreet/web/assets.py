"""Static files: one stylesheet joined from parts, script modules, the logo.

Their URLs contain the fingerprint of all of them, `/static/3f2a…/js/live.js`, so that browsers cache them for good and
a module imports others of the same version. The URLs without it work, too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_WEB = Path(__file__).parent
TEMPLATES = _WEB / "templates"
STATIC = _WEB / "static"
#: The parts of the stylesheet, in the order in which they are joined: later rules win.
PARTS = ("base", "landing", "builder", "grid", "result", "charts", "keep", "pages", "languages", "paper")
FOR_GOOD = "public, max-age=31536000, immutable"


def _fingerprint() -> str:
    """A hash of templates, static files and translations; it is a part of static URLs and of ETags."""
    digest = hashlib.sha256()
    for folder in (TEMPLATES, STATIC, _WEB / "locale"):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


FINGERPRINT = _fingerprint()
STYLESHEET = "\n".join((STATIC / "css" / f"{part}.css").read_text("utf-8") for part in PARTS)
_STYLE_TAG = f'"{hashlib.sha256(STYLESHEET.encode()).hexdigest()[:32]}"'


class _ForGood(StaticFiles):
    """Files whose URL names their version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be cached for good."""
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = FOR_GOOD
        return response


def _style(request: Request) -> Response:
    headers = {"etag": _STYLE_TAG}
    if FINGERPRINT in request.url.path:
        headers["cache-control"] = FOR_GOOD
    if request.headers.get("if-none-match", "").removeprefix("W/") == _STYLE_TAG:
        return Response(status_code=304, headers=headers)
    return Response(STYLESHEET, media_type="text/css", headers=headers)


def asset_routes() -> list[Route | Mount]:
    """The routes of the files."""
    return [
        Route(f"/static/{FINGERPRINT}/discreet.css", _style),
        Route("/static/discreet.css", _style),
        Mount(f"/static/{FINGERPRINT}", _ForGood(directory=STATIC)),
        Mount("/static", StaticFiles(directory=STATIC), name="static"),
    ]
