"""Charts as files: SVG for documents, PNG for everything else, made without a browser or a network.

Comes from: any chart of this folder. Goes to: `--plot FILE.svg|png`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import MissingExtra, UnknownFormat

if TYPE_CHECKING:
    import altair as alt

PNG_SCALE = 2.0


def save(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart; the ending of the name, .svg or .png, decides the format."""
    file = Path(path)
    if file.suffix.lower() not in {".svg", ".png"}:
        raise UnknownFormat(f'A picture cannot be written as "{file.name}".', "End the name in .svg or .png.")
    file.write_bytes(render(chart, file.suffix.lower().lstrip(".")))


def render(chart: alt.TopLevelMixin, kind: str) -> bytes:
    """A chart as the bytes of an SVG or PNG picture."""
    try:
        import vl_convert  # noqa: PLC0415  only here: pictures are an extra
    except ImportError as missing:
        raise MissingExtra(
            "Pictures need Altair and vl-convert.", 'Install them: pip install "discreet[pictures]".'
        ) from missing
    specification = chart.to_dict(validate=False)  # every step was checked when the chart was made
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode("utf-8")
    return bytes(vl_convert.vegalite_to_png(specification, scale=PNG_SCALE))
