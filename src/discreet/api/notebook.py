"""A table as HTML for a notebook: title, note, header rows with spans, groups of rows, legend, source.

All data is escaped and isolated for bidirectional text. The style is bound to one class and has the page's colours,
light and dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby, product
from math import prod

from discreet.api.frames import Layout, annotation_texts, cell_text, depths_of, layout_of, legend_of
from discreet.model.messages.sentences import citation
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL

#: The most lines and columns that a notebook shows.
SHOWN = 60

_CSS = files("discreet.api").joinpath("notebook.css").read_text("utf-8")
STYLE = f"<style>{''.join(map(str.strip, _CSS.splitlines()))}</style>"


def figure(release: Release) -> str:
    """The table as one HTML element with its style."""
    layout = layout_of(release)
    cut = layout.height > SHOWN or prod(d.length for d in layout.top) > SHOWN
    more = "<p>Shown in part; <code>.to_pandas()</code> has all of it.</p>" if cut else ""
    legend = "".join(f"<p>{text}</p>" for text in legend_of(release))
    return (
        f'{STYLE}<figure class="discreet"><figcaption>{_text(release.title)}</figcaption>'
        f'<p class="note"><strong>Note.</strong> {_text(" ".join(release.notes))}</p>'
        f"<div><table><thead>{_head(release, layout)}</thead><tbody>{_body(release, layout)}</tbody></table></div>"
        f"{more}{legend}<p>Cite as: {_text(citation(release))}</p></figure>"
    )


def listing(rows: Iterable[Sequence[str]], headers: Sequence[str], title: str) -> str:
    """Lines of text as one HTML element in the same style."""
    head = "".join(f'<th scope="col" class="corner">{_text(name)}</th>' for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<th scope="row">{_text(text)}</th>' for text in row) + "</tr>" for row in rows
    )
    return (
        f'{STYLE}<figure class="discreet"><figcaption>{_text(title)}</figcaption>'
        f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>"
    )


def _text(text: str) -> str:
    shown = "".join("\ufffd" if character < " " else character for character in str(text))
    return f"<bdi>{escape(shown)}</bdi>"


def _head(release: Release, layout: Layout) -> str:
    """One header row per column variable; each category spans the columns below it."""
    corner = _text(layout.side[-1].label if layout.side else "")
    if not layout.top:
        return f'<tr><th class="corner">{corner}</th><th scope="col">{_text(release.dataset.unit)}</th></tr>'
    width = min(prod(dimension.length for dimension in layout.top), SHOWN)
    title = " / ".join(dimension.label for dimension in layout.top)
    rows = [
        f'<th class="corner" rowspan="{len(layout.top) + 1}">{corner}</th>'
        f'<th class="axis" colspan="{width}">{_text(title)}</th>',
        *(_spans(layout.top, depth) for depth in range(len(layout.top))),
    ]
    return "".join(f"<tr>{row}</tr>" for row in rows)


def _spans(top: tuple[Dimension, ...], depth: int) -> str:
    span = prod(dimension.length for dimension in top[depth + 1 :])
    repeats = prod(dimension.length for dimension in top[:depth])
    labels = list(zip(top[depth].codes, top[depth].labels, strict=True)) * repeats
    cells = []
    for place, (code, label) in enumerate(labels):
        width = min(span, SHOWN - place * span)
        if width > 0:
            look = ' class="over"' if span > 1 else ' class="total"' if code == TOTAL else ""
            cells.append(f'<th colspan="{width}"{look}>{_text(label)}</th>')
    return "".join(cells)


def _body(release: Release, layout: Layout) -> str:
    beside = annotation_texts(release, errors=True)
    heads = [head for head, _ in beside]
    values, status, *texts = (
        layout.spread(array)[:SHOWN, :SHOWN]
        for array in (release.values, release.status, *(array for _, array in beside))
    )
    totals = [code == TOTAL for code in (layout.top[-1].codes if layout.top else ("",))]
    lines = zip(
        _stubs(release, layout), *(array.tolist() for array in (values, status, *texts)), strict=False
    )
    rows = []
    for heading, group in groupby(lines, key=lambda line: line[0][0]):
        if heading:
            width = values.shape[1] + 1
            rows.append(f'<tr><th class="head" colspan="{width}">{_text(", ".join(heading))}</th></tr>')
        for (_, label, depth, total), *numbers in group:
            cells = [
                _cell(heads, total or totals[place % len(totals)], *cell)
                for place, cell in enumerate(zip(*numbers, strict=True))
            ]
            indent = f' style="padding-left:{0.9 + depth}em"' if depth else ""
            look = ' class="total"' if total else ""
            rows.append(f'<tr><th scope="row"{look}{indent}>{_text(label)}</th>{"".join(cells)}</tr>')
    return "".join(rows)


def _stubs(release: Release, layout: Layout) -> list[tuple[tuple[str, ...], str, int, bool]]:
    """For each line the labels of the outer variables, its label, its depth, and whether it is a total."""
    if not layout.side:
        return [((), release.dataset.unit, 0, False)]
    *outer, inner = layout.side
    own = zip(inner.labels, depths_of(inner), [code == TOTAL for code in inner.codes], strict=True)
    headings = product(*(dimension.labels for dimension in outer))
    return [(heading, *line) for heading, line in product(headings, own)][:SHOWN]


def _cell(heads: Sequence[str], total: bool, value: float, status: int, *beside: str) -> str:
    text = escape(cell_text(value, status))
    looks = [name for name, holds in (("total", total), ("mark", text.startswith("["))) if holds]
    look = f' class="{" ".join(looks)}"' if looks else ""
    small = "".join(
        f"<small>{f'{part} %' if head == '%' else f'{head} {part}'}</small>"
        for head, part in zip(heads, beside, strict=True)
        if part
    )
    return f"<td{look}>{text}{small}</td>"
