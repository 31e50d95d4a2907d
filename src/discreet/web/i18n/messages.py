"""What the pages say, in the language of the reader.

Every text of a page goes through `say` (in templates `_("...")`): English is the key, a catalogue has the others.
Values stand in it by name, `say("{cells:,} cells", cells=36)`, and plurals choose by a number. A sentence of the core is a
`Text` (`model/messages/text.py`) and a label of a dataset a `Label`: `say` translates both.

A language is one file, `locale/de.po`: what its entries lack is said in English. Separators, lists, dates, plural forms and
the direction of writing are those that Babel knows for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
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

LOCALE = Path(__file__).parents[1] / "locale"
#: Languages that write nouns with a capital letter wherever they stand.
_CAPITAL_NOUNS = {"de", "lb"}


@dataclass(frozen=True, eq=False)
class Language:
    """A language that pages speak.

    Args:
        code: As HTML and addresses write it: `de`, `pt-BR`.
        locale: What Babel knows of it.
        catalogue: English texts to its own.
    """

    code: str
    locale: Locale
    catalogue: NullTranslations

    @property
    def name(self) -> str:
        """What its speakers call it."""
        name = (Locale.parse(self.code, sep="-").display_name) or self.code
        return name[:1].upper() + name[1:]

    @property
    def direction(self) -> str:
        """`ltr` or `rtl`."""
        return self.locale.text_direction

    @cached_property
    def teller(self) -> _Formatter:
        """Puts values into its texts."""
        return _Formatter(self)

    @cached_property
    def separators(self) -> dict[int, str]:
        """What stands for the comma and the point of an English number."""
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

    def tell(self, text: Message) -> str:
        """A sentence of the core."""
        if text.plural:
            template = self.catalogue.ngettext(text.template, text.plural, text.amount)
        else:
            template = self.catalogue.gettext(text.template)
        return self.teller.vformat(template, (), text.values) if text.values else template


class _Formatter(MessageFormatter):
    """Puts values into a template of one language."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def text(self, value: object) -> str:
        """A value as text: what was told is told in this language."""
        if isinstance(value, Message):
            return self._language.tell(value)
        if isinstance(value, Label):
            return value.others.get(self._language.code) or str.__str__(value)
        return self.number(int(value), ",") if isinstance(value, Count) else str(value)

    def number(self, value: Any, spec: str) -> str:
        """A number with the separators of the language."""
        text = format(value, spec).translate(self._language.separators)
        return text.replace("%", self._language.percent) if spec.endswith("%") else text

    def enumeration(self, parts: Any, word: str) -> str:
        """Several parts in a row, as Babel joins them; English without a comma before the "and"."""
        if self._language.locale.language == "en":
            return super().enumeration(parts, word)
        return format_list(list(parts), "standard" if word == "and" else "or", locale=self._language.locale)

    def chain(self, parts: Any, word: str) -> str:
        """Several parts in a row; English has a way of its own to part many."""
        english = self._language.locale.language == "en"
        return super().chain(parts, word) if english else self.enumeration(parts, word)

    def lower(self, text: str) -> str:
        """A label inside a sentence."""
        return text if self._language.locale.language in _CAPITAL_NOUNS else text.lower()


@dataclass(frozen=True, slots=True)
class RequestLanguage:
    """The language of one answer.

    Args:
        language: Which.
        chosen: Whether the address chose it.
        path: Of the page, for the same page in other languages.
        query: The parameters of the page without `lang`.
    """

    language: Language
    chosen: bool = False
    path: str = ""
    query: str = ""


@cache
def languages() -> dict[str, Language]:
    """Every language by its code, English first: a file of `locale/` each."""
    found = {"en": Language("en", Locale("en", "GB"), NullTranslations())}
    for path in sorted(LOCALE.glob("*.po")):
        locale = Locale.parse(path.stem)
        code = str(locale).replace("_", "-")
        found[code] = Language(code, locale, _catalogue(path))
    return found


def _catalogue(path: Path) -> NullTranslations:
    """The texts of a `.po` file, with their plural rule."""
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=path.stem))
    compiled.seek(0)
    return Translations(compiled)


REQUEST_LANGUAGE: ContextVar[RequestLanguage | None] = ContextVar("SPEECH", default=None)


def request_language() -> RequestLanguage:
    """How the request that is being answered is answered."""
    return REQUEST_LANGUAGE.get() or RequestLanguage(languages()["en"])


def current_language() -> Language:
    """The language of the reader."""
    return request_language().language


def gettext(text: str, **values: object) -> str:
    """A text in the language of the reader, with its values.

    >>> gettext("{cells:,} cells", cells=3600)
    '3,600 cells'
    """
    reader = current_language()
    if isinstance(text, Translatable):
        return reader.teller.text(text)
    template = reader.catalogue.gettext(text)
    return reader.teller.vformat(template, (), values) if values else template


def ngettext(one: str, many: str, count: int, **values: object) -> str:
    """A text that depends on a number: `{count}` in it is the number as the language writes it.

    >>> ngettext("{count} cell", "{count} cells", 1), ngettext("{count} cell", "{count} cells", 3600)
    ('1 cell', '3,600 cells')
    """
    return current_language().tell(Message(one, {"count": Count(count), **values}, many, count))


def localise(value: Any) -> Any:
    """What the core told, in the language of the reader; anything else as it is."""
    return gettext(value) if isinstance(value, Translatable) else value


def display_number(value: float) -> str:
    """A number for the eye: separators of the language, and a real minus sign.

    >>> display_number(-1234)
    '−1,234'
    """
    reader = current_language()
    if reader.by_thousands:
        text = f"{value:,}".translate(reader.separators)
    else:
        text = format_decimal(
            value, locale=reader.locale, numbering_system="latn", decimal_quantization=False
        )
    return text.replace("-", "\N{MINUS SIGN}")


def join_labels(names: Iterable[str]) -> str:
    """Labels in a row as a heading, as in "Region and sex"; small letters where the language has them.

    >>> join_labels(["Region", "Sex", "Age"])
    'Region, sex and age'
    """
    reader = current_language().teller
    first, *rest = [reader.text(name) for name in names] or [""]
    return reader.enumeration([first, *map(reader.lower, rest)], "and")


def lower_label(label: str) -> str:
    """A label inside a sentence: in small letters, where the language writes nouns so."""
    return current_language().teller.lower(label)


def format_number(value: float, spec: str) -> str:
    """A number as a format says, with the separators of the language.

    >>> format_number(1234.5, ",.2f")
    '1,234.50'
    """
    return current_language().teller.number(value, spec)


def display_date(text: str) -> str:
    """A date in the words of the language; what is no date as it is.

    >>> display_date("2026-03-01"), display_date("spring 2026")
    ('1 March 2026', 'spring 2026')
    """
    try:
        return format_date(date.fromisoformat(text), "long", locale=current_language().locale)
    except ValueError:
        return str(localise(text))
