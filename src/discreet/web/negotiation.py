"""Which format a reader gets who names none: what the header `Accept` asks for.

    text/csv                      csv
    text/html,*/*;q=0.8           html, as browsers ask
    */*, or no header             json
    image/png                     png, a chart
    image/gif                     406, with the list of what there is

Of the ranges that match a format the most specific one gives its quality. The highest quality wins, then the more
specific match, then the order in which formats are offered.

Source: RFC 9110, section 12.5.1.

Which language an answer speaks: the one that its address names, else the first that the browser asks for.

    lang=de                              this language; the answer depends on the address alone
    Accept-Language: de-AT, en;q=0.5     a page in German, with `Vary: Accept-Language`
    neither                              English

Addresses for programs speak English; a table or a description of the API takes `lang` for its labels. The layer takes
`lang` out of the query, so that no route has to know it, and refuses a language that is not there.

Source: RFC 9110, section 12.5.4.
"""

from __future__ import annotations

from urllib.parse import unquote

from babel.core import negotiate_locale
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BadRequest, NotAcceptable
from discreet.formats import Format, formats
from discreet.model.messages.text import message
from discreet.web.i18n.language_links import has_languages, with_language
from discreet.web.i18n.messages import REQUEST_LANGUAGE, Language, RequestLanguage, languages
from discreet.web.problems import problem_response
from discreet.web.urls import is_for_programs, strip_root

DEFAULT_FORMAT = "json"


def choose_format(accept: str) -> Format:
    """The format that a header asks for.

    >>> choose_format("text/csv;q=0.9, text/html;q=0.1").name, choose_format("").name
    ('csv', 'json')

    Raises:
        NotAcceptable: It names no format that can be written here.
    """
    offered = sorted((f for f in formats() if f.installed), key=lambda form: form.name != DEFAULT_FORMAT)
    ranges = parse_accept(accept) or [("*/*", 1.0)]
    best = max(offered, key=lambda form: _liking(form, ranges))
    if not _liking(best, ranges)[0]:
        types = dict.fromkeys(media_type(form) for form in offered)
        raise NotAcceptable(
            f'No format of this table is "{accept[:200]}".',
            f"Accept one of {', '.join(types)}, or name a format.",
        )
    return best


def _liking(form: Format, ranges: list[tuple[str, float]]) -> tuple[float, int]:
    """How much a format is wanted, and how precisely it is named."""
    own = media_type(form)
    names = ("*/*", f"{own.partition('/')[0]}/*", own)
    found = [(names.index(name), quality) for name, quality in ranges if name in names]
    precision, quality = max(found, default=(0, 0.0))
    return quality, precision


def parse_accept(accept: str) -> list[tuple[str, float]]:
    """The media ranges of a header with their qualities; a quality that cannot be read is 1."""
    found = []
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        if name:
            found.append((name, _quality(quality)))
    return found


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 1.0


def media_type(form: Format) -> str:
    """What HTTP calls a format, without parameters."""
    return form.media_type.partition(";")[0]


class LanguageMiddleware:
    """Chooses the language of an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on without `lang`, and say in which language the answer is."""
        if scope["type"] != "http" or not has_languages(strip_root(scope["path"])):
            await self.app(scope, receive, send)
            return
        named, rest = _named(scope["query_string"].decode("latin-1"))
        if not _for_programs(scope):
            named = [name for name in named if name]  # an empty field of a form
        now = _speech(scope, named, rest)
        token = REQUEST_LANGUAGE.set(now)
        try:
            app = self.app if not named or now.chosen else problem_response(Request(scope), _refusal(named))
            await app({**scope, "query_string": rest.encode("latin-1")}, receive, _telling(now, scope, send))
        finally:
            REQUEST_LANGUAGE.reset(token)


def choose_language(header: str) -> Language:
    """The language that a browser asks for, of those that there are; English where it asks for none of them.

    >>> choose_language("fr;q=0.9, de-AT;q=0.8, en;q=0.1").code, choose_language("").code
    ('de', 'en')
    """
    known = languages()
    wanted = [name for name, quality in sorted(parse_accept(header), key=lambda item: -item[1]) if quality]
    found = negotiate_locale(wanted[:50], list(known), sep="-")
    return known[found if found in known else "en"]


def _named(query: str) -> tuple[list[str], str]:
    """The languages that a query names, and the query without them."""
    parts = query.split("&")
    named = [unquote(part[5:]) for part in parts if part.startswith("lang=")]
    return named, "&".join(part for part in parts if not part.startswith("lang="))


def _speech(scope: Scope, named: list[str], rest: str) -> RequestLanguage:
    if len(named) == 1 and named[0] in languages():
        return RequestLanguage(languages()[named[0]], True, scope["path"], rest)
    asked = "" if _for_programs(scope) else Headers(scope=scope).get("accept-language", "")
    return RequestLanguage(choose_language(asked), False, scope["path"], rest)


def _for_programs(scope: Scope) -> bool:
    return is_for_programs(strip_root(scope["path"]))


def _telling(now: RequestLanguage, scope: Scope, send: Send) -> Send:
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
        return BadRequest(message("lang is given {times} times.", times=len(named)), message("Give it once."))
    return BadRequest(
        message('There is no language "{name}".', name=named[0][:40]),
        message("Write {lines:or}, or leave it out.", lines=tuple(f"lang={code}" for code in languages())),
    )
