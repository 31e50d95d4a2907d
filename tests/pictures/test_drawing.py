"""The program that draws for a server: the same pictures, one program for all processes, and no wait without end."""

import os
import signal

import pytest

from discreet.errors import Busy
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
