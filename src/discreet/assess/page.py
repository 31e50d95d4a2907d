"""One self-contained page: no script, nothing from elsewhere, light and dark, readable on a phone and on paper.

Everything that varies is escaped; pictures are SVG of our own making, their ids made different from picture to
picture, their inks turned into variables so that they follow the page into the dark. A file is written whole or
not at all, readable by its owner only, and never over a file that is not such a page.

Comes from: `report`, `five_safes`. Goes to: a file of the custodian.
"""

from __future__ import annotations

import os
import re
import secrets
from html import escape
from string import Template
from typing import TYPE_CHECKING

from discreet.errors import BadRequest

if TYPE_CHECKING:
    from pathlib import Path

#: What tells one of our pages from any other file.
MARKER = "<!-- discreet: confidential -->"

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --card: #f7f9fb; --ink: #1f2933; --soft: #52606d; --line: #d5dbe1;
  --grid: #e4e7eb; --warn: #9b1c31; --warn-ground: #fdf0f2; }
@media (prefers-color-scheme: dark) { :root { --ground: #14181d; --card: #1b2128; --ink: #e6eaee; --soft: #a9b4bf;
  --line: #39434d; --grid: #2a323a; --warn: #ff9aa9; --warn-ground: #35191f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); line-height: 1.5;
  font: 16px/1.55 Inter, "Source Sans 3", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, ul { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
li { margin: .25rem 0; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.confidential { background: var(--warn-ground); color: var(--warn); border: 1px solid currentColor; font-weight: 600;
  padding: .6rem 1rem; border-radius: .4rem; max-width: none; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody td { white-space: nowrap; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--line); font-weight: 600; }
th:first-child, td.words, th.words { text-align: left; }
tbody th { font-weight: 500; white-space: nowrap; position: sticky; left: 0; background: var(--ground); }
tbody td.words { min-width: 16rem; white-space: normal; }
small { color: var(--soft); white-space: nowrap; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { height: auto; max-width: 100%; min-width: 30rem; display: block; }
figure svg [fill="white"] { fill: var(--ground); }
figure svg [stroke="white"] { stroke: var(--ground); }
figure svg [fill="#1F2933"] { fill: var(--ink); }
figure svg [stroke="#1F2933"] { stroke: var(--ink); }
figure svg [fill="#52606D"] { fill: var(--soft); }
figure svg [stroke="#E4E7EB"] { stroke: var(--grid); }
figure svg [stroke="#9AA5B1"] { stroke: var(--line); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; }
.pair figure svg { min-width: 24rem; }
.known { border-left: 3px solid #009e73; padding-left: .75rem; }
.open { border-left: 3px solid #d55e00; padding-left: .75rem; }
.answer { border-bottom: 1px dotted var(--soft); min-height: 2rem; margin: .25rem 0 .75rem; }
footer { margin-top: 2.5rem; }
@media print { body { font-size: 10pt; } main { max-width: none; padding: 0; } figure, tr, li { break-inside: avoid; }
  h2 { break-after: avoid; } table { font-size: 8pt; } th, td { padding: .15rem .35rem; } td.words { min-width: 8rem; }
  .scroll, figure { overflow: visible; } figure svg { min-width: 0; } }
"""

_PAGE = Template("""<!doctype html>
$marker
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
<p class="confidential" role="note">$notice</p>
$body
<footer><p class="confidential">$notice</p></footer>
</main>
</body>
</html>
""")


def page(title: str, notice: str, body: str) -> str:
    """A whole page; title and notice are text, the body is HTML."""
    return _PAGE.substitute(
        marker=MARKER, title=escape(title), style=_STYLE, notice=escape(notice), body=body
    )


def grid(
    caption: str, headers: list[str], lines: list[list[str]], *, words: frozenset[int] = frozenset()
) -> str:
    """A table: the first column names the line; text is escaped, `words` are columns of sentences."""

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


def sentences(texts: list[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def picture(svg: bytes, label: str, number: int) -> str:
    """An SVG within the page: ids made its own, its ground left to the page."""
    text = svg.decode("utf-8")
    text = re.sub(r'\bid="([^"]+)"', rf'id="p{number}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#p{number}-\1)", text)
    text = re.sub(r'(href=")#', rf"\1#p{number}-", text)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    return f"<figure>{text}</figure>"


def write_page(text: str, path: Path) -> None:
    """Write a page whole, for its owner's eyes only, and over nothing but an earlier page.

    Raises:
        BadRequest: There is another file of that name.
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
