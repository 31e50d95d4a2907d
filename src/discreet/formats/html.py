"""HTML: one document with one table, one line a cell, and below it all that must be told.

It stands alone: no script, no picture, no other file. Each variable is a row header whose `<data value>` is the
code; each label is in a `<bdi>`, so that marks of writing direction cannot turn what stands beside it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import joined_lines, number_texts

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.release import Release

_STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}caption{text-align:left;"
    "font-weight:bold}th,td{padding:.2em .6em;border-bottom:1px solid #999}th{text-align:left}td{text-align:right}"
)


def to_html(release: Release) -> bytes:
    """The release as an HTML document."""
    from discreet.model.columns import numbers_of
    from discreet.model.provenance import provenance

    value, *beside = [numbers.name for numbers in numbers_of(release)]
    names = [*(dimension.label for dimension in release.dimensions), value, "status", *beside]
    head = "".join(f'<th scope="col">{safe_html(name)}</th>' for name in names)
    title = safe_html(release.title)
    told = "".join(f"<dt>{safe_html(n)}</dt><dd>{safe_html(text)}</dd>\n" for n, text in provenance(release))
    top = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><main>\n<p>{safe_html(release.notes[0])}</p>\n"
        f"<table><caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
    )
    end = f"</tbody></table>\n<h2>About this table</h2>\n<dl>\n{told}</dl>\n</main></body></html>\n"
    return top.encode() + joined_lines(_cells(release), "") + end.encode()


def safe_html(text: str) -> str:
    """Text as HTML shows it, whatever it holds; NUL, which HTML does not have, is shown as a replacement.

    >>> safe_html("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{_escaped(text)}</bdi>"


def _escaped(text: str) -> str:
    return escape(text.replace("\0", "\ufffd"))


def _cells(release: Release) -> list[pa.Array]:
    """The pieces of every line, column by column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.model.columns import numbers_of, places_of

    def cell(texts: pa.Array) -> pa.Array:
        around = [pa.scalar(text, pa.large_string()) for text in ("<td>", "</td>", "")]
        return pc.binary_join_element_wise(around[0], texts, around[1], around[2])

    columns = [
        pa.array(
            [
                f'<th scope="row"><data value="{_escaped(code)}">{safe_html(label)}</data></th>'
                for code, label in zip(dimension.codes, dimension.labels, strict=True)
            ],
            pa.large_string(),
        ).take(pa.array(places))
        for dimension, places in places_of(release)
    ]
    value, *beside = [cell(number_texts(numbers)) for numbers in numbers_of(release)]
    start, end = (pa.repeat(pa.scalar(t, pa.large_string()), release.cells) for t in ("<tr>", "</tr>"))
    return [start, *columns, value, _status(release), *beside, end]


def _status(release: Release) -> pa.Array:
    """The letter of each line, with its meaning where a pointer rests on it."""
    import pyarrow as pa

    from discreet.model.release import STATUS_MEANING

    marked = [f'<abbr title="{meaning}">{letter}</abbr>' for letter, meaning in STATUS_MEANING.items()]
    texts = [f"<td>{text}</td>" for text in ("", *marked)]
    return pa.array(texts, pa.large_string()).take(pa.array(release.status.ravel()))


FORMAT = Format("html", "HTML", "an HTML document", "html", "text/html; charset=utf-8", to_html)
