"""Several processes that serve one workspace on one socket, and the one that watches over them.

Each process opens the workspace for itself: there is one secret and one ledger on disk, and what the ledger is charged
is ordered by its database, whoever asks. A process that dies is replaced; if the watching one dies, the others end.

On Linux a process begins as a copy of the watching one, which has imported everything, opened nothing and has no other
thread: what is imported is in memory once. Elsewhere it begins anew.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from discreet.web.memory import let_go_of_files

Work = Callable[[Callable[[], object]], None]

#: A process that ended is replaced after so long: one that cannot start must not keep the machine busy.
SECONDS_BETWEEN = 1.0
#: So long a process has to end, answers in flight included, before it is killed.
SECONDS_TO_END = 10.0
#: Imported before the processes part.
_SHARED = (
    *(
        "altair",
        "brotli",
        "duckdb",
        "pyarrow.compute",
        "scipy.optimize",
        "sqlalchemy.dialects.sqlite",
        "zstandard",
    ),
    *("discreet.release.budget_document", "discreet.protect.dp_protector", "discreet.records.engines.duckdb"),
)
log = logging.getLogger("discreet.server")


def supervise(work: Work, workers: int, ready: Callable[[], object]) -> None:
    """Keep so many processes at work until a signal to end.

    Args:
        work: What each process does; it is called with a function that it calls when it answers. It must be picklable.
        workers: How many.
        ready: Called once, when all of them answer.
    """
    context, ended = _context(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    team = [_Worker(work, context) for _ in range(workers)]
    try:
        if all(worker.answers(ended) for worker in team):
            ready()
        let_go_of_files()  # this process only watches
        while not ended.is_set():
            wait([worker.process.sentinel for worker in team], timeout=0.5)
            team = [
                each if each.process.is_alive() else _replaced(each, work, context, ended) for each in team
            ]
    finally:
        for worker in team:
            worker.process.terminate()
        for worker in team:
            worker.end()


class _Worker:
    """One process."""

    def __init__(self, work: Work, context: BaseContext) -> None:
        self.ready: Event = context.Event()
        self.process: BaseProcess = context.Process(target=_run, args=(work, self.ready))  # type: ignore[attr-defined]
        self.process.start()

    def answers(self, ended: threading.Event) -> bool:
        """Wait until it answers; False where it died, or where all is to end."""
        while not self.ready.wait(0.1):
            if ended.is_set() or not self.process.is_alive():
                return False
        return True

    def end(self) -> None:
        """Let it finish what it sends, and then no longer."""
        self.process.join(SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _context() -> BaseContext:
    if sys.platform != "linux" or threading.active_count() > 1:
        return multiprocessing.get_context("spawn")
    for name in _SHARED:
        with suppress(ImportError):  # an extra that is not installed
            import_module(name)
    gc.collect()
    gc.freeze()  # what is there now is not looked at again, so it stays one copy
    return multiprocessing.get_context("fork")


def _replaced(worker: _Worker, work: Work, context: BaseContext, ended: threading.Event) -> _Worker:
    if ended.wait(SECONDS_BETWEEN):
        return worker
    log.error("A process of the server ended with %s and is replaced.", worker.process.exitcode)
    return _Worker(work, context)


def _run(work: Work, ready: Event) -> None:
    """In the new process: work, and end with the one that started it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        threading.Thread(target=_end_with, args=(parent.pid,), daemon=True).start()
    work(ready.set)


def _end_with(parent: int) -> None:
    """End when the watching process is gone: then this one has another parent."""
    while os.getppid() == parent:
        threading.Event().wait(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
