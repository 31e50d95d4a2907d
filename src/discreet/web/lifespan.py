"""What a server keeps beside the workspace while it runs: its log, what its processes share, metrics, the watch.

with open_state(doors, options) as state:      a server that serves; what it writes is for its owner alone
    create_app(doors, options, state)
create_app(doors, options)                     the same application, which writes nothing

Before a server listens it asks itself: what the first reader would wait for is imported, opened and counted then.

    the list of datasets, and of each dataset its first page and the table of it as CSV and JSON

Nothing is charged: nobody asks, and whoever is nobody is never charged.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import ASGIApp, Message

from discreet.errors import BadOption, DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.audit.entry import AddressPolicy
from discreet.web.audit.log import AuditLog, LogPolicy
from discreet.web.auth.rate_limit import RateLimitStore
from discreet.web.detectors.alerts import read_thresholds
from discreet.web.detectors.monitor import Monitor
from discreet.web.telemetry import Metrics, start_tracing
from discreet.workspace.options import Options
from discreet.workspace.sealed import make_private_folder
from discreet.workspace.server_state import FOLDER, standalone_log_key

LOG, SHARED, METRICS = "log", "shared.sqlite", "metrics"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the layers of an application share.

    Args:
        addresses: What is kept of addresses.
        shared: Tokens and holds.
        metrics: What is counted.
        log: The log of requests; None where nothing is logged.
        folder: Where it stands; None for an application that writes nothing.
    """

    addresses: AddressPolicy = field(default_factory=lambda: AddressPolicy(secrets.token_bytes(32)))
    shared: RateLimitStore = field(default_factory=lambda: RateLimitStore(None))
    metrics: Metrics = field(default_factory=Metrics)
    log: AuditLog | None = None
    folder: Path | None = None


def server_folder(doors: DatasetRegistry, options: Options) -> Path | None:
    """Where a server writes; None for a publication without the option `state`: nothing is written beside it."""
    if options.state:
        return Path(options.state)
    return None if doors.log_key() is None else doors.folder / FOLDER


@contextmanager
def open_state(doors: DatasetRegistry, options: Options) -> Iterator[ServerState]:
    """The state of a server of a workspace, until it ends.

    Raises:
        BadOption: An option cannot be used, or the folder cannot be written.
        SecretUnusable: The workspace has no secret that can be used.
    """
    if options.log not in {"on", "off"}:
        raise BadOption(f"The option log is {options.log!r}.", "Give on or off.")
    folder = server_folder(doors, options)
    rules = LogPolicy(options.log_failure, options.log_megabytes * 1_000_000, options.log_days)
    start_tracing(options.traces)
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o077))  # logs, metrics and kept answers are the server's own
        if folder is None:
            yield ServerState()
            return
        try:
            make_private_folder(folder)
            key = doors.log_key() or standalone_log_key(folder)
            addresses = AddressPolicy(key, options.log_addresses)
            shared = RateLimitStore(folder / SHARED)
            stack.callback(shared.close)
            metrics = Metrics(folder / METRICS)
            log = None
            if options.log == "on":
                log = stack.enter_context(AuditLog(folder / LOG, key, rules, metrics.lost.inc))
        except OSError as error:
            raise BadOption(
                f"The server cannot write into {str(folder)!r}: {error.strerror}.",
                "Let it, or name another folder with the option state.",
            ) from None
        if log is not None and doors.log_key() is not None:  # what is published is public already
            thresholds = read_thresholds(doors.folder)
            stack.enter_context(Monitor(doors, folder, shared, thresholds, metrics.alert))
        yield ServerState(addresses, shared, metrics, log, folder)


#: Where a layer sees that no reader asks.
OURSELVES = "discreet.ourselves"


async def warm_up(app: ASGIApp, doors: DatasetRegistry) -> None:
    """Ask for the first pages; what fails here fails again when a reader asks, and says so then."""
    await _ask(app, "/")
    for dataset_id in doors.ids():
        await _ask(app, f"/datasets/{dataset_id}")
        with suppress(DiscreetError):
            rows = doors.door(dataset_id).dataset.variables[-1].name
            for form in ("csv", "json"):
                await _ask(app, f"/api/datasets/{dataset_id}/table", f"rows={rows}&format={form}")


async def _ask(app: ASGIApp, path: str, query: str = "") -> None:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept-encoding", b"gzip, br")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        OURSELVES: True,
    }

    async def nothing() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ignored(_message: Message) -> None:
        return None

    await app(scope, nothing, ignored)
