"""The watch of a server: all stored records are compared with their seals while it serves.

    one round at the start, then one an hour; in a round every dataset is read once, at most 50 MB a second

A dataset whose records are not those of its load is not served from then on; the log says why. It is served again
when a later round finds it sound, after a load say.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Self

from discreet.errors import DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.memory import COMPILER, let_go_of_files

#: Seconds from the end of one round to the next.
BETWEEN_ROUNDS = 3600.0
BYTES_A_SECOND = 50_000_000
LOWEST_PRIORITY = 19
log = logging.getLogger("discreet.server")


class IntegrityCheck:
    """A thread that verifies the datasets behind some doors, round after round, until it is stopped.

    Args:
        doors: Of a workspace.
        between_rounds: Seconds of rest.
    """

    def __init__(self, doors: DatasetRegistry, between_rounds: float = BETWEEN_ROUNDS) -> None:
        self._doors = doors
        self._between_rounds = between_rounds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="record-watch", daemon=True)

    def __enter__(self) -> Self:
        self._doors.prepare()  # what counts large tables is made while nobody waits for it
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopped.set()
        self._thread.join()

    def round(self) -> None:
        """Verify every dataset once."""
        for name in self._doors.ids():
            try:
                self._doors.verify(name, self._pace)
            except _StoppedError:
                return
            except DiscreetError as error:
                log.error("%s is not served: %s", name, error)  # noqa: TRY400 - the sentence says it all
            except Exception:
                log.exception("%s could not be verified", name)

    def _watch(self) -> None:
        _lower_priority()
        self.round()
        self._doors.prepare(wait=True)
        let_go_of_files(COMPILER)
        while not self._stopped.wait(self._between_rounds):
            self.round()

    def _pace(self, read: int) -> None:
        """Wait until so many bytes may be read; a stop ends the round at once."""
        if self._stopped.wait(read / BYTES_A_SECOND):
            raise _StoppedError


class _StoppedError(Exception):
    """The server stops."""


def _lower_priority() -> None:
    """Let this thread give way to answers, where the system has a priority for threads (Linux)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
