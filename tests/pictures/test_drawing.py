"""Pictures are saved as their names say, and name their cells; a server draws them in one program, without endless waits."""

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
from xml.etree.ElementTree import fromstring

import pytest

from discreet.errors import Busy, MissingExtra, UnknownFormat
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.pictures import drawing, library
from discreet.pictures import noise_charts as noise
from discreet.pictures.drawing import DrawingProgram, draw_here, render, save, use_drawing_program

BARS = {
    "data": {"values": [{"a": "Nørd", "b": 28}, {"a": "Süd", "b": 55}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
}


@pytest.fixture
def programs(tmp_path_factory):
    """Two processes of one server, as they see the program."""
    folder = tmp_path_factory.mktemp("d")
    both = [DrawingProgram(folder), DrawingProgram(folder)]
    yield both
    for program in both:
        program.close()


@pytest.mark.slow
def test_the_program_draws_what_a_command_draws(programs):
    for kind in ("svg", "png"):
        assert programs[0].draw(BARS, kind) == draw_here(BARS, kind)


@pytest.mark.slow
def test_a_server_has_one_program(programs):
    first, second = programs
    first.draw(BARS, "svg")
    second.draw(BARS, "svg")
    assert second._started is None


@pytest.mark.slow
def test_a_program_that_ended_is_started_anew(programs):
    first, second = programs
    drawn = first.draw(BARS, "svg")
    os.kill(first._started.pid, signal.SIGKILL)
    first._started.wait()
    assert second.draw(BARS, "svg") == drawn
    assert first.draw(BARS, "svg") == drawn


@pytest.mark.slow
def test_what_cannot_be_drawn_is_refused_and_the_program_goes_on(programs):
    with pytest.raises(Busy, match="could not be drawn"):
        programs[0].draw({"mark": "nonsense"}, "svg")
    assert programs[0].draw(BARS, "svg").startswith(b"<svg")


@pytest.mark.slow
def test_charts_go_to_the_program_of_a_server_and_to_nobody_else():
    class Chart:
        def to_dict(self, *, validate):
            return BARS

    class Told:
        def draw(self, specification, kind):
            assert specification is BARS
            return f"drawn as {kind}".encode()

    with use_drawing_program(Told()):
        assert render(Chart(), "png") == b"drawn as png"
    assert render(Chart(), "svg") == draw_here(BARS, "svg")


STUB = """
import time
def vegalite_to_svg(specification):
    time.sleep(specification["seconds"])
    return "<svg/>"
"""
RUN = """
import runpy, sys
program = runpy.run_path(sys.argv[1])
program["main"].__globals__.update(IDLE_SECONDS={idle}, MOST_SECONDS={most}, MOST_PICTURES={pictures})
program["main"](sys.argv[2])
"""


@pytest.fixture
def started(tmp_path_factory):
    """Starts the program over something that sleeps in place of vl-convert; gives the process and its place."""
    folder = tmp_path_factory.mktemp("d")
    (folder / "vl_convert.py").write_text(STUB)
    running = []

    def start(idle=30, most=30, pictures=50):
        place = folder / f"s{len(running)}"
        code = RUN.format(idle=idle, most=most, pictures=pictures)
        command = [sys.executable, "-c", code, str(drawing._CODE), str(place)]
        running.append(subprocess.Popen(command, env={"PYTHONPATH": str(folder)}))
        while not place.exists():
            assert running[-1].poll() is None
            time.sleep(0.01)
        return running[-1], place

    yield start
    for process in running:
        process.kill()
        process.wait()


def ask(place, seconds=0.0):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place))
        line = {"kind": "svg", "scale": 2, "specification": {"seconds": seconds}}
        connection.sendall(json.dumps(line).encode() + b"\n")
        return connection.makefile("rb").read()


@pytest.mark.slow
def test_it_imports_nothing_of_discreet():
    tree = ast.parse(drawing._CODE.read_text())
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names - set(sys.stdlib_module_names) == {"vl_convert"}


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "pictures"), [({"idle": 1}, 1), ({"pictures": 2}, 2)])
def test_it_ends_when_nobody_asks_and_after_some_pictures(started, limits, pictures):
    process, place = started(**limits)
    assert [ask(place) for _ in range(pictures)] == [b"<svg/>"] * pictures
    assert process.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        ask(place)


@pytest.mark.slow
def test_a_picture_that_takes_too_long_ends_it(started):
    process, place = started(most=1)
    assert ask(place, seconds=60) == b""
    assert process.wait(30) < 0


@pytest.mark.slow
def test_who_asks_for_nothing_is_answered_with_nothing(started):
    process, place = started()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place))
        connection.sendall(b"\n")
        assert connection.makefile("rb").read() == b""
    assert ask(place) == b"<svg/>"
    assert process.poll() is None


ONE_ROW = NoiseTable(256, (NoiseRow((-1, 0, 1), (64, 192, 256)),), family="laplace", parameters={"m": 1})


def test_a_picture_is_saved_as_what_its_name_says(tmp_path):
    for name, start in {"a.svg": b"<svg", "b.PNG": b"\x89PNG"}.items():
        save(noise.pmf(ONE_ROW), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(UnknownFormat):
        save(noise.pmf(ONE_ROW), tmp_path / "c.pdf")


NS = "{http://www.w3.org/2000/svg}"


def read_xml(picture):
    return fromstring(picture)  # noqa: S314 - our own picture


def test_a_file_has_its_title_and_words_and_a_page_has_them_beside(village, svg):
    release = village(rows="area")
    tree = read_xml(svg(release, "bars"))
    assert tree.find(f"{NS}title").text == release.title
    assert "The largest is NE side" in tree.find(f"{NS}desc").text
    assert tree.get("role") == "img"
    bare = read_xml(svg(release, "bars", bare=True))
    assert bare.find(f"{NS}title") is None, "it would be a tooltip over the whole picture"
    assert bare.get("aria-labelledby") == "chart-told"


def test_only_marks_of_cells_have_a_role_and_a_name(village, svg):
    tree = read_xml(svg(village(rows="age", columns="sex"), "pyramid"))
    named = [node for node in tree.iter() if node.get("aria-label")]
    assert len(named) == 10
    assert all(node.get("role") == "img" and node.get("data-cell") for node in named)
    assert not [node for node in tree.iter() if "graphics" in (node.get("role") or "")]
    assert not [node for node in tree.iter() if node.get("style") or node.tag == f"{NS}style"]


def test_the_extra_is_named_where_the_library_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"discreet\[pictures\]"):
        _ = library.alt.Chart
