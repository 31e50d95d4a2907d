"""Clean up temporary files when the program is terminated by a signal, as at Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType


def clean_up_on_signal() -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that no records are left on disk; ignored signals stay ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Call the handler of SIGINT: a server finishes its responses first, anything else raises KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
