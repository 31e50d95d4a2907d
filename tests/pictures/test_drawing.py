"""The program that draws for a server: the same pictures, one program for all processes, and no wait without end."""

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from discreet.errors import Busy
from discreet.pictures import drawing
from discreet.pictures.drawing import DrawingProgram
from discreet.pictures.save import draw_here, render, use_drawing_program

pytestmark = pytest.mark.slow
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


def test_the_program_draws_what_a_command_draws(programs):
    for kind in ("svg", "png"):
        assert programs[0].draw(BARS, kind) == draw_here(BARS, kind)


def test_a_server_has_one_program(programs):
    first, second = programs
    first.draw(BARS, "svg")
    second.draw(BARS, "svg")
    assert second._started is None


def test_a_program_that_ended_is_started_anew(programs):
    first, second = programs
    drawn = first.draw(BARS, "svg")
    os.kill(first._started.pid, signal.SIGKILL)
    first._started.wait()
    assert second.draw(BARS, "svg") == drawn
    assert first.draw(BARS, "svg") == drawn


def test_what_cannot_be_drawn_is_refused_and_the_program_goes_on(programs):
    with pytest.raises(Busy, match="could not be drawn"):
        programs[0].draw({"mark": "nonsense"}, "svg")
    assert programs[0].draw(BARS, "svg").startswith(b"<svg")


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


def test_it_ends_when_nobody_asks(started):
    process, place = started(idle=1)
    assert ask(place) == b"<svg/>"
    assert process.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        ask(place)


def test_it_ends_after_some_pictures(started):
    process, place = started(pictures=2)
    assert [ask(place), ask(place)] == [b"<svg/>"] * 2
    assert process.wait(30) == 0


def test_a_picture_that_takes_too_long_ends_it(started):
    process, place = started(most=1)
    assert ask(place, seconds=60) == b""
    assert process.wait(30) < 0


def test_who_asks_for_nothing_is_answered_with_nothing(started):
    process, place = started()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place))
        connection.sendall(b"\n")
        assert connection.makefile("rb").read() == b""
    assert ask(place) == b"<svg/>"
    assert process.poll() is None
