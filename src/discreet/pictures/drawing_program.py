"""The process that renders charts for a server: Vega-Lite specifications in, pictures out.

It is run by its path and imports nothing of Discreet: it has no record, key or secret. It listens on a private socket,
draws one picture at a time, and exits when idle for `IDLE_SECONDS`, when a picture takes longer than `MOST_SECONDS`, or
after `MOST_PICTURES`: the JavaScript engine inside vl-convert takes more memory with every picture and frees none.

    request    a line of JSON: {"kind": "svg" or "png", "scale": .., "specification": {..}}
    response   the bytes of the picture; empty where it could not be drawn

A request that cannot be parsed gets an empty response.
"""

import json
import os
import signal
import socket
import sys
from contextlib import suppress

import vl_convert

IDLE_SECONDS = 10
MOST_SECONDS = 15
MOST_PICTURES = 50


def main(path: str) -> None:
    """Listen on a Unix socket until idle."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{path}.{os.getpid()}")
        listening.listen(64)
        listening.settimeout(IDLE_SECONDS)
        os.rename(f"{path}.{os.getpid()}", path)  # noqa: PTH104 - whoever finds it may connect
        with suppress(TimeoutError):
            for _ in range(MOST_PICTURES):
                _answer(listening.accept()[0])


def _answer(connection: socket.socket) -> None:
    """Draw the picture of one request; a timeout kills the program."""
    connection.settimeout(MOST_SECONDS)
    signal.alarm(MOST_SECONDS)
    with connection, suppress(OSError), connection.makefile("rb") as asked:
        connection.sendall(_drawn(asked.readline()))
    signal.alarm(0)


def _drawn(line: bytes) -> bytes:
    try:
        asked = json.loads(line)
        if asked["kind"] == "svg":
            return str(vl_convert.vegalite_to_svg(asked["specification"])).encode()
        return bytes(vl_convert.vegalite_to_png(asked["specification"], scale=asked["scale"]))
    except ValueError:
        return b""


if __name__ == "__main__":
    main(sys.argv[1])
