"""Translations: every text of a page in the reader's language, by gettext catalogues and Babel.

All texts go through `gettext` (in templates `_("...")`): English is the key, values are named, `ngettext` chooses plurals.
`gettext` also translates a `Message` of the core (`model/messages/text.py`) and a dataset's `Label`. Names, codes and
numbers stay the same objects, so no number depends on a language.

A language is one file, `locale/de.po`; missing entries stay English. Separators, lists, dates, plural forms and text
direction come from Babel. There are no cookies: links, forms and pictures of a page whose URL has `lang=` keep it, and
it is added to the rendered HTML, so templates do not handle it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property, lru_cache
from gettext import NullTranslations
from html import escape, unescape
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from babel.core import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.support import Translations

from discreet.model.columns import Listing
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Count, Label, Message, MessageFormatter, Translatable
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.web.context import request_context
from discreet.web.urls import is_for_programs, site_url, strip_root

LOCALE = Path(__file__).parents[1] / "locale"
#: Languages that capitalise nouns.
_CAPITAL_NOUNS = {"de", "lb"}
_DATASET_TEXTS = ("label", "description", "unit", "population", "source")
_Table = TypeVar("_Table", Release, Listing)
_Data = TypeVar("_Data")
_QUOTED = re.compile(r'"([A-Za-z][A-Za-z0-9_]*)"')
_LISTED = re.compile(r"\(([A-Za-z][A-Za-z0-9_]*(?:, [A-Za-z][A-Za-z0-9_]*)*)\)")


@dataclass(frozen=True, eq=False)
class Language:
    """A language of the pages: its code as HTML and URLs write it (`de`, `pt-BR`), Babel's data, and its texts."""

    code: str
    locale: Locale
    catalogue: NullTranslations

    @property
    def name(self) -> str:
        """Its own name."""
        name = (Locale.parse(self.code, sep="-").display_name) or self.code
        return name[:1].upper() + name[1:]

    @property
    def direction(self) -> str:
        """`ltr` or `rtl`."""
        return self.locale.text_direction

    @cached_property
    def formatter(self) -> _Formatter:
        """Puts values into its texts."""
        return _Formatter(self)

    @cached_property
    def separators(self) -> dict[int, str]:
        """The translation of an English number's comma and point."""
        symbols = self.locale.number_symbols["latn"]
        return str.maketrans({",": symbols["group"], ".": symbols["decimal"]})

    @cached_property
    def percent(self) -> str:
        """The percent sign, with the space before it that the language has."""
        return str(self.locale.percent_formats[None].suffix[0])

    @cached_property
    def by_thousands(self) -> bool:
        """Whether digits are grouped by three."""
        return bool(self.locale.decimal_formats[None].grouping == (3, 3))

    def translate(self, text: Message) -> str:
        """A message of the core; joined sentences stay separable (`sentences_of`)."""
        if len(text.sentences) > 1:
            return Message.of_sentences(tuple(map(self.formatter.text, text.sentences)))
        if text.plural:
            template = self.catalogue.ngettext(text.template, text.plural, text.amount)
        else:
            template = self.catalogue.gettext(text.template)
        return self.formatter.vformat(template, (), text.values) if text.values else template


class _Formatter(MessageFormatter):
    def __init__(self, language: Language) -> None:
        self._language = language

    def text(self, value: object) -> str:
        if isinstance(value, Message):
            return self._language.translate(value)
        if isinstance(value, Label):
            return value.others.get(self._language.code) or str.__str__(value)
        return self.number(int(value), ",") if isinstance(value, Count) else str(value)

    def number(self, value: Any, spec: str) -> str:
        text = format(value, spec).translate(self._language.separators)
        return text.replace("%", self._language.percent) if spec.endswith("%") else text

    def enumeration(self, parts: Any, word: str) -> str:
        """A list as Babel joins it; English without a comma before the "and"."""
        if self._language.locale.language == "en":
            return super().enumeration(parts, word)
        return format_list(list(parts), "standard" if word == "and" else "or", locale=self._language.locale)

    def chain(self, parts: Any, word: str) -> str:
        """A list with the word between any two parts in English, as `enumeration` in other languages."""
        english = self._language.locale.language == "en"
        return super().chain(parts, word) if english else self.enumeration(parts, word)

    def lower(self, text: str) -> str:
        return text if self._language.locale.language in _CAPITAL_NOUNS else text.lower()


