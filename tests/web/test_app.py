"""The loop that serves: where it listens, what it says and how it ends."""

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from discreet.errors import BadOption
from discreet.web.app import listen

SERVE = """
import sys
from pathlib import Path
from discreet.web.app import serve
from discreet.workspace.options import read_options
from discreet.answer.doors import open_doors
folder = Path(sys.argv[1])
serve(open_doors(folder), read_options(folder, port=int(sys.argv[2])))
"""


def test_a_port_in_use_is_named_with_how_to_change_it():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadOption, match=f"The port {port} is in use") as caught:
            listen("127.0.0.1", port)
    assert "--port" in caught.value.advice
    assert "DISCREET_PORT" in caught.value.advice


def test_an_address_that_is_not_ours_is_named():
    with pytest.raises(BadOption, match="cannot listen on"):
        listen("203.0.113.7", 8000)


def test_an_address_that_does_not_exist_is_named():
    with pytest.raises(BadOption, match="cannot listen on 'no such host'"):
        listen("no such host", 8000)


@pytest.mark.slow
def test_it_says_one_line_answers_and_ends_quietly(small_folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(small_folder), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr.readline() == f"Discreet is serving http://127.0.0.1:{port}\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/datasets", timeout=30) as response:
            assert response.status == 200
            assert response.headers["server"] is None
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/datasets?{'x' * 40_000}", timeout=30)
        assert (caught.value.code, b"request-too-long" in caught.value.read()) == (414, True)
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    finally:
        server.kill()
    assert (server.returncode, out, err) == (0, "", "")
