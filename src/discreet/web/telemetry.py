"""Metrics for Prometheus and traces for OpenTelemetry, without datasets, accounts, addresses and queries.

    discreet_requests_total{route, method, status, decision}      discreet_request_seconds{route}
    discreet_refusals_total{code}      discreet_alerts_total{detector, action}      discreet_log_lost_total

All workers write into one folder, and the worker that answers `/metrics` reads all of it. Labels are route templates and
error codes, which are the same on every server. Latencies are counted in the wide buckets of `SECONDS`.

With the option `traces` and the extra `otel` there are spans `request`, `check` and `answer`, named by the route. Their
destination is configured by OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from discreet.errors import BadOption, MissingExtra

SECONDS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
#: The variable in which prometheus-client looks for the folder of several processes.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
MEDIA_TYPE = "text/plain; version=1.0.0; charset=utf-8"
OTHER = "other"
#: Bytes of a metrics file; all routes and errors need a tenth.
MAPPED = 2**20


class Metrics:
    """The metrics of a server, in a folder of all processes; without one of this process only."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for kind in ("counter", "histogram"):
                path = folder / f"{kind}_{os.getpid()}.db"
                if (
                    not path.exists()
                ):  # the library's is sparse: on a full disk the system kills who writes into it
                    path.write_bytes(bytes(MAPPED))
            os.environ[FOLDER] = str(folder)
        # The library decides at import, before the folder is known.
        values.ValueClass = values.MutexValue if folder is None else values.MultiProcessValue()  # type: ignore[no-untyped-call]
        self._folder = folder
        self._registry = CollectorRegistry()
        made: dict[str, Any] = {"registry": self._registry, "namespace": "discreet"}
        labels = ["route", "method", "status", "decision"]
        self._requests = Counter("requests", "Requests by route and outcome.", labels, **made)
        self._seconds = Histogram(
            "request_seconds", "How long requests took.", ["route"], buckets=SECONDS, **made
        )
        self._refusals = Counter("refusals", "Requests that were refused, by code.", ["code"], **made)
        self._alerts = Counter("alerts", "What the watch of requests found.", ["detector", "action"], **made)
        self.lost = Counter("log_lost", "Lines that the log of requests lost.", **made)

    def close(self) -> None:
        """Let later metrics of this process be its own: the library has one setting for all."""
        os.environ.pop(FOLDER, None)
        values.ValueClass = values.MutexValue

    def observe(self, line: dict[str, Any]) -> None:
        """Count a request, given its line of the log."""
        route = line.get("route", OTHER)
        self._requests.labels(route, line["method"], str(line["status"]), line["decision"]).inc()
        self._seconds.labels(route).observe(line["seconds"])
        if "code" in line:
            self._refusals.labels(line["code"]).inc()

    def alert(self, detector: str, action: str) -> None:
        """Count an alert."""
        self._alerts.labels(detector, action).inc()

    def text(self) -> bytes:
        """The metrics of all processes in the format of Prometheus."""
        if self._folder is None:
            return generate_latest(self._registry)
        every = CollectorRegistry()
        MultiProcessCollector(every, path=str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(every)


def clear_metrics(folder: Path) -> None:
    """Delete the metrics of an earlier server; called before workers start."""
    shutil.rmtree(folder, ignore_errors=True)


#: The tracer, if traces are on.
_tracers: list[Any] = []


def start_tracing(traces: str | None, exporter: Any = None) -> None:
    """Start tracing, if the option is `otlp`; tests give an exporter of their own."""
    _tracers.clear()
    if not traces:
        return
    if traces != "otlp":
        raise BadOption(f"The option traces is {traces!r}.", "Give otlp, or leave it out.")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(
            "Traces need OpenTelemetry.", 'Install it: pip install "discreet[otel]".'
        ) from None
    provider = TracerProvider()
    provider.add_span_processor(
        SimpleSpanProcessor(exporter) if exporter is not None else BatchSpanProcessor(OTLPSpanExporter())
    )
    _tracers.append(provider.get_tracer("discreet"))


@contextmanager
def span(name: str) -> Iterator[Any]:
    """A span; None if traces are off. It records no exception: its text could hold a value."""
    options = {"record_exception": False, "set_status_on_exception": False}
    with _tracers[0].start_as_current_span(name, **options) if _tracers else nullcontext() as made:
        yield made
