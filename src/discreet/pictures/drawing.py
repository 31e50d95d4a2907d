"""Pictures as files: tables as SVG or PNG, without a browser, a network or another process; reports by Altair.

An SVG of a table has a title and a description. Every mark of a number has its description as `aria-label`, and `data-cell`
with layer, row and column of the table; `js/chart.js` reads the marks. There is no `style` attribute, so that it can be
inlined under a strict content security policy. A PNG is drawn from the SVG.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import UnknownFormat
from discreet.model.release import Release
from discreet.pictures.chart_data import chart_data
from discreet.pictures.charts import draw
from discreet.pictures.library import alt, import_optional

PNG_SCALE = 2.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """The chart of a table; notebooks show it."""

    svg: str

    def save(self, path: str | Path) -> None:
        """Write the chart; the suffix of the name, .svg or .png, decides the format."""
        Path(path).write_bytes(self.svg.encode() if _suffix(path) == "svg" else png_of(self.svg))

    def _repr_svg_(self) -> str:
        return self.svg


def save(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart of a report; the suffix of the name, .svg or .png, decides the format."""
    Path(path).write_bytes(render(chart, _suffix(path)))


def _suffix(path: str | Path) -> str:
    file = Path(path)
    if file.suffix.lower() not in {".svg", ".png"}:
        raise UnknownFormat(f'A picture cannot be written as "{file.name}".', "End the name in .svg or .png.")
    return file.suffix.lower().lstrip(".")


def render(chart: alt.TopLevelMixin, kind: str) -> bytes:
    """A chart of a report as the bytes of an SVG or PNG picture.

    Raises:
        MissingExtra: vl-convert is not installed.
    """
    vl_convert = import_optional("vl_convert")
    specification = chart.to_dict(validate=False)  # every step was checked when the chart was made
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode("utf-8")
    return bytes(vl_convert.vegalite_to_png(specification, scale=PNG_SCALE))


def png_of(svg: str) -> bytes:
    """An SVG as PNG.

    Raises:
        MissingExtra: vl-convert is not installed.
    """
    return bytes(import_optional("vl_convert").svg_to_png(svg, scale=PNG_SCALE))


def to_svg(release: Release) -> Iterator[bytes]:
    """The format SVG: the chart that `release.picture` names, or that fits best, with its note and intervals."""
    yield draw(chart_data(release)).encode()


def to_png(release: Release) -> Iterator[bytes]:
    """The format PNG: the same chart as pixels."""
    yield png_of(draw(chart_data(release)))
