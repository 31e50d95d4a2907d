"""Health checks and metrics, for service managers, load balancers and Prometheus; the integrity check of stored records.

    GET /healthz    200 while the process answers
    GET /readyz     200 while it can answer tables: a dataset opens, the ledger can be read, the log written; otherwise 503
    GET /metrics    metrics, for the addresses of `metrics_addresses`; for all others 404

They reveal nothing about datasets, need no key and no host, and pass no rate limit: readiness is checked at most once in
`SECONDS_BETWEEN` seconds. Forwarded addresses do not count here: behind a proxy on the same machine there are no metrics.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from typing import Self

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.auth.identity import in_networks, parse_networks
from discreet.web.context import HttpMiddleware
from discreet.web.lifespan import ServerState
from discreet.web.telemetry import MEDIA_TYPE

#: How long the result of a readiness check is used.
SECONDS_BETWEEN = 2.0
log = logging.getLogger("discreet.server")


class HealthMiddleware(HttpMiddleware):
    """Answers the three URLs."""

    def __init__(
        self, app: ASGIApp, registry: DatasetRegistry, state: ServerState, metrics_addresses: str | None
    ) -> None:
        super().__init__(app)
        self._registry, self._state = registry, state
        self._readers = parse_networks(metrics_addresses, "metrics_addresses")
        self._checking = asyncio.Lock()
        self._ready, self._checked_at = False, float("-inf")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["method"] in {"GET", "HEAD"} else ""
        if path == "/healthz":
            response = _response(ok=True)
        elif path == "/readyz":
            response = _response(ok=await self._is_ready())
        elif path == "/metrics" and self._may_read_metrics(scope):
            response = Response(await asyncio.to_thread(self._state.metrics.text), media_type=MEDIA_TYPE)
        else:
            await self.app(scope, receive, send)
            return
        response.headers["cache-control"] = "no-store"
        await response(scope, receive, send)

    def _may_read_metrics(self, scope: Scope) -> bool:
        peer = str(scope["client"][0]) if scope.get("client") else ""
        forwarded = any(name in {b"x-forwarded-for", b"forwarded"} for name, _ in scope["headers"])
        return not forwarded and in_networks(peer, self._readers)

    async def _is_ready(self) -> bool:
        async with self._checking:
            if time.monotonic() - self._checked_at >= SECONDS_BETWEEN:
                self._ready = await asyncio.to_thread(self._check)
                self._checked_at = time.monotonic()
            return self._ready

    def _check(self) -> bool:
        request_log = self._state.log
        if request_log is not None and request_log.failed and request_log.rules.failure == "stop":
            return False
        try:
            self._registry.register()
        except DiscreetError as error:
            log.warning("Not ready: %s", error)
            return False
        for dataset_id in self._registry.ids():
            try:
                self._registry.open(dataset_id)
            except DiscreetError as error:
                log.warning("Not ready: %s", error)
            else:
                return True
        return False


def _response(*, ok: bool) -> Response:
    return Response("ok\n" if ok else "no\n", 200 if ok else 503, media_type="text/plain; charset=utf-8")


#: Seconds between two rounds.
BETWEEN_ROUNDS = 3600.0
BYTES_A_SECOND = 50_000_000
LOWEST_PRIORITY = 19


class IntegrityCheck:
    """A thread that verifies all datasets, round after round."""

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
        if sys.platform == "linux":  # where threads have a priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        self.round()
        while not self._stopping.wait(self._between_rounds):
            self.round()

    def _pace(self, read: int) -> None:
        if self._stopping.wait(read / BYTES_A_SECOND):
            raise _StoppedError


class _StoppedError(Exception):
    """The server stops."""
