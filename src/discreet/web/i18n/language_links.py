"""Links that keep the language: the language menu, and `lang=` on the links of a page whose URL has it.

There are no cookies, so every link, form and picture of such a page must name the language as well. It is added to
the rendered HTML, so templates do not handle it.
"""

from __future__ import annotations

import re
from html import escape, unescape

from discreet.web.i18n.messages import Language, languages, request_language
from discreet.web.urls import is_for_programs, site_url, strip_root

#: The API's URLs that take `lang`: descriptions, and tables with their labels.
TRANSLATED_API = re.compile(r"/api/datasets(/[^/]+(/table)?)?\Z")
_LINK = re.compile(r'(?P<before>\s(?:href|src|data-address)=")(?P<address>[^"]*)(?=")')
_FORM = re.compile(r'<form\b[^>]*\smethod="get"[^>]*>')
_HAS_LANGUAGE = re.compile(r"[?&;]lang=")


def has_languages(path: str) -> bool:
    """Whether a path of ours takes `lang`.

    >>> has_languages("/datasets/census"), has_languages("/api/datasets/census/table"), has_languages("/api/v2/tables")
    (True, True, False)
    """
    return not (is_for_programs(path) or path.startswith("/static/")) or bool(TRANSLATED_API.match(path))


def language_menu() -> list[tuple[Language, str, bool]]:
    """Every language with this page's URL in it, and whether it is the current one."""
    now = request_language()
    path = now.path or f"{site_url().root}/"
    url = f"{path}?{now.query}" if now.query else path
    return [(each, _append_language(url, each.code), each is now.language) for each in languages().values()]


def add_language_to_links(html: str) -> str:
    """A page whose links keep the language of its URL; downloads have it in any case.

    Args:
        html: The rendered page: attribute values are escaped and in double quotes.
    """
    now = request_language()
    if not now.chosen and now.language.code == "en":
        return html
    html = _LINK.sub(lambda found: found["before"] + escape(_add_language(unescape(found["address"]))), html)
    if not now.chosen:
        return html
    field = f'<input type="hidden" name="lang" value="{now.language.code}">'
    return _FORM.sub(lambda found: found[0] + field, html)


def with_language(url: str) -> str:
    """A URL with the language of this page, if the page's own URL names it."""
    return _add_language(url) if request_language().chosen else url


def _add_language(url: str) -> str:
    """A URL of ours with the language; any other URL, or one that names a language, unchanged."""
    now, site = request_language(), site_url()
    path = url.partition("#")[0].partition("?")[0]
    own = strip_root(path.removeprefix(site.origin) if site.origin else path)
    elsewhere = not own.startswith("/") or own.startswith("//") or not has_languages(own)
    if elsewhere or _HAS_LANGUAGE.search(url) or not (now.chosen or own.startswith("/api/")):
        return url
    return _append_language(url, now.language.code)


def _append_language(url: str, code: str) -> str:
    """A URL with the parameter `lang`.

    >>> _append_language("/datasets/census?rows=sex#table", "de")
    '/datasets/census?rows=sex&lang=de#table'
    """
    whole, sharp, fragment = url.partition("#")
    return f"{whole}{'&' if '?' in whole else '?'}lang={code}{sharp}{fragment}"
