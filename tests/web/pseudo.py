"""An invented language: every text of ours in brackets and longer, written from right to left.

What a page shows outside of brackets did not go through a catalogue. Brackets stand around the words of a template and
not around its values, so that a sentence inside another is found, too. It borrows the code of Arabic.
"""

from __future__ import annotations

import re
import tomllib
from gettext import NullTranslations
from html.parser import HTMLParser
from string import Formatter

from babel import Locale

from discreet.web.i18n.translation import Language

CODE = "ar"
_LETTERS = re.compile(r"[A-Za-z]")
_BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")
_WORD = re.compile(r"(?<![\w.=-])[A-Za-z][a-z]+(?![\w=-])")
#: Addresses, and what scripts put into a text.
_NO_WORDS = re.compile(r"https?://\S+|\{\w+\}")
#: What is no text: code, and the names of languages in their own words.
_QUIET = {"script", "style", "code", "pre"}
_SPOKEN = ("title", "aria-label", "alt", "placeholder", "label", "data-say")


def bracketed(text: str) -> str:
    """A template with its words in brackets, a third longer.

    >>> bracketed("{cells:,} cells")
    '{cells:,}⟦ cells··⟧'
    """
    found = ""
    for literal, name, spec, conversion in Formatter().parse(text):
        words = literal.strip("`")  # what stands in backticks is drawn as code
        longer = f"⟦{words}{'·' * (len(words) // 3)}⟧"
        found += literal.replace(words, longer) if _LETTERS.search(words) else literal
        if name is not None:
            found += (
                "{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
            )
    return found


class Brackets(NullTranslations):
    """A catalogue that has every text."""

    def gettext(self, message):
        braced = "{" in message and "}" in message
        return bracketed(message) if braced else f"⟦{message}{'·' * (len(message) // 3)}⟧"

    def ngettext(self, one, many, count):
        return self.gettext(one if count == 1 else many)


PSEUDO = Language(CODE, Locale(CODE), Brackets())


def with_pseudo_labels(description: str) -> str:
    """A description with every label in brackets."""
    found = tomllib.loads(description)
    own = [key for key in ("label", "description", "unit", "population", "source") if key in found]
    lines = [f"[labels.{CODE}]", *(f"{key} = {_quoted(found[key])}" for key in own)]
    topics = {each["topic"] for each in found["variable"] if "topic" in each}
    if topics:
        lines.append(
            "topics = { " + ", ".join(f"{_quoted(t, '')} = {_quoted(t)}" for t in sorted(topics)) + " }"
        )
    for each in found["variable"]:
        lines += [f"[labels.{CODE}.variable.{each['name']}]", f"label = {_quoted(each['label'])}"]
        lines += [f"description = {_quoted(each['description'])}"] if "description" in each else []
        lines += [f"[labels.{CODE}.variable.{each['name']}.categories]"]
        lines += [
            f"{_quoted(c['code'], '')} = {_quoted(c.get('label', c['code']))}" for c in each["categories"]
        ]
    for each in found.get("hierarchy", []):
        lines += [f"[labels.{CODE}.hierarchy.{each['name']}]", f"label = {_quoted(each['label'])}"]
    return description + "\n" + "\n".join(lines) + "\n"


def _quoted(text: str, brackets: str = "⟦⟧") -> str:
    inside = f"⟦{text}⟧" if brackets else text
    return '"' + inside.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: list[str] = []
        self.quiet = 0
        self.open: list[bool] = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.found += [given[name] for name in _SPOKEN if given.get(name)]
        if tag in {"meta", "link", "img", "input", "br", "hr", "col", "path", "use"}:
            return
        quiet = tag in _QUIET or "hreflang" in given or "address" in given.get("class", "").split()
        self.open.append(quiet)
        self.quiet += quiet

    def handle_endtag(self, tag):
        if self.open:
            self.quiet -= self.open.pop()

    def handle_data(self, data):
        if not self.quiet and data.strip():
            self.found.append(data)


def unsaid(html: str, known: set[str]) -> list[str]:
    """The texts of a page with words that no catalogue has; `known` are names and codes."""
    page = _Texts()
    page.feed(html)
    wrong = []
    for text in page.found:
        rest = _NO_WORDS.sub(" ", _BRACKETED.sub(" ", text))
        words = [word for word in _WORD.findall(rest) if word not in known]
        if words:
            wrong.append(f"{' '.join(words)} | {' '.join(text.split())[:120]}")
    return wrong
