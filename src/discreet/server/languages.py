"""Which language an answer speaks: the one that its address names, else the first that the browser asks for.

    lang=de                              this language; the answer depends on the address alone
    Accept-Language: de-AT, en;q=0.5     a page in German, with `Vary: Accept-Language`
    neither                              English

Addresses for programs speak English; a table or a description of the API takes `lang` for its labels. The layer takes
`lang` out of the query, so that no route has to know it, and refuses a language that is not there.

Source: RFC 9110, section 12.5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from babel.core import negotiate_locale
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request

from discreet.errors import BadRequest
from discreet.model.told import told
from discreet.server.address import is_for_programs, own_path
from discreet.server.carried import speaks, with_language
from discreet.server.negotiation import accepted_ranges
from discreet.server.problems import problem_response
from discreet.server.words import SPEECH, Speech, languages

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from discreet.server.words import Language


class Languages:
    """Chooses the language of an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on without `lang`, and say in which language the answer is."""
        if scope["type"] != "http" or not speaks(own_path(scope["path"])):
            await self.app(scope, receive, send)
            return
        named, rest = _named(scope["query_string"].decode("latin-1"))
        if not _for_programs(scope):
            named = [name for name in named if name]  # an empty field of a form
        now = _speech(scope, named, rest)
        token = SPEECH.set(now)
        try:
            app = self.app if not named or now.chosen else problem_response(Request(scope), _refusal(named))
            await app({**scope, "query_string": rest.encode("latin-1")}, receive, _telling(now, scope, send))
        finally:
            SPEECH.reset(token)


def preferred(header: str) -> Language:
    """The language that a browser asks for, of those that there are; English where it asks for none of them.

    >>> preferred("fr;q=0.9, de-AT;q=0.8, en;q=0.1").code, preferred("").code
    ('de', 'en')
    """
    known = languages()
    wanted = [name for name, quality in sorted(accepted_ranges(header), key=lambda item: -item[1]) if quality]
    found = negotiate_locale(wanted[:50], list(known), sep="-")
    return known[found if found in known else "en"]


def _named(query: str) -> tuple[list[str], str]:
    """The languages that a query names, and the query without them."""
    parts = query.split("&")
    named = [unquote(part[5:]) for part in parts if part.startswith("lang=")]
    return named, "&".join(part for part in parts if not part.startswith("lang="))


def _speech(scope: Scope, named: list[str], rest: str) -> Speech:
    if len(named) == 1 and named[0] in languages():
        return Speech(languages()[named[0]], True, scope["path"], rest)
    asked = "" if _for_programs(scope) else Headers(scope=scope).get("accept-language", "")
    return Speech(preferred(asked), False, scope["path"], rest)


def _for_programs(scope: Scope) -> bool:
    return is_for_programs(own_path(scope["path"]))


def _telling(now: Speech, scope: Scope, send: Send) -> Send:
    """Say which language was chosen, and by what; a redirect keeps it."""

    async def told_language(message: Message) -> None:
        if message["type"] == "http.response.start" and (now.chosen or not _for_programs(scope)):
            headers = MutableHeaders(scope=message)
            headers["content-language"] = now.language.code
            if not now.chosen:
                headers.add_vary_header("Accept-Language")
            if "location" in headers:
                headers["location"] = with_language(headers["location"])
        await send(message)

    return told_language


def _refusal(named: list[str]) -> BadRequest:
    if len(named) > 1:
        return BadRequest(told("lang is given {times} times.", times=len(named)), told("Give it once."))
    return BadRequest(
        told('There is no language "{name}".', name=named[0][:40]),
        told("Write {lines:or}, or leave it out.", lines=tuple(f"lang={code}" for code in languages())),
    )
