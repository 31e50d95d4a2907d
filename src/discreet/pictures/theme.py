"""The look of all charts: one sans-serif font, colours that colour-blind readers can distinguish, light or dark.

The six series colours of a `Palette` are chosen so that any two differ by 20 or more (CIE 1976) for full vision and for
each of the three kinds of colour blindness, and each contrasts with the background by 3 to 1. `static/css/charts.css`
maps the light colours to the dark ones.

Source: the qualitative colours are those of Okabe & Ito (2008); heat maps use viridis, whose lightness rises
steadily, so they read in grey too. Colour blindness: Machado, Oliveira & Fernandes (2009). Classes: ColorBrewer YlGnBu.
"""

from dataclasses import dataclass
from types import MappingProxyType
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


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme.

    Args:
        ground: The background.
        ink, soft: Of texts, and of minor texts.
        grid, domain: Of grid lines, and of axes.
        series: Of categories, in this order.
        classes: Of up to five classes, the smallest numbers first.
        absent: Of cells without a number.
    """

    ground: str
    ink: str
    soft: str
    grid: str
    domain: str
    series: tuple[str, ...]
    classes: tuple[str, ...]
    absent: str

    def colour(self, role: str) -> str:
        """The colour of a role: the name of a field, `s1` of the first category, `m1` of the smallest class.

        >>> PALETTES["light"].colour("m5")
        '#0A4C56'
        """
        lists = {"s": self.series, "m": self.classes}
        if len(role) == 2:
            return lists[role[0]][int(role[1]) - 1]
        return str(getattr(self, role))


PALETTES = MappingProxyType(
    {
        "light": Palette(
            ground="#FFFFFF",
            ink="#14191C",
            soft="#525D64",
            grid="#E3E8E7",
            domain="#7C888C",
            series=("#0C7483", "#A07FDB", "#C1615A", "#5A7810", "#294076", "#2B1A3B"),
            classes=("#D9EBE9", "#A3D1D0", "#5DA9AF", "#237F89", "#0A4C56"),
            absent="#C3CCCB",
        ),
        "dark": Palette(
            ground="#111618",
            ink="#E9EEED",
            soft="#A7B2B5",
            grid="#283135",
            domain="#77868C",
            series=("#4FBAC7", "#9F85F1", "#DA8873", "#ABC55C", "#5D81B4", "#F4EBD3"),
            classes=("#1B383E", "#24606A", "#2F8894", "#5EB9C1", "#ABE5E7"),
            absent="#3D494E",
        ),
    }
)

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


def apply_theme(chart: Any, title: str | list[str], subtitle: str | list[str] = "") -> Any:
    """A chart of a report with its title and the theme; call it once, on the outermost chart."""
    words: dict[str, Any] = {"text": title}
    if subtitle:
        words["subtitle"] = subtitle
    return chart.properties(**({"title": words} if title else {})).configure(**CONFIG)
