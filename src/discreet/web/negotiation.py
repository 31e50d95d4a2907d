"""Content negotiation: the format and language of a response, and whether the reader has a copy of it.

The most specific media range that matches a format gives its quality. The highest quality wins, then the more specific
match, then the order of the formats; 406 lists them. `lang=de` chooses a language by the URL alone; a page without it
follows `Accept-Language`. API responses are in English; tables and descriptions take `lang` for their labels.
Source: RFC 9110, sections 8.8.3, 12.5.1, 12.5.4 and 13.1.2.
"""

import re
from urllib.parse import unquote

from babel.core import negotiate_locale
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from discreet.errors import BadRequest, NotAcceptable
from discreet.formats import Format, formats
from discreet.model.messages.text import message
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.i18n.translation import Language, RequestLanguage, has_languages, languages, with_language
from discreet.web.urls import is_for_programs, strip_root

DEFAULT_FORMAT = "json"
_ENCODED = re.compile(r'-(?:zstd|br|gzip)"\Z')


def choose_format(accept: str) -> Format:
    """The format that a header asks for.

    >>> choose_format("text/csv;q=0.9, text/html;q=0.1").name, choose_format("").name
    ('csv', 'json')
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
            try:
                found.append((name, min(1.0, max(0.0, float(quality)))))
            except ValueError:
                found.append((name, 1.0))
    return found


def media_type(form: Format) -> str:
    """What HTTP calls a format, without parameters."""
    return form.media_type.partition(";")[0]


class LanguageMiddleware(HttpMiddleware):
    """Chooses the language of an answer."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not has_languages(strip_root(scope["path"])):
            await self.app(scope, receive, send)
            return
        context, for_programs = request_context(), is_for_programs(strip_root(scope["path"]))
        parts = scope["query_string"].decode("latin-1").split("&")
        named = [unquote(part[5:]) for part in parts if part.startswith("lang=")]
        query = "&".join(part for part in parts if not part.startswith("lang="))
        if not for_programs:
            named = [name for name in named if name]  # an empty field of a form
        chosen = len(named) == 1 and named[0] in languages()
        if named and not chosen:
            context.refuse(_unknown_language(named))
        header = "" if for_programs else Headers(scope=scope).get("accept-language", "")
        language = languages()[named[0]] if chosen else choose_language(header)
        context.language = RequestLanguage(language, chosen, scope["path"], query)

        async def with_language_headers(part: Message) -> None:
            if part["type"] == "http.response.start" and (chosen or not for_programs):
                headers = MutableHeaders(scope=part)
                headers["content-language"] = language.code
                if not chosen:
                    headers.add_vary_header("Accept-Language")
                if "location" in headers:
                    headers["location"] = with_language(headers["location"])
            await send(part)

        await self.app({**scope, "query_string": query.encode("latin-1")}, receive, with_language_headers)


def matches_etag(if_none_match: str, etag: str) -> bool:
    """Whether a list of ETags names this one, weakened by a proxy or with the suffix of a compressed copy.

    `*` never matches: whether there is a table at all may depend on rules that are not checked yet.

    >>> matches_etag('"x", W/"abc-gzip"', '"abc"'), matches_etag("*", '"abc"')
    (True, False)
    """
    return plain_etag(etag) in map(plain_etag, if_none_match.split(","))


def plain_etag(etag: str) -> str:
    """A strong ETag without the suffix of its encoding."""
    return _ENCODED.sub('"', etag.strip().removeprefix("W/"))


def choose_language(header: str) -> Language:
    """The language that a browser asks for, of those that there are; English where it asks for none of them.

    >>> choose_language("fr;q=0.9, de-AT;q=0.8, en;q=0.1").code, choose_language("").code
    ('de', 'en')
    """
    known = languages()
    wanted = [name for name, quality in sorted(parse_accept(header), key=lambda item: -item[1]) if quality]
    found = negotiate_locale(wanted[:50], list(known), sep="-")
    return known[found if found in known else "en"]


def _unknown_language(named: list[str]) -> BadRequest:
    if len(named) > 1:
        return BadRequest(message("lang is given {times} times.", times=len(named)), message("Give it once."))
    return BadRequest(
        message('There is no language "{name}".', name=named[0][:40]),
        message("Write {lines:or}, or leave it out.", lines=tuple(f"lang={code}" for code in languages())),
    )
