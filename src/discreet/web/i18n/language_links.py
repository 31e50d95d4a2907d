"""Links that keep the language: the menu of languages, and `lang=` on the links of a page whose address has it.

A reader who chose a language keeps it. There are no cookies, so every link, form and picture of ours that such a page
holds names the language as well. This is done once, on the page as it was rendered: no template has to think of it.
"""

from __future__ import annotations

import re
from html import escape, unescape

from discreet.web.i18n.messages import Language, languages, request_language
from discreet.web.urls import is_for_programs, site_url, strip_root

#: What programs may ask in a language: descriptions and tables with their labels.
TRANSLATED_API = re.compile(r"/api/datasets(/[^/]+(/table)?)?\Z")
_LINK = re.compile(r'(?P<before>\s(?:href|src|data-address)=")(?P<address>[^"]*)(?=")')
_FORM = re.compile(r'<form\b[^>]*\smethod="get"[^>]*>')
_HAS_LANGUAGE = re.compile(r"[?&;]lang=")


def has_languages(path: str) -> bool:
    """Whether an address of ours may be asked in a language.

    >>> has_languages("/datasets/census"), has_languages("/api/datasets/census/table"), has_languages("/api/v2/tables")
    (True, True, False)
    """
    return not (is_for_programs(path) or path.startswith("/static/")) or bool(TRANSLATED_API.match(path))


def language_menu() -> list[tuple[Language, str, bool]]:
    """Every language with the address of this page in it, and whether it is spoken now."""
    now = request_language()
    path = now.path or f"{site_url().root}/"
    return [
        (
            each,
            _append_language(f"{path}?{now.query}" if now.query else path, each.code),
            each is now.language,
        )
        for each in languages().values()
    ]


def add_language_to_links(html: str) -> str:
    """A page whose links keep the language that its address names; downloads have it in any case.

    Args:
        html: The page as it was rendered: attribute values are escaped and in double quotes.
    """
    now = request_language()
    if not now.chosen and now.language.code == "en":
        return html
    html = _LINK.sub(lambda found: found["before"] + escape(_add_language(unescape(found["address"]))), html)
    if not now.chosen:
        return html
    field = f'<input type="hidden" name="lang" value="{now.language.code}">'
    return _FORM.sub(lambda found: found[0] + field, html)


def with_language(address: str) -> str:
    """One address, naming the language of this page if its own address does."""
    return _add_language(address) if request_language().chosen else address


def _add_language(address: str) -> str:
    """An address of ours with the language; another address, or one that names a language, as it is."""
    now, place = request_language(), site_url()
    path = address.partition("#")[0].partition("?")[0]
    own = strip_root(path.removeprefix(place.origin) if place.origin else path)
    elsewhere = not own.startswith("/") or own.startswith("//") or not has_languages(own)
    if elsewhere or _HAS_LANGUAGE.search(address) or not (now.chosen or own.startswith("/api/")):
        return address
    return _append_language(address, now.language.code)


def _append_language(address: str, code: str) -> str:
    """An address with a language.

    >>> _append_language("/datasets/census?rows=sex#table", "de")
    '/datasets/census?rows=sex&lang=de#table'
    """
    whole, sharp, fragment = address.partition("#")
    return f"{whole}{'&' if '?' in whole else '?'}lang={code}{sharp}{fragment}"
