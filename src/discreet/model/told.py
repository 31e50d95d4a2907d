"""Sentences that know how they were made: a face may say them in another language.

    told("The table has {cells:,} cells; at most {most:,} are allowed.", cells=36_000, most=20_000)

is its English sentence, a `str` like any other. Beside it stand the template and the values, so that a page can look the
template up in a catalogue and write the numbers as its language does. A value may be a `Text` itself, a `Label`, or a
tuple, which is listed:

    {names}  a, b and c      {names:or}  a, b or c      {names:comma}  a, b, c      {names:semicolon}  a; b; c
    {names:each}  a and b and c      {names:either}  a or b or c      {names:plus}  a + b      {names:times}  a x b
    {label:lower}  in small letters, in languages that write nouns so      {unit:capital}  with a capital letter
    {title:bare}   without its full stop                                   {parts:joined}  sentence after sentence
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: Between the parts of a list that is no enumeration.
_BETWEEN = {"comma": ", ", "semicolon": "; ", "joined": " ", "plus": " + ", "times": " x "}
#: A word between any two parts.
_CHAINS = {"each": "and", "either": "or"}
_CHANGES: dict[str, Callable[[str], str]] = {
    "capital": lambda text: text[:1].upper() + text[1:],
    "bare": lambda text: text.rstrip("."),
}


class Told(str):
    """A text that a face may show in another language; as a `str` it is what the core says."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class Text(Told):
    """A sentence with its template and values; made by `told` and `told_number`."""

    __slots__ = ("amount", "plural", "template", "values")
    template: str
    values: Mapping[str, object]
    plural: str
    amount: int

    def __new__(
        cls, template: str, values: Mapping[str, object] | None = None, plural: str = "", amount: int = 1
    ) -> Self:
        """The English sentence, with what it was made of."""
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
    def joined(cls, parts: tuple[str, ...]) -> Self:
        """Sentence after sentence: every table has several, so they are joined without looking at a template."""
        return cls._made(" ".join(parts), "{parts:joined}", {"parts": parts}, "", 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (self.template, self.values, self.plural, self.amount)


class Label(Told):
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


class Teller(Formatter):
    """Puts values into a template, as English does; `server/words.py` has one for every language."""

    def text(self, value: object) -> str:
        """A value as text."""
        return str(value)

    def number(self, value: Any, spec: str) -> str:
        """A number as text."""
        return format(value, spec)

    def enumeration(self, parts: Sequence[str], word: str) -> str:
        """Several parts in a row, with "and" or "or" before the last."""
        return ", ".join(parts[:-1]) + f" {word} " + parts[-1] if len(parts) > 1 else "".join(parts)

    def chain(self, parts: Sequence[str], word: str) -> str:
        """Several parts in a row, with "and" or "or" between any two."""
        return f" {word} ".join(parts)

    def lower(self, text: str) -> str:
        """A label inside a sentence."""
        return text.lower()

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """`{label!r}` in quotes: of what was told, in this language."""
        return super().convert_field(
            str.__str__(self.text(value)) if isinstance(value, Told) and conversion else value, conversion
        )

    def format_field(self, value: Any, format_spec: str) -> str:
        """One value in its place."""
        if isinstance(value, tuple):
            return self._listed(value, format_spec)
        if format_spec in _CHANGES or format_spec == "lower":
            change = _CHANGES.get(format_spec, self.lower)
            return change(self.text(value))
        if isinstance(value, str):
            return format(self.text(value), format_spec)
        return self.number(value, format_spec) if format_spec else self.text(value)

    def _listed(self, values: tuple[object, ...], spec: str) -> str:
        first, _, small = spec.partition(" ")
        parts = [self.format_field(value, "lower" if "lower" in {first, small} else "") for value in values]
        if first in _BETWEEN:
            return _BETWEEN[first].join(parts)
        if first in _CHAINS:
            return self.chain(parts, _CHAINS[first])
        return self.enumeration(parts, "or" if first == "or" else "and")


ENGLISH = Teller()


def told(template: str, **values: object) -> Text:
    """A sentence with its values; without values its braces are plain.

    >>> told("{names:lower} have {cells:,} cells", names=("Sex", "Age"), cells=3600)
    'sex and age have 3,600 cells'
    """
    return Text(template, values)


def told_number(one: str, many: str, count: int, **values: object) -> Text:
    """A sentence that depends on a number, which is `{count}` in it.

    >>> told_number("{count} cell", "{count} cells", 1), told_number("{count} cell", "{count} cells", 3600)
    ('1 cell', '3,600 cells')
    """
    return Text(one, {"count": Count(count), **values}, many, count)


def joined(parts: Iterable[str]) -> Text:
    """Sentence after sentence.

    >>> joined(["One.", "", "Two."])
    'One. Two.'
    """
    return Text.joined(tuple(part for part in parts if part))


def first_of(words: Sequence[str], most: int = 12) -> Text:
    """The first few of many words.

    >>> first_of(["a", "b", "c"]), first_of(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and more')
    """
    if len(words) > most:
        return told("{words:comma} and more", words=tuple(words[:most]))
    return Text("{words:comma}", {"words": tuple(words)})


class Count(int):
    """A number that is written with separators wherever it stands."""

    def __str__(self) -> str:
        return f"{int(self):,}"
