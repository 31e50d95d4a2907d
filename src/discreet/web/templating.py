"""Static files and Jinja: cached URLs, autoescape, and filters that make any label safe to show.

Static URLs contain a fingerprint of all files, `/static/3f2a…/js/live.js`: browsers cache them for good, and a module
imports others of the same version. Control characters (C0, DEL, C1, lone surrogates) become U+FFFD. Explicit
bidirectional formatting is closed at the end of its text, and in HTML each label is also in a `<bdi>`.
Source: Unicode Standard Annex 9, sections 2.1-2.5.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from discreet import __version__
from discreet.model.messages.sentences import UNCHECKED_DRAFT
from discreet.privacy.claim import three_digits_up
from discreet.web.context import request_context
from discreet.web.i18n import translation
from discreet.web.i18n.translation import gettext, localise
from discreet.web.urls import site_url

_WEB = Path(__file__).parent
TEMPLATES = _WEB / "templates"
STATIC = _WEB / "static"
#: The parts of the stylesheet, in the order in which they are joined: later rules win.
PARTS = ("base", "builder", "table", "charts", "pages", "landing", "small", "languages", "paper")
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


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_POP_EMBEDDING, _POP_ISOLATE = "\u202c", "\u2069"
#: Characters that open a bidirectional context, with the one that closes it.
_CLOSER = dict.fromkeys("\u202a\u202b\u202d\u202e", _POP_EMBEDDING) | dict.fromkeys(
    "\u2066\u2067\u2068", _POP_ISOLATE
)


def plain(text: object) -> str:
    r"""Text for a place without markup: a title, an option, an attribute.

    >>> plain("a\x00b")
    'a\ufffdb'
    >>> plain("\u202eabc").endswith("\u202c")
    True
    """
    open_contexts: list[str] = []
    safe = ""
    for character in _CONTROL.sub("\ufffd", str(localise(text))):
        if character in _CLOSER:
            open_contexts.append(_CLOSER[character])
        elif character in {_POP_EMBEDDING, _POP_ISOLATE}:
            if not open_contexts or open_contexts[-1] != character:
                continue
            open_contexts.pop()
        safe += character
    return safe + "".join(reversed(open_contexts))


def bidi_isolate(text: object) -> Markup:
    """Text for running HTML: escaped, and in a bidirectional context.

    >>> bidi_isolate("<b>")
    Markup('<bdi>&lt;b&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(escape(plain(text)))


def _code_spans(text: str) -> Markup:
    pieces = enumerate(str(localise(text)).split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(each) if at % 2 else each for at, each in pieces)


def _gettext(text: str, **values: Any) -> str:
    """A translated text; HTML if one of its values is, and then all others are escaped."""
    if not any(hasattr(value, "__html__") for value in values.values()):
        return gettext(text, **values)
    safe = {
        name: escape(localise(value)) if isinstance(value, str) else value for name, value in values.items()
    }
    return Markup(gettext(text, **safe))  # noqa: S704 - the text is ours, and its values are escaped


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=localise,
)
_ENVIRONMENT.filters |= {
    "plain": plain,
    "bdi": bidi_isolate,
    "coded": _code_spans,
    "up": three_digits_up,
    "day": translation.display_date,
    "number": translation.display_number,
    "written": translation.format_number,
    "plain_lines": lambda text: "\n".join(map(plain, text.split("\n"))),
}
_ENVIRONMENT.globals |= {
    "version": __version__,
    "fingerprint": FINGERPRINT,
    "root": lambda: site_url().root,
    "asset": lambda path: f"{site_url().root}/static/{FINGERPRINT}/{path}",
    "languages": translation.language_menu,
    "language": translation.current_language,
    "_": _gettext,
    "number_of": translation.ngettext,
    "number": translation.display_number,
    "draft": lambda: UNCHECKED_DRAFT if request_context().unchecked_draft else "",
}


def render_page(template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A rendered page as a response."""
    return HTMLResponse(render(template, **context), status_code=status)


def render(template: str, **context: Any) -> str:
    """A rendered page as text."""
    return translation.add_language_to_links(_ENVIRONMENT.get_template(template).render(context))
