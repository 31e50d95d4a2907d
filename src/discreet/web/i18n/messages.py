"""Translations: every text of a page in the reader's language, by gettext catalogues and Babel.

All texts go through `gettext` (in templates `_("...")`): English is the key. Values are named,
`gettext("{cells:,} cells", cells=36)`, and `ngettext` chooses plurals. `gettext` also translates a `Message` of the
core (`model/messages/text.py`) and a dataset's `Label`.

A language is one file, `locale/de.po`; missing entries stay English. Separators, lists, dates, plural forms and text
direction come from Babel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.core import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.support import Translations

from discreet.model.messages.text import Count, Label, Message, MessageFormatter, Translatable
from discreet.web.context import request_context

LOCALE = Path(__file__).parents[1] / "locale"
#: Languages that capitalise nouns.
_CAPITAL_NOUNS = {"de", "lb"}


@dataclass(frozen=True, eq=False)
class Language:
    """A language of the pages.

    Args:
        code: As HTML and URLs write it: `de`, `pt-BR`.
        locale: Babel's data.
        catalogue: English texts to its own.
    """

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
    """Puts values into a template of one language."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def text(self, value: object) -> str:
        """A value as text, translated."""
        if isinstance(value, Message):
            return self._language.translate(value)
        if isinstance(value, Label):
            return value.others.get(self._language.code) or str.__str__(value)
        return self.number(int(value), ",") if isinstance(value, Count) else str(value)

    def number(self, value: Any, spec: str) -> str:
        """A number with the separators of the language."""
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
        """A label inside a sentence."""
        return text if self._language.locale.language in _CAPITAL_NOUNS else text.lower()


@dataclass(frozen=True, slots=True)
class RequestLanguage:
    """The language of a request.

    Args:
        language: The language.
        chosen: Whether the URL names it.
        path: The path of the page, for links to other languages.
        query: The query of the page without `lang`.
    """

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
