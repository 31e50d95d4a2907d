"""Traces of OpenTelemetry, where the extra is installed and the option `traces` asks for them.

    request -> check, answer        one span each, named by the route; no address, no account, no query, no number

Where spans go is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`).
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from discreet.errors import BadOption, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_NONE: AbstractContextManager[None] = nullcontext()
#: What makes spans; None where nothing is traced.
_tracers: list[Any] = []


def start_tracing(traces: str | None, exporter: Any = None) -> None:
    """Trace from now on, if an option says so.

    Args:
        traces: `otlp`, or nothing.
        exporter: Where spans go, in tests; by default to the collector that the environment names.

    Raises:
        BadOption: Another word.
        MissingExtra: The libraries are not installed.
    """
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


def span(name: str) -> AbstractContextManager[Any]:
    """A span of one stage; nothing where nothing is traced."""
    return _plain_span(name) if _tracers else _NONE


@contextmanager
def _plain_span(name: str) -> Iterator[Any]:
    """A span that keeps nothing of an exception: its text could hold a value."""
    with _tracers[0].start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as made:
        yield made
