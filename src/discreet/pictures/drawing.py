"""Render charts as SVG or PNG, without a browser or a network.

    worker -> socket in a folder of the server -> `drawing_program` -> vl-convert

A command renders in its own process; the workers of a server, which hold the secret, share a separate program. The
JavaScript engine of vl-convert takes 100 MB, which it never frees, and has no timeout. The first request starts the program;
it exits when idle or when a picture takes too long, and the next request starts it again.

An SVG has a title and a description. Every mark of a number has its description as `aria-label`, and `data-cell` with layer,
row and column of the table; `js/chart.js` reads the marks. There is no `style` attribute, so that it can be inlined under a
strict content security policy.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from html import escape, unescape
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.errors import Busy, UnknownFormat
from discreet.model.messages.text import message, printable
from discreet.model.release import Release
from discreet.pictures.chart_data import ChartData, chart_data, describe_chart
from discreet.pictures.charts import chart_of, draw
from discreet.pictures.library import alt, import_optional

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
    vl_convert = import_optional("vl_convert")
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


_CODE = Path(__file__).with_name("drawing_program.py")
#: How long a picture may take, the start of the program and those before it included.
SECONDS = 30.0
RETRY_AFTER = 5
_TRIES = 3


class DrawingProgram:
    """A client of the program that draws.

    Args:
        folder: Of the server, private to its owner; the path must be short, as paths of sockets are.
    """

    def __init__(self, folder: Path) -> None:
        self._place = folder / "drawing"
        self._lock = Lock()
        self._started: subprocess.Popen[bytes] | None = None

    def draw(self, specification: Mapping[str, Any], kind: str) -> bytes:
        """Render a Vega-Lite specification.

        Raises:
            Busy: It took too long.
        """
        asked = {"kind": kind, "scale": PNG_SCALE, "specification": specification}
        line = json.dumps(asked).encode() + b"\n"
        with suppress(TimeoutError):
            for _ in range(_TRIES):
                with suppress(FileNotFoundError, ConnectionError):
                    if drawn := self._ask(line):
                        return drawn
                    break
                self._start()
        raise Busy(
            message("The picture could not be drawn in time."),
            message("Try again in {seconds} seconds, or ask for a smaller table.", seconds=RETRY_AFTER),
            retry_after=RETRY_AFTER,
        )

    def close(self) -> None:
        """Kill the program if this process started it."""
        if self._started is not None:
            self._started.kill()
            self._started.wait()

    def _ask(self, line: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(SECONDS)
            connection.connect(str(self._place))
            connection.sendall(line)
            with connection.makefile("rb") as answer:
                return answer.read()

    def _start(self) -> None:
        """Start the program, and wait until it listens.

        If two processes do so at once, the later program takes over the socket, and the other exits when idle.
        """
        with self._lock:
            if self._started is not None and self._started.poll() is None and self._place.exists():
                return  # another thread has started it
            self.close()
            self._place.unlink(missing_ok=True)
            own = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
            quiet = subprocess.DEVNULL
            command = [sys.executable, str(_CODE), str(self._place)]
            self._started = subprocess.Popen(command, env=own, stdin=quiet, stdout=quiet, stderr=quiet)
            end = time.monotonic() + SECONDS
            while not self._place.exists() and self._started.poll() is None and time.monotonic() < end:
                time.sleep(0.01)


def to_svg(release: Release) -> Iterator[bytes]:
    """The format SVG: the chart that `release.picture` names, or that fits best, with its note and intervals."""
    yield svg_of(chart_data(release)).encode()


def to_png(release: Release) -> Iterator[bytes]:
    """The format PNG: the same chart as pixels."""
    yield render(draw(chart_data(release)), "png")


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
