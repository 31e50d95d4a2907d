"""Links that keep the language: the menu of languages, and `lang=` on the links of a page whose address has it.

A reader who chose a language keeps it. There are no cookies, so every link, form and picture of ours that such a page
holds names the language as well. This is done once, on the page as it was rendered: no template has to think of it.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

from discreet.server.address import here, is_for_programs, own_path
from discreet.server.words import languages, speech

if TYPE_CHECKING:
    from discreet.server.words import Language

#: What programs may ask in a language: descriptions and tables with their labels.
SPOKEN_API = re.compile(r"/api/datasets(/[^/]+(/table)?)?\Z")
_LINK = re.compile(r'(?P<before>\s(?:href|src|data-address)=")(?P<address>[^"]*)(?=")')
_FORM = re.compile(r'<form\b[^>]*\smethod="get"[^>]*>')
_NAMED = re.compile(r"[?&;]lang=")


def speaks(path: str) -> bool:
    """Whether an address of ours may be asked in a language.

    >>> speaks("/datasets/census"), speaks("/api/datasets/census/table"), speaks("/api/v2/tables")
    (True, True, False)
    """
    return not (is_for_programs(path) or path.startswith("/static/")) or bool(SPOKEN_API.match(path))


def menu() -> list[tuple[Language, str, bool]]:
    """Every language with the address of this page in it, and whether it is spoken now."""
    now = speech()
    path = now.path or f"{here().root}/"
    return [
        (each, _naming(f"{path}?{now.query}" if now.query else path, each.code), each is now.language)
        for each in languages().values()
    ]


def carried(html: str) -> str:
    """A page whose links keep the language that its address names; downloads have it in any case.

    Args:
        html: The page as it was rendered: attribute values are escaped and in double quotes.
    """
    now = speech()
    if not now.chosen and now.language.code == "en":
        return html
    html = _LINK.sub(lambda found: found["before"] + escape(_kept(unescape(found["address"]))), html)
    if not now.chosen:
        return html
    field = f'<input type="hidden" name="lang" value="{now.language.code}">'
    return _FORM.sub(lambda found: found[0] + field, html)


def with_language(address: str) -> str:
    """One address, naming the language of this page if its own address does."""
    return _kept(address) if speech().chosen else address


def _kept(address: str) -> str:
    """An address of ours with the language; another address, or one that names a language, as it is."""
    now, place = speech(), here()
    path = address.partition("#")[0].partition("?")[0]
    own = own_path(path.removeprefix(place.origin) if place.origin else path)
    elsewhere = not own.startswith("/") or own.startswith("//") or not speaks(own)
    if elsewhere or _NAMED.search(address) or not (now.chosen or own.startswith("/api/")):
        return address
    return _naming(address, now.language.code)


def _naming(address: str, code: str) -> str:
    """An address with a language.

    >>> _naming("/datasets/census?rows=sex#table", "de")
    '/datasets/census?rows=sex&lang=de#table'
    """
    whole, sharp, fragment = address.partition("#")
    return f"{whole}{'&' if '?' in whole else '?'}lang={code}{sharp}{fragment}"
