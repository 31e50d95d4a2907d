"""What a server keeps beside the workspace while it runs: its log, what its processes share, metrics, the watch.

with open_state(doors, options) as state:      a server that serves; what it writes is for its owner alone
    create_app(doors, options, state)
create_app(doors, options)                     the same application, which writes nothing
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BadOption
from discreet.server.access.shared import Shared
from discreet.server.audit.addresses import Addresses
from discreet.server.audit.log import LogRules, RequestLog
from discreet.server.metrics import Metrics
from discreet.server.tracing import start_tracing
from discreet.server.watch.thresholds import read_thresholds
from discreet.server.watch.watch import Watch
from discreet.workspace.disk import make_own
from discreet.workspace.server_state import FOLDER, own_log_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.answer.doors import Doors
    from discreet.workspace.options import Options

LOG, SHARED, METRICS = "log", "shared.sqlite", "metrics"


@dataclass(frozen=True, slots=True)
class State:
    """What the layers of an application share.

    Args:
        addresses: What is kept of addresses.
        shared: Tokens and holds.
        metrics: What is counted.
        log: The log of requests; None where nothing is logged.
        folder: Where it stands; None for an application that writes nothing.
    """

    addresses: Addresses = field(default_factory=lambda: Addresses(secrets.token_bytes(32)))
    shared: Shared = field(default_factory=lambda: Shared(None))
    metrics: Metrics = field(default_factory=Metrics)
    log: RequestLog | None = None
    folder: Path | None = None


def state_place(doors: Doors, options: Options) -> Path | None:
    """Where a server writes; None for a publication without the option `state`: nothing is written beside it."""
    if options.state:
        return Path(options.state)
    return None if doors.log_key() is None else doors.folder / FOLDER


@contextmanager
def open_state(doors: Doors, options: Options) -> Iterator[State]:
    """The state of a server of a workspace, until it ends.

    Raises:
        BadOption: An option cannot be used, or the folder cannot be written.
        SecretUnusable: The workspace has no secret that can be used.
    """
    if options.log not in {"on", "off"}:
        raise BadOption(f"The option log is {options.log!r}.", "Give on or off.")
    folder = state_place(doors, options)
    rules = LogRules(options.log_failure, options.log_megabytes * 1_000_000, options.log_days)
    start_tracing(options.traces)
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o077))  # logs, metrics and kept answers are the server's own
        if folder is None:
            yield State()
            return
        try:
            make_own(folder)
            key = doors.log_key() or own_log_key(folder)
            addresses = Addresses(key, options.log_addresses)
            shared = Shared(folder / SHARED)
            stack.callback(shared.close)
            metrics = Metrics(folder / METRICS)
            log = None
            if options.log == "on":
                log = stack.enter_context(RequestLog(folder / LOG, key, rules, metrics.lost.inc))
        except OSError as error:
            raise BadOption(
                f"The server cannot write into {str(folder)!r}: {error.strerror}.",
                "Let it, or name another folder with the option state.",
            ) from None
        if log is not None and doors.log_key() is not None:  # what is published is public already
            thresholds = read_thresholds(doors.folder)
            stack.enter_context(Watch(doors, folder, shared, thresholds, metrics.alert))
        yield State(addresses, shared, metrics, log, folder)
