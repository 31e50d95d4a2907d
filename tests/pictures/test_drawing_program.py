"""The program that draws knows nothing of Discreet, and ends when it has nothing to do or takes too long."""

import ast
import json
import socket
import subprocess
import sys
import time

import pytest

from discreet.pictures import drawing

pytestmark = pytest.mark.slow

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
