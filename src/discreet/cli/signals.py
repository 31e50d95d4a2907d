"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP.

A command cleans up at a signal. Python runs its handlers between two of its own instructions, so that a library which
computes for minutes would delay them: a second process, the guard, kills a command that has not ended
`SECONDS_TO_CLEAN_UP` after a signal. The guard then removes the temporary folder of the command, in which records may be,
also if something else killed the command.

The C handler of Python writes the number of a signal to a pipe at once (`signal.set_wakeup_fd`). The guard reads it, and
the end of the pipe when the command has ended. Where processes cannot be forked (Windows) there is no guard.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

#: From the first signal to the end of a command that is still running.
SECONDS_TO_CLEAN_UP = 1.5
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)})
#: What a command writes to the pipe when it has a temporary folder: no signal has this number.
FOLDER = b"\xff"
KILLED = b"Stopped: a library did not end by itself, and the command was killed.\n"


class Guard:
    """This command as its guard sees it.

    `received` is whether a signal to end came, `pipe` is written to, and `folder` is the temporary folder, by its name
    until it exists.
    """

    def __init__(self) -> None:
        self.received = False
        self.pipe: int | None = None
        self.folder = Path()
        self.process = 0

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Handle Ctrl-C. Some libraries raise another error in place of this one."""
        self.received = True
        raise KeyboardInterrupt

    def start(self) -> None:
        """Fork the guard."""
        self.folder = Path(f"discreet-{os.getpid()}-{os.urandom(8).hex()}")
        reading, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(writing)
            _watch(reading, self.folder)
        os.close(reading)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self.pipe = writing

    def end(self) -> None:
        """Let the guard end, with the temporary folder removed."""
        if self.pipe is not None:
            signal.set_wakeup_fd(-1)
            os.close(self.pipe)
            os.waitpid(self.process, 0)
            self.pipe = None


_guard = Guard()


@contextmanager
def guarded() -> Iterator[Guard]:
    """Run a command with a guard. A process with several threads is not forked."""
    global _guard
    _guard, before = Guard(), signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _guard.interrupt)
    if hasattr(os, "fork") and threading.active_count() == 1:
        _guard.start()
    try:
        yield _guard
    finally:
        if _guard.folder.is_absolute():
            import tempfile

            tempfile.tempdir = str(_guard.folder.parent)
        if (
            not _guard.received
        ):  # else the guard waits for the end of the process: libraries end their threads in it
            _guard.end()
        if signal.getsignal(signal.SIGINT) == _guard.interrupt:
            signal.signal(signal.SIGINT, before)


def leave_signals_to_server() -> None:
    """Let a server finish its responses, for which it has a limit; a guard without a folder to remove ends."""
    if _guard.pipe is not None and _guard.folder.is_absolute():
        signal.set_wakeup_fd(-1)
    else:
        _guard.end()


def clean_up_on_signal() -> None:
    """Install the handler of Ctrl-C for SIGTERM and SIGHUP, so that no records are left on disk.

    A server finishes its responses first; anything else raises KeyboardInterrupt. Ignored signals stay ignored. Temporary
    files go to the folder that the guard removes.
    """
    for number in ENDING - {signal.SIGINT}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _as_ctrl_c)
    if _guard.pipe is not None:
        import tempfile

        folder = Path(tempfile.gettempdir()).absolute() / _guard.folder
        folder.mkdir(0o700)
        os.write(_guard.pipe, FOLDER)
        tempfile.tempdir, _guard.folder = str(folder), folder


def _as_ctrl_c(_number: int, frame: FrameType | None) -> None:
    _guard.received = True
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _watch(reading: int, name: Path) -> NoReturn:
    """Run as the guard: until the pipe ends, or the command has to be killed."""
    command, end, folder = os.getppid(), None, False
    with suppress(BaseException):
        os.setsid()  # Ctrl-C goes to all processes of a terminal
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):  # whoever reads the output of the command must not wait for the guard
            os.dup2(nothing, number)
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([reading], [], [], left)[0]:
                os.write(2, KILLED)
                os.kill(command, signal.SIGKILL)
                end = None
                continue
            received = os.read(reading, 64)
            if not received:
                break
            folder |= FOLDER[0] in received
            if end is None and ENDING.intersection(received):
                end = time.monotonic() + SECONDS_TO_CLEAN_UP
        if folder:
            import shutil
            import tempfile

            shutil.rmtree(Path(tempfile.gettempdir()) / name, ignore_errors=True)
    os._exit(0)
