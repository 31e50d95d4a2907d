"""Labels on a page: any text, shown so that it can neither act nor disturb what stands beside it.

Control characters (C0, DEL, C1, lone surrogates) become U+FFFD. Explicit bidirectional formatting is closed
where the text ends, so that it never turns the text that follows around; in HTML each label stands in a
`<bdi>` besides. Markup is escaped by Jinja, and by `isolated` here.

Source: Unicode Standard Annex 9, sections 2.1-2.5.

The templates: Jinja with autoescape always on, and the few words that every page uses.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from discreet import __version__
from discreet.privacy.claim import three_digits_up
from discreet.web.assets import FINGERPRINT, TEMPLATES
from discreet.web.i18n.language_links import add_language_to_links, language_menu
from discreet.web.i18n.messages import (
    current_language,
    display_date,
    display_number,
    format_number,
    gettext,
    localise,
    ngettext,
)
from discreet.web.urls import site_url

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_POP_EMBEDDING, _POP_ISOLATE = "\u202c", "\u2069"
#: What opens a bidirectional context, and what closes it.
_CLOSER = dict.fromkeys("\u202a\u202b\u202d\u202e", _POP_EMBEDDING) | dict.fromkeys(
    "\u2066\u2067\u2068", _POP_ISOLATE
)


def plain(text: object) -> str:
    r"""Text for a place that holds no markup: a title, an option, an attribute.

    >>> plain("a\x00b")
    'a\ufffdb'
    >>> plain("\u202eabc").endswith("\u202c")
    True
    """
    return _close_bidi(_CONTROL.sub("\ufffd", str(localise(text))))


def plain_lines(text: str) -> str:
    """Lines of text for a place that holds no markup."""
    return "\n".join(plain(line) for line in text.split("\n"))


def bidi_isolate(text: object) -> Markup:
    """Text for a place in running HTML: escaped, and in a bidirectional context of its own.

    >>> bidi_isolate("<b>")
    Markup('<bdi>&lt;b&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(escape(plain(text)))


def _close_bidi(text: str) -> str:
    """Close every bidirectional context that a text opens, and drop closers of what it did not open."""
    waiting: list[str] = []
    kept = ""
    for character in text:
        if character in _CLOSER:
            waiting.append(_CLOSER[character])
        elif character in {_POP_EMBEDDING, _POP_ISOLATE}:
            if not waiting or waiting[-1] != character:
                continue
            waiting.pop()
        kept += character
    return kept + "".join(reversed(waiting))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=localise,
    )
    environment.filters |= {
        "plain": plain,
        "bdi": bidi_isolate,
        "coded": _code_spans,
        "up": three_digits_up,
        "day": display_date,
        "number": display_number,
        "written": format_number,
        "plain_lines": plain_lines,
    }
    environment.globals |= {
        "version": __version__,
        "fingerprint": FINGERPRINT,
        "root": lambda: site_url().root,
        "asset": lambda path: f"{site_url().root}/static/{FINGERPRINT}/{path}",
        "languages": language_menu,
        "language": current_language,
        "_": _gettext,
        "number_of": ngettext,
        "number": display_number,
    }
    return environment


def _gettext(text: str, **values: Any) -> str:
    """A text with its values; where one of them is HTML, so is the text, and all others are escaped."""
    if not any(hasattr(value, "__html__") for value in values.values()):
        return gettext(text, **values)
    safe = {
        name: escape(localise(value)) if isinstance(value, str) else value for name, value in values.items()
    }
    return Markup(gettext(text, **safe))  # noqa: S704 - the text is ours, and its values are escaped


def _code_spans(text: str) -> Markup:
    """A sentence in which a command stands between backticks: the command as code."""
    pieces = enumerate(str(localise(text)).split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else piece for place, piece in pieces
    )


_ENVIRONMENT = _environment()


def render_page(template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a page."""
    return HTMLResponse(render(template, **context), status_code=status)


def render(template: str, **context: Any) -> str:
    """The text of a page."""
    return add_language_to_links(_ENVIRONMENT.get_template(template).render(context))
