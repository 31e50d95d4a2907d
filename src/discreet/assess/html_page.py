"""Self-contained HTML pages for the custodian: no scripts, no external files, light and dark, for screens and print.

All values are escaped. Pictures are inline SVG with unique ids. A file is written atomically, readable by its owner only,
and never replaces a file that is not such a page.
"""

from __future__ import annotations

import os
import re
import secrets
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from discreet.errors import BadRequest

#: Marks a page as one of ours.
MARKER = "<!-- discreet: confidential -->"


def render_page(title: str, notice: str, body: str) -> str:
    """A whole page; title and notice are text, the body is HTML."""
    template, style = (
        files("discreet.assess").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css")
    )
    return Template(template).substitute(
        marker=MARKER, title=escape(title), style=style, notice=escape(notice), body=body
    )


def html_table(
    caption: str, headers: list[str], lines: list[list[str]], *, words: frozenset[int] = frozenset()
) -> str:
    """A table whose first column is the row header; text is escaped, `words` are columns of sentences."""

    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="words"' if place in words else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{kind}{scope}>{escape(text)}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(headers))
    rows = "".join(
        f'<tr><th scope="row">{escape(line[0])}</th>'
        + "".join(cell("td", place, text) for place, text in enumerate(line[1:], start=1))
        + "</tr>"
        for line in lines
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def html_list(texts: list[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def inline_svg(svg: bytes, label: str, number: int) -> str:
    """An SVG as a figure, with ids that are unique on the page."""
    text = svg.decode("utf-8")
    text = re.sub(r'\bid="([^"]+)"', rf'id="p{number}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#p{number}-\1)", text)
    text = re.sub(r'(href=")#', rf"\1#p{number}-", text)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    return f"<figure>{text}</figure>"


def write_page(text: str, path: Path) -> None:
    """Write a page atomically, readable by its owner only, over nothing but an earlier page.

    Raises:
        BadRequest: The file exists and is not such a page.
    """
    if path.exists() and MARKER not in path.read_text("utf-8", errors="replace")[:400]:
        raise BadRequest(
            f"The file {str(path)!r} is there already and is no earlier assessment.", "Choose another name."
        )
    beside = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
