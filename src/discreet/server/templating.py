"""The templates: Jinja with autoescape always on, and the few words that every page uses."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from discreet import __version__
from discreet.privacy.claim import up
from discreet.server.address import here
from discreet.server.assets import FINGERPRINT, TEMPLATES
from discreet.server.carried import carried, menu
from discreet.server.text import isolated, plain, plain_lines
from discreet.server.words import day, language, number, say, say_number, spoken, written


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=spoken,
    )
    environment.filters |= {
        "plain": plain,
        "bdi": isolated,
        "coded": _coded,
        "up": up,
        "day": day,
        "number": number,
        "written": written,
        "plain_lines": plain_lines,
    }
    environment.globals |= {
        "version": __version__,
        "fingerprint": FINGERPRINT,
        "root": lambda: here().root,
        "asset": lambda path: f"{here().root}/static/{FINGERPRINT}/{path}",
        "languages": menu,
        "language": language,
        "_": _say,
        "number_of": say_number,
        "number": number,
    }
    return environment


def _say(text: str, **values: Any) -> str:
    """A text with its values; where one of them is HTML, so is the text, and all others are escaped."""
    if not any(hasattr(value, "__html__") for value in values.values()):
        return say(text, **values)
    safe = {
        name: escape(spoken(value)) if isinstance(value, str) else value for name, value in values.items()
    }
    return Markup(say(text, **safe))  # noqa: S704 - the text is ours, and its values are escaped


def _coded(text: str) -> Markup:
    """A sentence in which a command stands between backticks: the command as code."""
    pieces = enumerate(str(spoken(text)).split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else piece for place, piece in pieces
    )


_ENVIRONMENT = _environment()


def page(template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a page."""
    return HTMLResponse(render(template, **context), status_code=status)


def render(template: str, **context: Any) -> str:
    """The text of a page."""
    return carried(_ENVIRONMENT.get_template(template).render(context))