@dataclass(frozen=True, slots=True)
class RequestLanguage:
    """The language of a request, whether its URL names it, and the path and query of the page without `lang`."""

    language: Language
    chosen: bool = False
    path: str = ""
    query: str = ""


@cache
def languages() -> dict[str, Language]:
    """Every language by its code, English first: one per file of `locale/`."""
    found = {"en": Language("en", Locale("en", "GB"), NullTranslations())}
    for path in sorted(LOCALE.glob("*.po")):
        compiled = BytesIO()
        with path.open("rb") as file:
            write_mo(compiled, read_po(file, locale=path.stem))
        compiled.seek(0)
        locale = Locale.parse(path.stem)
        code = str(locale).replace("_", "-")
        found[code] = Language(code, locale, Translations(compiled))
    return found


def request_language() -> RequestLanguage:
    """The language of the current request; English outside a request."""
    return request_context().language or RequestLanguage(languages()["en"])


def current_language() -> Language:
    """The language of the current request."""
    return request_language().language


def gettext(text: str, **values: object) -> str:
    """A text in the reader's language, with its values.

    >>> gettext("{cells:,} cells", cells=3600)
    '3,600 cells'
    """
    language = current_language()
    if isinstance(text, Translatable):
        return language.formatter.text(text)
    template = language.catalogue.gettext(text) if text else ""  # the empty key holds a catalogue's header
    return language.formatter.vformat(template, (), values) if values else template


def ngettext(one: str, many: str, count: int, **values: object) -> str:
    """A text with a plural: `{count}` is the number as the language writes it.

    >>> ngettext("{count} cell", "{count} cells", 1), ngettext("{count} cell", "{count} cells", 3600)
    ('1 cell', '3,600 cells')
    """
    return current_language().translate(Message(one, {"count": Count(count), **values}, many, count))


def localise(value: Any) -> Any:
    """A text of the core in the reader's language; any other value unchanged."""
    return gettext(value) if isinstance(value, Translatable) else value


def display_number(value: float) -> str:
    """A number with the separators of the language and a real minus sign.

    >>> display_number(-1234)
    '−1,234'
    """
    language = current_language()
    if language.by_thousands:
        text = f"{value:,}".translate(language.separators)
    else:
        text = format_decimal(
            value, locale=language.locale, numbering_system="latn", decimal_quantization=False
        )
    return text.replace("-", "\N{MINUS SIGN}")


def format_number(value: float, spec: str) -> str:
    """A number in a Python format, with the separators of the language.

    >>> format_number(1234.5, ",.2f")
    '1,234.50'
    """
    return current_language().formatter.number(value, spec)


def join_labels(names: Iterable[str]) -> str:
    """Labels as a heading; all but the first in lower case where the language writes nouns so.

    >>> join_labels(["Region", "Sex", "Age"])
    'Region, sex and age'
    """
    formatter = current_language().formatter
    first, *rest = [formatter.text(name) for name in names] or [""]
    return formatter.enumeration([first, *map(formatter.lower, rest)], "and")


def lower_label(label: str) -> str:
    """A label inside a sentence: in lower case, where the language writes nouns so."""
    return current_language().formatter.lower(label)


def display_date(text: str) -> str:
    """A date in the words of the language; other text unchanged.

    >>> display_date("2026-03-01"), display_date("spring 2026")
    ('1 March 2026', 'spring 2026')
    """
    try:
        return format_date(date.fromisoformat(text), "long", locale=current_language().locale)
    except ValueError:
        return str(localise(text))


def translate_dataset(dataset: Dataset) -> Dataset:
    """The description with its labels in the language of the reader."""
    return _dataset(dataset, current_language().code)


