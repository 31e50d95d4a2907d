"""Render charts in a separate process, one for all workers of a server.

    worker -> socket in a folder of the server -> `drawing_program` -> vl-convert

The JavaScript engine of vl-convert takes 100 MB, which it never frees, and has no timeout. So it does not run in the
workers, which hold the secret. The first request starts the program; it exits when idle or when a picture takes too
long, and the next request starts it again.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.errors import Busy
from discreet.model.messages.text import message
from discreet.pictures import save

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
        asked = {"kind": kind, "scale": save.PNG_SCALE, "specification": specification}
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
