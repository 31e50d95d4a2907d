"""How the server is: for whatever starts it, sends readers to it, and draws its curves.

    GET /healthz    200 while the process answers
    GET /readyz     200 while it can answer tables: a dataset can be opened, the ledger read, the log written; else 503
    GET /metrics    metrics, for the addresses of `metrics_addresses`; for everybody else it is not there

They say `ok` or `no` and nothing about datasets. They stand before all other layers: no limit, no key and no host is
looked at. An address that a proxy tells counts for nothing here: behind a proxy on the same machine nobody gets metrics.
"""

from __future__ import annotations

import asyncio
import logging

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.audit.log import AuditLog
from discreet.web.auth.proxies import in_networks, parse_networks
from discreet.web.telemetry import MEDIA_TYPE, Metrics

log = logging.getLogger("discreet.server")


class HealthMiddleware:
    """Answers the three addresses.

    Args:
        app: What answers all others.
        doors: Of the workspace.
        request_log: The log of requests, if there is one.
        metrics: What is counted.
        metrics_addresses: Who may read it.
    """

    def __init__(
        self,
        app: ASGIApp,
        doors: DatasetRegistry,
        request_log: AuditLog | None,
        metrics: Metrics,
        metrics_addresses: str | None,
    ) -> None:
        self.app = app
        self._doors, self._log, self._metrics = doors, request_log, metrics
        self._readers = parse_networks(metrics_addresses, "metrics_addresses")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        path = scope["path"] if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} else ""
        if path == "/healthz":
            response = _said("ok")
        elif path == "/readyz":
            ready = await asyncio.to_thread(self._is_ready)
            response = _said("ok") if ready else _said("no", 503)
        elif path == "/metrics" and self._may_read(scope):
            response = Response(await asyncio.to_thread(self._metrics.text), media_type=MEDIA_TYPE)
        else:
            await self.app(scope, receive, send)
            return
        response.headers["cache-control"] = "no-store"
        await response(scope, receive, send)

    def _may_read(self, scope: Scope) -> bool:
        """Whether a connection comes from an allowed address, without a proxy between."""
        peer = str(scope["client"][0]) if scope.get("client") else ""
        forwarded = any(name in {b"x-forwarded-for", b"forwarded"} for name, _ in scope["headers"])
        return not forwarded and in_networks(peer, self._readers)

    def _is_ready(self) -> bool:
        try:
            found = open_datasets(self._doors)
            self._doors.register()
        except DiscreetError as error:
            log.warning("Not ready: %s", error)
            return False
        stopped = self._log is not None and self._log.failed and self._log.rules.failure == "stop"
        return bool(found) and not stopped


def _said(word: str, status: int = 200) -> Response:
    return Response(f"{word}\n", status, media_type="text/plain; charset=utf-8")
