"""SVG and PNG: a chart of the table, with its note, its text and the interval of each number.

`release.picture` has the chart and the limits; without it the chart that fits best is drawn, without intervals. A table that
fits no chart is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.model.messages.text import message
from discreet.model.plugins import Extra

if TYPE_CHECKING:  # help starts without NumPy
    from discreet.model.release import Release

PICTURES = Extra("discreet[pictures]", ("altair", "vl_convert"))


def to_svg(release: Release) -> Iterator[bytes]:
    """The release as an SVG chart."""
    from discreet.pictures.chart_data import chart_data
    from discreet.pictures.drawing import svg_of

    yield svg_of(chart_data(release)).encode()


def to_png(release: Release) -> Iterator[bytes]:
    """The release as a PNG chart."""
    from discreet.pictures.chart_data import chart_data
    from discreet.pictures.charts import draw
    from discreet.pictures.drawing import render

    yield render(draw(chart_data(release)), "png")


_SVG = "image/svg+xml; charset=utf-8"
FORMAT = (
    Format("svg", "SVG", message("a chart as SVG"), "svg", _SVG, to_svg, needs=PICTURES, place=95),
    Format("png", "PNG", message("a chart as PNG"), "png", "image/png", to_png, needs=PICTURES, place=96),
)
