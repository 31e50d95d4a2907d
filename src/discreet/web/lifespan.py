"""What a server process opens before it answers and closes before it ends: log, limits, metrics, background threads."""

import gc
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from discreet.errors import BadOption, DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.admission import THREADS
from discreet.web.audit.log import AddressPolicy, AuditLog, LogPolicy
from discreet.web.auth.rate_limit import RateLimitStore
from discreet.web.detectors.monitor import Monitor, read_thresholds
from discreet.web.telemetry import Metrics, start_tracing
from discreet.workspace.folder_layout import FOLDER, standalone_log_key
from discreet.workspace.options import Options
from discreet.workspace.sealed import make_private_folder

LOG, SHARED, METRICS = "log", "shared.sqlite", "metrics"
#: Marks requests of the server itself in their scope.
INTERNAL = "discreet.internal"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the middlewares of an application share; without `log` nothing is logged, without `folder` nothing written."""

    addresses: AddressPolicy = field(default_factory=lambda: AddressPolicy(secrets.token_bytes(32)))
    shared: RateLimitStore = field(default_factory=lambda: RateLimitStore(None))
    metrics: Metrics = field(default_factory=Metrics)
    log: AuditLog | None = None
    folder: Path | None = None


def server_folder(registry: DatasetRegistry, options: Options) -> Path | None:
    """Where a server writes; None for a publication without the option `state`."""
    if options.state:
        return Path(options.state)
    return None if registry.log_key() is None else registry.folder / FOLDER


@contextmanager
def open_state(registry: DatasetRegistry, options: Options) -> Iterator[ServerState]:
    """Open the state of a server process; on exit the audit log is flushed."""
    if options.log not in {"on", "off"}:
        raise BadOption(f"The option log is {options.log!r}.", "Give on or off.")
    folder = server_folder(registry, options)
    policy = LogPolicy(options.log_failure, options.log_megabytes * 1_000_000, options.log_days)
    start_tracing(options.traces)
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o077))
        if folder is None:
            yield ServerState()
            return
        try:
            make_private_folder(folder)
            key = registry.log_key() or standalone_log_key(folder)
            addresses = AddressPolicy(key, options.log_addresses)
            shared = RateLimitStore(folder / SHARED)
            stack.callback(shared.close)
            metrics = Metrics(folder / METRICS)
            stack.callback(metrics.close)
            log = None
            if options.log == "on":
                log = stack.enter_context(AuditLog(folder / LOG, key, policy, metrics.lost.inc))
        except OSError as error:
            raise BadOption(
                f"The server cannot write into {str(folder)!r}: {error.strerror}.",
                "Let it, or name another folder with the option state.",
            ) from None
        if log is not None and registry.log_key() is not None:  # a publication is public already
            thresholds = read_thresholds(registry.folder)
            stack.enter_context(Monitor(registry, folder, shared, thresholds, metrics.alert))
        yield ServerState(addresses, shared, metrics, log, folder)


def lifespan(
    registry: DatasetRegistry, close: Callable[[], object]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The lifespan of an application: warm up before the first request, close after the last one."""

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        try:
            current_default_thread_limiter().total_tokens = THREADS
            await warm_up(app, registry)
            gc.collect()
            gc.freeze()  # long-lived objects are not scanned again
            yield
        finally:
            gc.unfreeze()
            close()

    return run


async def warm_up(app: ASGIApp, registry: DatasetRegistry) -> None:
    """Request the pages and tables that the first reader would wait for; errors show when a reader asks.

    An anonymous request is never charged.
    """
    urls = [("/", "")]
    for dataset_id in registry.ids():
        urls.append((f"/datasets/{dataset_id}", ""))
        with suppress(DiscreetError):
            rows = registry.open(dataset_id).dataset.variables[-1].name
            table = f"/api/datasets/{dataset_id}/table"
            urls += [(table, f"rows={rows}&format={form}") for form in ("csv", "json")]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Message) -> None:
        return None

    for path, query in urls:
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
            INTERNAL: True,
        }
        await app(scope, receive, send)
