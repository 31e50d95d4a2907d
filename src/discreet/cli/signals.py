"""The end of a program by a signal: what it put aside is removed as at Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType


def clean_up_on_signal() -> None:
    """Whoever ends the program, or closes its terminal, finds no records left; signals that are ignored stay so."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does now: a server that serves ends its answers first, and anything else is broken off."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
