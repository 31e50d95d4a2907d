"""Translatable messages, suggestions for mistyped words, and one-line summaries of values.

    message("The table has {cells:,} cells; at most {most:,} are allowed.", cells=36_000, most=20_000)

is its English sentence, a `str`, which also keeps template and values: `web/i18n` looks the template up in a catalogue
and formats numbers for the language. A value may be a `Message`, a `Label`, or a tuple, which is listed:

    {names}  a, b and c      {names:or}  a, b or c      {names:comma}  a, b, c      {names:semicolon}  a; b; c
    {names:each}  a and b and c      {names:either}  a or b or c      {names:plus}  a + b      {names:times}  a x b
    {label:lower}  in lower case, in languages that write nouns so         {unit:capital}  with a capital letter
    {title:bare}   without its full stop                                   {parts:joined}  sentence after sentence

This module imports nothing of ours.
"""

import difflib
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any, Self, cast

_JOINED = "{parts:joined}"
#: Between the parts of a list that is no enumeration.
_BETWEEN = {"comma": ", ", "semicolon": "; ", "joined": " ", "plus": " + ", "times": " x "}
#: A word between any two parts.
_CHAINS = {"each": "and", "either": "or"}
_CHANGES: dict[str, Callable[[str], str]] = {
    "capital": lambda text: text[:1].upper() + text[1:],
    "bare": lambda text: text.rstrip("."),
}


