"""SVG as text: elements, texts of an estimated width, axes and legends, and pieces that are put together.

A colour is a role of a palette, such as `ink`, `s1` or `m3`. An element has it as a class (`c-ink`) and as an attribute: a
page gives the class the colour of its theme (`static/css/charts.css`), a file shows the attribute. No element has a style.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

from discreet.model.messages.text import printable
from discreet.pictures.theme import FONT, Palette

Attributes = dict[str, Any]
#: The size of small texts, and of all others, in pixels.
SMALL, TEXT = 11.0, 12.5
_NARROW, _WIDE = frozenset("iljIftr.,:;'|!()[]- "), frozenset("mwMW@%—")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a picture and its size in pixels."""

    body: str
    width: float
    height: float

    def at(self, x: float, y: float) -> str:
        """The part with its upper left corner at a point."""
        return f'<g transform="translate({x:.6g},{y:.6g})">{self.body}</g>' if x or y else self.body


def element(name: str, body: str = "", /, **attributes: object) -> str:
    """An element; `_` in a name is `-` or, at its end, nothing. An attribute that is None is left out.

    >>> element("text", "a & b", x=1.0, text_anchor="end", class_="c-ink f")
    '<text x="1" text-anchor="end" class="c-ink f">a & b</text>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{body}</{name}>" if body else f"<{name}{shown}/>"


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{round(value, 2):g}"
    text = str(value)
    return escape(text if text.isprintable() else printable(text))


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws in the colours of a palette."""

    look: Palette

    def fill(self, role: str) -> Attributes:
        """The attributes of a filled shape."""
        return {"class_": f"c-{role} f", "fill": self.look.colour(role)}

    def stroke(self, role: str, width: float = 1.0) -> Attributes:
        """The attributes of a line."""
        stroke = self.look.colour(role)
        return {"class_": f"c-{role} k", "fill": "none", "stroke": stroke, "stroke_width": width}

    def line(self, path: str, role: str, width: float = 1.0, **more: object) -> str:
        """A line along a path."""
        return element("path", **self.stroke(role, width), **more, d=path)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "soft",
        /,
        *,
        size: float = TEXT,
        anchor: str | None = None,
        bold: bool = False,
        **more: object,
    ) -> str:
        """A text; `y` is its base line."""
        shown = {"x": x, "y": y, **self.fill(colour), "font_size": size, "text_anchor": anchor}
        weight = {"font_weight": 600} if bold else {}
        return element("text", escape(printable(words), quote=False), **shown, **weight, **more)

    def paragraph(self, lines: Sequence[str], role: str, *, size: float = TEXT, bold: bool = False) -> Piece:
        """Lines of text below each other."""
        step = size * 1.45
        body = "".join(
            self.text(0, step * (place + 0.75), line, role, size=size, bold=bold)
            for place, line in enumerate(lines)
        )
        return Piece(body, max((text_width(line, size) for line in lines), default=0.0), step * len(lines))

    def legend(self, title: str, entries: Iterable[tuple[str, str]], width: float) -> Piece:
        """Roles with their labels in lines of at most a width, under a title."""
        parts = [self.text(0, 11, title, "ink", bold=True)] if title else []
        x, y, right = 0.0, 20.0 if title else 0.0, text_width(title, TEXT)
        for role, label in entries:
            wide = 18 + text_width(label, TEXT) + 18
            if x and x + wide > width:
                x, y = 0.0, y + 20
            parts.append(element("rect", x=x, y=y, width=12.0, height=12.0, **self.fill(role)))
            parts.append(self.text(x + 18, y + 10.5, label, "ink"))
            x += wide
            right = max(right, x - 18)
        return Piece("".join(parts), right, y + 20)


def text_width(words: str, size: float = TEXT) -> float:
    """The width of a text in pixels, estimated from its letters in a wide font."""
    return size * sum(map(_letter_width, words))


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _WIDE:
        return 0.95
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.62


def shorten(words: str, width: float, size: float = TEXT) -> str:
    """A text of at most a width; an ellipsis marks that its end is cut.

    >>> shorten("Municipality of the lakes", 80)
    'Municipal…'
    """
    if text_width(words, size) <= width:
        return words
    while words and text_width(words, size) + size > width:
        words = words[:-1]
    return words.rstrip() + "…"


def wrap(words: str, width: float, size: float = TEXT) -> list[str]:
    """A text in lines of at most a width, unless a word is longer."""
    lines: list[str] = []
    for word in printable(words).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def stack(pieces: Sequence[Piece], gap: float = 0.0, columns: int = 1) -> Piece:
    """Pieces below each other, or in rows of some columns."""
    shown = [piece for piece in pieces if piece.height]
    wide = [max(p.width for p in shown[place::columns]) for place in range(min(columns, len(shown)))]
    parts, y = [], 0.0
    for start in range(0, len(shown), columns):
        row, x = shown[start : start + columns], 0.0
        for piece, width in zip(row, wide, strict=False):
            parts.append(piece.at(x, y))
            x += width + gap
        y += max(piece.height for piece in row) + gap
    return Piece("".join(parts), sum(wide) + gap * (len(wide) - 1), max(y - gap, 0.0))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from the one at or below `low` to the one at or above `high`, about `count` of them.

    >>> ticks(0, 870), ticks(-3, 4, 3)
    ([0.0, 200.0, 400.0, 600.0, 800.0, 1000.0], [-5.0, 0.0, 5.0])
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** floor(log10(span / count))
    step = next(power * factor for factor in (1, 2, 5, 10) if span <= count * power * factor * 1.0001)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(place * step, 10) + 0.0 for place in range(first, max(last, first + 1) + 1)]


def document(
    piece: Piece, words: str = "", *, ground: str | None = None, margin: float = 0.0, **root: object
) -> str:
    """A whole SVG: the piece on its ground with a margin; `words` are its title and description."""
    width, height = ceil(piece.width + 2 * margin), ceil(piece.height + 2 * margin)
    sheet = element("rect", width=width, height=height, fill=ground) if ground else ""
    return element(
        "svg",
        words + sheet + piece.at(margin, margin),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        direction="ltr",
        font_family=FONT,
        **root,
    )
