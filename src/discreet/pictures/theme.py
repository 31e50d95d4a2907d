"""How every chart looks: white ground, one sans-serif face, colours that colour-blind readers can tell apart.

Comes from: nothing. Goes to: every chart in this folder.
Source: the qualitative colours are those of Okabe & Ito (2008); heat maps use viridis, whose lightness rises
steadily, so they read in grey too.
"""

from __future__ import annotations

from typing import Any

BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
SKY = "#56B4E9"
AMBER = "#E69F00"
ROSE = "#CC79A7"
INK = "#1F2933"
SOFT_INK = "#52606D"
GRID = "#E4E7EB"
FONT = "Inter, 'Source Sans 3', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 16,
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 16,
        "fontWeight": 600,
        "offset": 14,
        "subtitleColor": SOFT_INK,
        "subtitleFontSize": 12.5,
        "subtitlePadding": 6,
        "frame": "group",
    },
    "axis": {
        "labelColor": SOFT_INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "gridColor": GRID,
        "domainColor": "#9AA5B1",
        "tickColor": "#9AA5B1",
        "labelPadding": 4,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 12.5,
        "titleFontWeight": 500,
        "symbolStrokeWidth": 2.5,
        "labelLimit": 360,
        "titleLimit": 360,
    },
    "header": {
        "labelColor": INK,
        "labelFontSize": 12.5,
        "labelFontWeight": 600,
        "titleColor": INK,
        "labelPadding": 6,
    },
}


def themed(chart: Any, title: str | list[str], subtitle: str | list[str] = "") -> Any:
    """A chart with its title and the house look; call it once, on the outermost chart."""
    words: dict[str, Any] = {"text": title}
    if subtitle:
        words["subtitle"] = subtitle
    return chart.properties(title=words).configure(**CONFIG)
