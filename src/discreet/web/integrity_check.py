"""The integrity check of a server: stored records are compared with their checksums in the background.

A round at the start and then every hour reads every dataset once, at most 50 MB per second. A dataset that fails is not
served until a later round finds it intact, for example after a load; the log says why.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Self

from discreet.errors import DiscreetError
from discreet.release.dataset_registry import DatasetRegistry

#: Seconds between two rounds.
BETWEEN_ROUNDS = 3600.0
BYTES_A_SECOND = 50_000_000
LOWEST_PRIORITY = 19
log = logging.getLogger("discreet.server")


class IntegrityCheck:
    """A thread that verifies all datasets, round after round.

    Args:
        registry: The datasets.
        between_rounds: Seconds between two rounds.
    """

    def __init__(self, registry: DatasetRegistry, between_rounds: float = BETWEEN_ROUNDS) -> None:
        self._registry = registry
        self._between_rounds = between_rounds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="integrity-check", daemon=True)

    def __enter__(self) -> Self:
        self._registry.prepare()  # compile the count of large tables in the background
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopping.set()
        self._thread.join()

    def round(self) -> None:
        """Verify every dataset once."""
        for name in self._registry.ids():
            try:
                self._registry.verify(name, self._pace)
            except _StoppedError:
                return
            except DiscreetError as error:
                log.error("%s is not served: %s", name, error)  # noqa: TRY400 - the sentence says it all
            except Exception:
                log.exception("%s could not be verified", name)

    def _run(self) -> None:
        _lower_priority()
        self.round()
        while not self._stopping.wait(self._between_rounds):
            self.round()

    def _pace(self, read: int) -> None:
        """Limit the read rate; a stop ends the round at once."""
        if self._stopping.wait(read / BYTES_A_SECOND):
            raise _StoppedError


class _StoppedError(Exception):
    """The server stops."""


def _lower_priority() -> None:
    if sys.platform == "linux":  # where threads have a priority
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
