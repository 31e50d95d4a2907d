"""Labels on a page: any text, shown so that it can neither act nor disturb what stands beside it.

Control characters (C0, DEL, C1, lone surrogates) become U+FFFD. Explicit bidirectional formatting is closed
where the text ends, so that it never turns the text that follows around; in HTML each label stands in a
`<bdi>` besides. Markup is escaped by Jinja, and by `isolated` here.

Source: Unicode Standard Annex 9, sections 2.1-2.5.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from discreet.server.words import spoken

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_POP_EMBEDDING, _POP_ISOLATE = "\u202c", "\u2069"
#: What opens a bidirectional context, and what closes it.
_CLOSER = dict.fromkeys("\u202a\u202b\u202d\u202e", _POP_EMBEDDING) | dict.fromkeys(
    "\u2066\u2067\u2068", _POP_ISOLATE
)


def plain(text: object) -> str:
    r"""Text for a place that holds no markup: a title, an option, an attribute.

    >>> plain("a\x00b")
    'a\ufffdb'
    >>> plain("\u202eabc").endswith("\u202c")
    True
    """
    return _closed(_CONTROL.sub("\ufffd", str(spoken(text))))


def plain_lines(text: str) -> str:
    """Lines of text for a place that holds no markup."""
    return "\n".join(plain(line) for line in text.split("\n"))


def isolated(text: object) -> Markup:
    """Text for a place in running HTML: escaped, and in a bidirectional context of its own.

    >>> isolated("<b>")
    Markup('<bdi>&lt;b&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(escape(plain(text)))


def _closed(text: str) -> str:
    """Close every bidirectional context that a text opens, and drop closers of what it did not open."""
    waiting: list[str] = []
    kept = ""
    for character in text:
        if character in _CLOSER:
            waiting.append(_CLOSER[character])
        elif character in {_POP_EMBEDDING, _POP_ISOLATE}:
            if not waiting or waiting[-1] != character:
                continue
            waiting.pop()
        kept += character
    return kept + "".join(reversed(waiting))