class Translatable(str):
    """A text that can be shown in another language; as a `str` it is English, or the dataset's own language."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class Message(Translatable):
    """A sentence with its template and values; `message` and `plural_message` make it."""

    __slots__ = ("amount", "plural", "template", "values")
    template: str
    values: Mapping[str, object]
    plural: str
    amount: int

    def __new__(
        cls, template: str, values: Mapping[str, object] | None = None, plural: str = "", amount: int = 1
    ) -> Self:
        """Format the English sentence."""
        chosen = plural if plural and amount != 1 else template
        english = ENGLISH.vformat(chosen, (), values) if values else chosen
        return cls._made(english, template, values or {}, plural, amount)

    @classmethod
    def _made(
        cls, english: str, template: str, values: Mapping[str, object], plural: str, amount: int
    ) -> Self:
        made = super().__new__(cls, english)
        made.template, made.values, made.plural, made.amount = template, values, plural, amount
        return made

    @classmethod
    def of_sentences(cls, parts: tuple[str, ...]) -> Self:
        """Sentence after sentence; formatted without parsing a template, because every table has several."""
        return cls._made(" ".join(parts), _JOINED, {"parts": parts}, "", 1)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that were joined; never split at a full stop, which may belong to an abbreviation."""
        if self.template != _JOINED:
            return (self,)
        return tuple(
            each for part in cast("tuple[str, ...]", self.values["parts"]) for each in sentences_of(part)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (self.template, self.values, self.plural, self.amount)


class Label(Translatable):
    """A label of a dataset, with the same in other languages."""

    __slots__ = ("others",)
    others: Mapping[str, str]

    def __new__(cls, label: str, others: Mapping[str, str]) -> Self:
        """The label in the dataset's own language."""
        made = super().__new__(cls, label)
        made.others = others
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Label, (str.__str__(self), dict(self.others))


class MessageFormatter(Formatter):
    """Fills a template in English; `web/i18n` has a subclass for other languages."""

    def text(self, value: object) -> str:
        """A value as text."""
        return str(value)

    def number(self, value: Any, spec: str) -> str:
        """A number as text."""
        return format(value, spec)

    def enumeration(self, parts: Sequence[str], word: str) -> str:
        """Several parts, with "and" or "or" before the last."""
        return ", ".join(parts[:-1]) + f" {word} " + parts[-1] if len(parts) > 1 else "".join(parts)

    def chain(self, parts: Sequence[str], word: str) -> str:
        """Several parts, with "and" or "or" between any two."""
        return f" {word} ".join(parts)

    def lower(self, text: str) -> str:
        """A label inside a sentence."""
        return text.lower()

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """A conversion such as `{label!r}`, applied to the translated text."""
        return super().convert_field(
            str.__str__(self.text(value)) if isinstance(value, Translatable) and conversion else value,
            conversion,
        )

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one value."""
        if isinstance(value, tuple):
            return self._format_list(value, format_spec)
        if format_spec in _CHANGES or format_spec == "lower":
            change = _CHANGES.get(format_spec, self.lower)
            return change(self.text(value))
        if isinstance(value, str):
            return format(self.text(value), format_spec)
        return self.number(value, format_spec) if format_spec else self.text(value)

    def _format_list(self, values: tuple[object, ...], spec: str) -> str:
        first, _, small = spec.partition(" ")
        parts = [self.format_field(value, "lower" if "lower" in {first, small} else "") for value in values]
        if first in _BETWEEN:
            return _BETWEEN[first].join(parts)
        if first in _CHAINS:
            return self.chain(parts, _CHAINS[first])
        return self.enumeration(parts, "or" if first == "or" else "and")


ENGLISH = MessageFormatter()


def message(template: str, **values: object) -> Message:
    """A sentence with its values; without values, braces are literal.

    >>> message("{names:lower} have {cells:,} cells", names=("Sex", "Age"), cells=3600)
    'sex and age have 3,600 cells'
    """
    return Message(template, values)


def plural_message(one: str, many: str, count: int, **values: object) -> Message:
    """A sentence that depends on a number, which is `{count}` in it."""
    return Message(one, {"count": Count(count), **values}, many, count)


def join_sentences(parts: Iterable[str]) -> Message:
    """Sentence after sentence, without empty ones."""
    return Message.of_sentences(tuple(part for part in parts if part))


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a joined message; any other text is one.

    >>> sentences_of(join_sentences(["Some, e.g. two.", "Three."])), sentences_of("Some, e.g. two. Three.")
    (('Some, e.g. two.', 'Three.'), ('Some, e.g. two. Three.',))
    """
    return text.sentences if isinstance(text, Message) else (text,)


def first_few(words: Sequence[str], most: int = 12) -> Message:
    """The first few of many words."""
    if len(words) > most:
        return message("{words:comma} and more", words=tuple(words[:most]))
    return Message("{words:comma}", {"words": tuple(words)})


class Count(int):
    """A number that is always written with separators."""

    def __str__(self) -> str:
        return f"{int(self):,}"


#: Limits of the comparison of a mistyped word: known words, and its length.
MOST_COMPARED, LONGEST_COMPARED = 200, 200
#: The number of known words listed if none is near: all formats, families or commands.
MOST_LISTED = 24


def nearest(word: object, words: Iterable[str]) -> str:
    """A sentence that suggests the known word nearest to a mistyped one.

    >>> nearest("sexx", ["age", "sex"])
    'Did you mean "sex"?'
    """
    known = list(words)
    folded = {known_word.casefold(): known_word for known_word in known}
    asked = str(word)[:LONGEST_COMPARED].casefold()
    close = difflib.get_close_matches(asked, _candidates(asked, folded), n=1, cutoff=0.5)
    if close:
        return message('Did you mean "{word}"?', word=folded[close[0]])
    if not known:
        return message("There are none.")
    return message("Known: {words}.", words=first_few(known, MOST_LISTED))


def _candidates(word: str, known: Iterable[str]) -> list[str]:
    """The words to compare with: of many, those that begin or end most alike."""
    words = list(known)
    if len(words) <= MOST_COMPARED:
        return words
    backwards = _neighbours(word[::-1], [each[::-1] for each in words])
    return [*_neighbours(word, words), *(each[::-1] for each in backwards)]


def _neighbours(word: str, words: list[str]) -> list[str]:
    ordered, reach = sorted(words), MOST_COMPARED // 4
    at = bisect(ordered, word)
    return ordered[max(0, at - reach) : at + reach]


#: Control characters except line ends and tabs, surrogates, and bidi controls.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
#: Characters of a line, without the type and the brackets.
LONGEST = 150


def printable(text: str) -> str:
    """Text that is safe for a terminal: control and bidi characters become U+FFFD."""
    return _CONTROL.sub("\ufffd", text)


def one_line(value: object, *words: object) -> str:
    r"""The repr of a value in one short line, without line breaks and control characters.

    >>> one_line(3, "apples\n", "from", "Kent")
    '<int apples from Kent>'
    """
    shown = printable(" ".join(" ".join(map(str, words)).split()))
    cut = shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."
    return f"<{type(value).__name__} {cut}>"
