"""HTML: the table with rows down the side and columns along the top, and its provenance below.

The document is self-contained: no script, picture or other file. Each layer is a separate table. A header has its scope, and
its `<data value>` is the code; labels are in `<bdi>`, so that writing direction marks cannot affect other text. Further
numbers are the innermost columns. A letter in a cell is its status.
"""

from collections.abc import Iterator
from html import escape
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.formats.writers.csv import join_lines, number_texts, take, text_array, text_scalar
from discreet.model.columns import BLOCK, NONE, Lines, Numbers, numbers_of
from discreet.model.messages.sentences import provenance
from discreet.model.release import STATUS_MEANING, UNRELIABLE, Release
from discreet.model.shape import Dimension

_STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}caption{text-align:left;"
    "font-weight:bold}th,td{padding:.2em .6em;border-bottom:1px solid #999}th{text-align:left;font-weight:normal}"
    "thead th{font-weight:bold;vertical-align:bottom}td,th[scope=col]:not([rowspan]){text-align:right}"
    "td{font-variant-numeric:tabular-nums;white-space:nowrap}"
    "abbr{font-style:italic}dt{font-weight:bold}.d1{padding-left:2em}.d2{padding-left:3.5em}.d3{padding-left:5em}"
)


def to_html(release: Release) -> Iterator[bytes]:
    """The release as an HTML document: one table per layer, block by block."""
    request = release.request
    rows, columns, layers = (
        [dimension for dimension in release.dimensions if dimension.name in names]
        for names in (request.rows, request.columns, request.layers)
    )
    count, width = (prod(d.length for d in axis) for axis in (layers, columns))
    title, head = safe_html(release.title), _head(release, rows, columns)
    labelled = [[f"{safe_html(d.label)}: {text}" for text in _category_labels(d)] for d in layers]
    captions = [f"<caption>{', '.join(each)}</caption>" if each else "" for each in product(*labelled)]
    yield (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_escape(release.title)}</title>'
        f"<style>{_STYLE}</style></head><body><main>\n<h1>{title}</h1>\n<p>{safe_html(release.notes[0])}</p>\n"
    ).encode()
    for layer in range(count):
        yield f"<table>{captions[layer]}\n<thead>\n{head}</thead>\n<tbody>\n".encode()
        yield from _body(release, rows, layer, (release.cells // (count * width), width, count))
        yield b"</tbody></table>\n"
    yield f"<h2>About this table</h2>\n<dl>\n{_about(release)}</dl>\n</main></body></html>\n".encode()


def safe_html(text: str) -> str:
    """Text as HTML; NUL, which HTML does not have, becomes a replacement character.

    >>> safe_html("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{_escape(text)}</bdi>"


def _escape(text: str) -> str:
    return escape(text.replace("\0", "\ufffd"))


def _category_labels(dimension: Dimension) -> list[str]:
    """The labels of a variable with their codes."""
    return [
        f'<data value="{_escape(code)}">{safe_html(label)}</data>'
        for code, label in zip(dimension.codes, dimension.labels, strict=True)
    ]


def _head(release: Release, rows: list[Dimension], columns: list[Dimension]) -> str:
    """The header rows: a corner for each row variable, the column variables, their categories, their numbers."""
    contents = [safe_html(_in_words(numbers)) for numbers in numbers_of(release, NONE)]
    levels = [[", ".join(safe_html(dimension.label) for dimension in columns)]] if columns else []
    levels += [_category_labels(dimension) for dimension in columns]
    levels += (
        [contents]
        if contents[1:]
        else []
        if columns
        else [[safe_html(release.measure.unit(release.dataset))]]
    )
    corner = "".join(f'<th scope="col" rowspan="{len(levels)}">{safe_html(d.label)}</th>' for d in rows)
    lines, before = [], 1
    for number, level in enumerate(levels, start=1):
        span = prod(map(len, levels[number:]))
        scope = f'"colgroup" colspan="{span}"' if number < len(levels) else '"col"'
        lines.append("".join(f"<th scope={scope}>{text}</th>" for text in level) * before)
        before *= len(level)
    return "".join(f"<tr>{corner if not n else ''}{line}</tr>\n" for n, line in enumerate(lines))


def _in_words(numbers: Numbers) -> str:
    return numbers.name.replace("_", " ")


def _body(
    release: Release, rows: list[Dimension], layer: int, lengths: tuple[int, int, int]
) -> Iterator[bytes]:
    """The rows of one layer, in blocks of cells: a row is opened before its first cell and closed after its last."""
    height, width, count = lengths
    stubs, ends = _stubs(rows), text_array(["", "</tr>\n"])
    for start in range(0, height * width, BLOCK):
        place = np.arange(start, min(start + BLOCK, height * width))
        column = place % width
        opening = _opening(stubs, place[column == 0] // width)
        first = np.where(column == 0, np.cumsum(column == 0), 0)
        end = take(ends, (column == width - 1).astype(np.int8))
        yield join_lines([take(opening, first), *_cells(release, place * count + layer), end], "", "")


def _stubs(rows: list[Dimension]) -> list[pa.Array]:
    """The header cell of each category of the row variables; a finer level is indented."""
    found = []
    for dimension in rows:
        depths = [min(output.depth, 3) for output in dimension.outputs] + [0] * dimension.total
        looks = [f' class="d{depth}"' if depth else "" for depth in depths]
        labels = _category_labels(dimension)
        found.append(
            text_array(f'<th scope="row"{look}>{t}</th>' for look, t in zip(looks, labels, strict=True))
        )
    return found


def _opening(stubs: list[pa.Array], numbers: NDArray[np.int64]) -> pa.Array:
    """An empty text, followed by the opening of each of some rows."""
    places = np.unravel_index(numbers, [len(texts) for texts in stubs]) if stubs else ()
    headers = [take(texts, each) for texts, each in zip(stubs, places, strict=True)]
    start = pa.repeat(text_scalar("<tr>"), len(numbers))
    return pa.concat_arrays([text_array([""]), pc.binary_join_element_wise(start, *headers, text_scalar(""))])


def _cells(release: Release, lines: Lines) -> list[pa.Array]:
    """The content of some cells: the value with its status, then the other numbers."""
    marked = [f'<abbr title="{meaning}">{letter}</abbr>' for letter, meaning in STATUS_MEANING.items()]
    marked[UNRELIABLE - 1] = " " + marked[UNRELIABLE - 1]
    marks = take(text_array(["", *marked]), release.status.flat[lines])
    value, *others = [number_texts(numbers) for numbers in numbers_of(release, lines)]
    between = [part for texts in others for part in (text_scalar("</td><td>"), texts)]
    return [text_scalar("<td>"), value, marks, *between, text_scalar("</td>")]


def _about(release: Release) -> str:
    """The provenance of the table, and the meaning of its numbers."""
    _, *others = numbers_of(release, NONE)
    pairs = [*provenance(release), *((_in_words(numbers), numbers.meaning) for numbers in others)]
    return "".join(f"<dt>{safe_html(name)}</dt><dd>{safe_html(text)}</dd>\n" for name, text in pairs)
