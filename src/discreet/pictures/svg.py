"""A chart as accessible SVG: a title, a description, and marks that name their cell.

Every mark of a number has its description as `aria-label`, and `data-cell` with layer, row and column of the table. There
is no `style` attribute, so that it can be inlined under a strict content security policy; `js/chart.js` reads the marks.
"""

from __future__ import annotations

import re
from html import escape, unescape

from discreet.model.messages.text import printable
from discreet.pictures.chart_data import ChartData, describe_chart
from discreet.pictures.charts import chart_of, draw
from discreet.pictures.save import render

_LABELLED = re.compile(r'aria-label="([^"]*)"')
_ROLES = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*")')
_OPENING = re.compile(r"<svg [^>]*>")


def svg_of(shown: ChartData) -> str:
    """The chart of a table as SVG.

    Raises:
        BadRequest, UnknownFormat, MissingExtra: As `charts.draw`.
    """
    chart = chart_of(shown)
    text = _ROLES.sub("", render(draw(shown), "svg").decode())
    cells = {record["_said"]: record["_cell"] for record in shown.records}

    def named(found: re.Match[str]) -> str:
        cell = cells.get(unescape(found[1]))
        return "" if cell is None else f'role="img" data-cell="{cell}" {found[0]}'

    words = (
        f"<title>{_xml(shown.release.title)}</title><desc>{_xml(describe_chart(chart.label, shown))}</desc>"
    )
    role = 'role="img"'
    if shown.picture.bare:  # the page has these words beside it
        words, role = "", 'role="img" aria-labelledby="chart-told"'
    text = _LABELLED.sub(named, text)
    return _OPENING.sub(
        lambda found: found[0][:-1] + f' {role} data-chart="{chart.name}">' + words, text, count=1
    )


def _xml(text: str) -> str:
    return escape(printable(text))
