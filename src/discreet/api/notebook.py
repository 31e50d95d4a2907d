"""A table as HTML for a notebook: title, note, header rows with spans, groups of rows, legend, source.

All data is escaped and isolated for bidirectional text. The style is bound to one class and has the page's colours,
light and dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby, product
from math import prod

from discreet.api.frames import Layout, annotation_texts, cell_text, depths_of, layout_of, legend_of
from discreet.model.messages.sentences import citation
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL

#: The most lines and columns that a notebook shows.
SHOWN = 60

_LIGHT = (
    "--ink:#15191e;--muted:#505963;--paper:#ffffff;--line:#dcdfe1;--strong:#87909a;--total:#f1f2f0;"
    "--note:#fcf6e6;--note-line:#c98a1b"
)
_DARK = (
    "--ink:#e8eaed;--muted:#a9b2bc;--paper:#1a1e22;--line:#343b42;--strong:#707b86;--total:#23292e;"
    "--note:#2a2617;--note-line:#d9a441"
)
#: What a part of the figure looks like.
_RULES = {
    "": "color-scheme:light dark;margin:0;padding:1em;border:1px solid var(--line);border-radius:6px;"
    "background:var(--paper);color:var(--ink);overflow-wrap:anywhere;"
    'font:15px/1.45 Inter,"Source Sans 3","Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif',
    "figcaption": 'font:600 1.45em/1.25 "Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",P052,Georgia,serif;'
    "margin:0 0 .5em;text-align:left;color:inherit",
    "p": "margin:.5em 0;color:var(--muted);font-size:.93em;max-width:80ch",
    "p.note": "color:var(--ink);background:var(--note);border-left:4px solid var(--note-line);"
    "padding:.5em 1em;max-width:none",
    "div": "overflow:auto;max-height:40em;width:fit-content;max-width:100%;border:1px solid var(--line);"
    "border-radius:4px",
    "table": "border-collapse:separate;border-spacing:0;margin:0;font-size:1em;"
    "font-variant-numeric:tabular-nums;color:inherit",
    ":is(th,td)": "padding:.3em .9em;border:0;border-bottom:1px solid var(--line);text-align:right;"
    "font-weight:400;white-space:nowrap;background:var(--paper);color:inherit",
    "thead th": "font-weight:600;vertical-align:bottom",
    "thead tr:last-child th": "border-bottom:2px solid var(--strong)",
    ":is(th[scope=row],th.corner,th.head,th.over,th.axis)": "text-align:left",
    "th.axis": "font-weight:400;font-size:.93em;color:var(--muted)",
    "th.corner": "font-weight:600;border-bottom:2px solid var(--strong)",
    "th.head": "font-weight:600;padding-top:.8em;border-bottom-color:var(--strong)",
    ":is(th,td).total": "font-weight:600;background:var(--total)",
    "td.mark": "color:var(--muted)",
    "small": "display:block;color:var(--muted);font-size:.8em",
}
STYLE = (
    f"<style>figure.discreet{{{_LIGHT}}}@media (prefers-color-scheme:dark){{figure.discreet{{{_DARK}}}}}"
    + "".join(f"figure.discreet {selector}{{{rules}}}" for selector, rules in _RULES.items())
    + "</style>"
)


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
    """Data as HTML: escaped, control characters replaced, direction isolated."""
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
