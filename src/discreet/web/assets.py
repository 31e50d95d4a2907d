"""What the pages load: one stylesheet made of parts, small script modules, the mark.

A file's address holds the fingerprint of all of them, `/static/3f2a…/js/live.js`, so that a browser keeps it for good
and a module that imports its neighbour gets one of the same version. The address without it works, too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_SERVER = Path(__file__).parent
TEMPLATES = _SERVER / "templates"
STATIC = _SERVER / "static"
#: The parts of the stylesheet, in the order in which they are joined: what comes later wins.
PARTS = ("base", "landing", "builder", "grid", "result", "charts", "keep", "pages", "languages", "paper")
FOR_GOOD = "public, max-age=31536000, immutable"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _fingerprint() -> str:
    """What the pages are made of, as a hash: it is part of the files' addresses and enters the ETags."""
    digest = hashlib.sha256()
    for path in [*_files(TEMPLATES), *_files(STATIC), *_files(_SERVER / "locale")]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


FINGERPRINT = _fingerprint()


def stylesheet() -> str:
    """The one stylesheet of all pages."""
    return "\n".join((STATIC / "css" / f"{part}.css").read_text("utf-8") for part in PARTS)


STYLESHEET = stylesheet()
_STYLE_TAG = f'"{hashlib.sha256(STYLESHEET.encode()).hexdigest()[:32]}"'


class _ForGood(StaticFiles):
    """Files whose address names their version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be kept for good."""
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
