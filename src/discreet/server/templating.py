"""The templates: Jinja with autoescape always on, and the few words that every page uses.

Comes from: `templates/`. Goes to: `pages` and `problems`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from discreet import __version__
from discreet.privacy.claim import up
from discreet.server.address import here
from discreet.server.text import isolated, plain

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
STATIC = HERE / "static"


def _fingerprint() -> str:
    """What the pages are made of, as a hash: it names the stylesheet's version and enters the ETags."""
    digest = hashlib.sha256()
    for path in sorted([*TEMPLATES.iterdir(), *STATIC.iterdir()]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


FINGERPRINT = _fingerprint()


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"plain": plain, "bdi": isolated, "up": up}
    environment.globals |= {"version": __version__, "fingerprint": FINGERPRINT, "root": lambda: here().root}
    return environment


_ENVIRONMENT = _environment()


def page(template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a page."""
    return HTMLResponse(render(template, **context), status_code=status)


def render(template: str, **context: Any) -> str:
    """The text of a page."""
    return _ENVIRONMENT.get_template(template).render(context)
