"""Render charts as SVG or PNG, without a browser or a network.

A command renders in its own process; a server uses a separate program (`drawing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra, UnknownFormat

if TYPE_CHECKING:
    import altair as alt

    from discreet.pictures.drawing import DrawingProgram


PNG_SCALE = 2.0


def save(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart; the suffix of the name, .svg or .png, decides the format."""
    file = Path(path)
    if file.suffix.lower() not in {".svg", ".png"}:
        raise UnknownFormat(f'A picture cannot be written as "{file.name}".', "End the name in .svg or .png.")
    file.write_bytes(render(chart, file.suffix.lower().lstrip(".")))


def render(chart: alt.TopLevelMixin, kind: str) -> bytes:
    """A chart as the bytes of an SVG or PNG picture.

    Raises:
        MissingExtra: vl-convert is not installed.
        Busy: The server's drawing program is not available.
    """
    specification = chart.to_dict(validate=False)  # every step was checked when the chart was made
    return (draw_here if _program is None else _program.draw)(specification, kind)


def draw_here(specification: dict[str, Any], kind: str) -> bytes:
    """Render in this process."""
    try:
        import vl_convert  # noqa: PLC0415  only here: pictures are an extra
    except ImportError as missing:
        raise MissingExtra(
            "Pictures need Altair and vl-convert.", 'Install them: pip install "discreet[pictures]".'
        ) from missing
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode("utf-8")
    return bytes(vl_convert.vegalite_to_png(specification, scale=PNG_SCALE))


_program: DrawingProgram | None = None


@contextmanager
def use_drawing_program(program: DrawingProgram | None) -> Iterator[None]:
    """Render all charts of this process in another one."""
    global _program  # noqa: PLW0603 - a process has one, or none
    before, _program = _program, program
    try:
        yield
    finally:
        _program = before
