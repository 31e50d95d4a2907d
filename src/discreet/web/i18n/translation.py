"""The labels and sentences of datasets and releases in the reader's language.

Names, codes and numbers are the same objects as before, so no number can depend on a language.

Links that keep the language: the language menu, and `lang=` on the links of a page whose URL has it.

There are no cookies, so every link, form and picture of such a page must name the language as well. It is added to
the rendered HTML, so templates do not handle it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from html import escape, unescape

from discreet.model.columns import Listing
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Label, Translatable
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.model.variable import CodeList, Variable
from discreet.web.i18n.messages import (
    Language,
    current_language,
    gettext,
    languages,
    localise,
    request_language,
)
from discreet.web.urls import is_for_programs, site_url, strip_root


def translate_dataset(dataset: Dataset) -> Dataset:
    """The description with its labels in the language of the reader."""
    code = current_language().code
    return _dataset(dataset, code) if _has_labels(dataset, code) else dataset


@lru_cache(maxsize=64)
def _has_labels(dataset: Dataset, code: str) -> bool:
    own = (dataset.label, dataset.description, dataset.unit, dataset.population, dataset.source)
    above = [
        each.label for part in (dataset.variables, dataset.hierarchies, dataset.code_lists) for each in part
    ]
    categories = (category.label for variable in dataset.variables for category in variable.categories)
    about = (text for variable in dataset.variables for text in (variable.topic, variable.description))
    texts = (*own, *above, *about, *categories)
    return any(isinstance(text, Label) and code in text.others for text in texts)


@lru_cache(maxsize=64)
def _dataset(dataset: Dataset, _code: str) -> Dataset:
    return replace(
        dataset,
        label=localise(dataset.label),
        description=localise(dataset.description),
        unit=localise(dataset.unit),
        population=localise(dataset.population),
        source=localise(dataset.source),
        variables=tuple(map(_variable, dataset.variables)),
        hierarchies=tuple(replace(each, label=localise(each.label)) for each in dataset.hierarchies),
        code_lists=tuple(map(_code_list, dataset.code_lists)),
    )


def _variable(variable: Variable) -> Variable:
    categories = tuple(
        replace(each, label=localise(each.label)) if isinstance(each.label, Label) else each
        for each in variable.categories
    )
    return replace(
        variable,
        label=localise(variable.label),
        topic=localise(variable.topic),
        description=localise(variable.description),
        categories=categories,
    )


def _code_list(code_list: CodeList) -> CodeList:
    groups = tuple((code, localise(label), members) for code, label, members in code_list.groups)
    return replace(code_list, label=localise(code_list.label), groups=groups)


def translate_release(release: Release) -> Release:
    """The release with its labels and sentences in the language of the reader."""
    return replace(
        release,
        dataset=translate_dataset(release.dataset),
        dimensions=tuple(map(_dimension, release.dimensions)),
        notes=tuple(map(localise, release.notes)),
        promise=tuple(map(localise, release.promise)),
        derived=tuple(replace(each, meaning=localise(each.meaning)) for each in release.derived),
        heading=gettext(release.title),
    )


def dataset_in_language(dataset: Dataset) -> Dataset:
    """The description in the language that an API URL names; unchanged without one."""
    return translate_dataset(dataset) if request_language().chosen else dataset


def release_in_language(release: Release) -> Release:
    """The release in the language that an API URL names; unchanged without one."""
    return translate_release(release) if request_language().chosen else release


def listing_in_language(listing: Listing) -> Listing:
    """The same for a listing of cells."""
    if not request_language().chosen:
        return listing
    return replace(
        listing,
        dataset=translate_dataset(listing.dataset),
        dimensions=tuple(map(_dimension, listing.dimensions)),
        notes=tuple(map(localise, listing.notes)),
        promise=tuple(map(localise, listing.promise)),
    )


def _dimension(dimension: Dimension) -> Dimension:
    outputs = dimension.outputs
    if any(isinstance(output.label, Translatable) for output in outputs):
        outputs = tuple(replace(each, label=localise(each.label)) for each in outputs)
    total = localise(dimension.labels[-1]) if dimension.total else dimension.total_label
    return replace(
        dimension,
        label=localise(dimension.label),
        outputs=outputs,
        unit=localise(dimension.unit),
        total_label=total,
    )


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
