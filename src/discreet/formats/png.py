"""PNG: the chart of `svg` as pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.svg import PICTURES
from discreet.model.messages.text import message

if TYPE_CHECKING:  # help starts without NumPy
    from discreet.model.release import Release


def to_png(release: Release) -> Iterator[bytes]:
    """The release as a PNG chart."""
    from discreet.pictures.chart_data import chart_data
    from discreet.pictures.charts import draw
    from discreet.pictures.save import render

    yield render(draw(chart_data(release)), "png")


FORMAT = Format("png", "PNG", message("a chart as PNG"), "png", "image/png", to_png, needs=PICTURES, place=96)
