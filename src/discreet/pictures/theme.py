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
        absent: Of cells without a number.
    """

    ground: str
    ink: str
    soft: str
    grid: str
    domain: str
    series: tuple[str, ...]
    absent: str


PALETTES = MappingProxyType(
    {
        "light": Palette(
            "white",
            INK,
            SOFT_INK,
            GRID,
            "#9AA5B1",
            (BLUE, ORANGE, "#07A958", "#A6306E", "#622A17", "#300831"),
            "#C4CAD1",
        ),
        "dark": Palette(
            "#1B1F23",
            "#E7EAED",
            "#A9B2BC",
            "#363D45",
            "#6D7782",
            (SKY, "#E26D32", "#F8FA65", "#DCA6B0", "#2F8A70", "#9450E3"),
            "#5A636D",
        ),
    }
)
#: Colours of up to five classes, the smallest numbers first; the same in both themes, since they are data.
CLASSES = ("#FFFFCC", "#A1DAB4", "#41B6C4", "#2C7FB8", "#253494")

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


def apply_theme(
    chart: Any, title: str | list[str], subtitle: str | list[str] = "", theme: str = "light"
) -> Any:
    """A chart with its title and the theme; call it once, on the outermost chart."""
    words: dict[str, Any] = {"text": title}
    if subtitle:
        words["subtitle"] = subtitle
    return chart.properties(**({"title": words} if title else {})).configure(**config(theme))


def config(theme: str) -> dict[str, Any]:
    """The Vega-Lite configuration in the colours of a theme."""
    light, look = PALETTES["light"], PALETTES[theme]
    others = {getattr(light, name): getattr(look, name) for name in ("ink", "soft", "grid", "domain")}

    def turned(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: turned(value) for name, value in part.items()}
        return others.get(part, part) if isinstance(part, str) else part

    return {**turned(CONFIG), "background": look.ground}