@lru_cache(maxsize=64)
def _dataset(dataset: Dataset, _code: str) -> Dataset:
    return replace(
        _localised(dataset, *_DATASET_TEXTS),
        variables=tuple(
            replace(
                _localised(variable, "label", "topic", "description"),
                categories=tuple(
                    _localised(each, "label") if isinstance(each.label, Label) else each
                    for each in variable.categories
                ),
            )
            for variable in dataset.variables
        ),
        hierarchies=tuple(_localised(each, "label") for each in dataset.hierarchies),
        code_lists=tuple(
            replace(
                _localised(each, "label"),
                groups=tuple((code, localise(label), members) for code, label, members in each.groups),
            )
            for each in dataset.code_lists
        ),
    )


def _localised(value: _Data, *names: str) -> _Data:
    """A copy of a dataclass with some of its texts in the language of the reader."""
    texts = {name: localise(getattr(value, name)) for name in names}
    return replace(value, **texts)  # type: ignore[type-var] # any dataclass


def translate_release(release: Release) -> Release:
    """The release with its labels and sentences in the language of the reader."""
    derived = tuple(_localised(each, "meaning") for each in release.derived)
    return replace(_with_labels(release), derived=derived, heading=gettext(release.title))


def _with_labels(table: _Table) -> _Table:
    return replace(
        table,
        dataset=translate_dataset(table.dataset),
        dimensions=tuple(map(_dimension, table.dimensions)),
        notes=tuple(map(localise, table.notes)),
        promise=tuple(map(localise, table.promise)),
    )


def dataset_in_language(dataset: Dataset) -> Dataset:
    """The description in the language that an API URL names; unchanged without one."""
    return translate_dataset(dataset) if request_language().chosen else dataset


def release_in_language(release: Release) -> Release:
    """The release in the language that an API URL names; unchanged without one."""
    return translate_release(release) if request_language().chosen else release


def listing_in_language(listing: Listing) -> Listing:
    """The same for a listing of cells."""
    return _with_labels(listing) if request_language().chosen else listing


def _dimension(dimension: Dimension) -> Dimension:
    outputs = dimension.outputs
    if any(isinstance(output.label, Translatable) for output in outputs):
        outputs = tuple(_localised(each, "label") for each in outputs)
    total = localise(dimension.labels[-1]) if dimension.total else dimension.total_label
    return replace(_localised(dimension, "label", "unit"), outputs=outputs, total_label=total)


def in_labels(dataset: Dataset, text: str) -> str:
    """A sentence in the reader's language, with the labels of variables in place of their names.

    The values of a `Message` are replaced; in other text, names in quotes or listed in parentheses are.

    >>> from discreet.model.dataset import Dataset
    >>> from discreet.model.messages.text import message
    >>> from discreet.model.variable import Category, Variable
    >>> people = Dataset("people", "People", (Variable("job", "Job or trade", (Category("1", "None"),)),), "id")
    >>> in_labels(people, message("Take {names} out.", names=("job",))), in_labels(people, 'Take "job" out (job).')
    ('Take Job or trade out.', 'Take “Job or trade” out (Job or trade).')
    """
    labels = {variable.name: variable.label for variable in dataset.variables}
    labels |= {code_list.name: code_list.label for code_list in dataset.code_lists}
    if isinstance(text, Message):
        return gettext(_replace_names(text, labels))

    def in_parentheses(found: re.Match[str]) -> str:
        names = found[1].split(", ")
        return f"({', '.join(labels[n] for n in names)})" if labels.keys() >= set(names) else found[0]

    quoted = _QUOTED.sub(lambda found: f"“{labels[found[1]]}”" if found[1] in labels else found[0], text)
    return _LISTED.sub(in_parentheses, quoted)


def _replace_names(value: Any, labels: dict[str, str]) -> Any:
    """A value of a sentence with labels for names, also inside nested sentences and lists."""
    if isinstance(value, Message):
        values = {key: _replace_names(each, labels) for key, each in value.values.items()}
        return Message(value.template, values, value.plural, value.amount)
    if isinstance(value, tuple):
        return tuple(_replace_names(each, labels) for each in value)
    return labels.get(value, value) if isinstance(value, str) else value


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
    """Rendered HTML whose links keep the language of its URL; downloads have it in any case."""
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
