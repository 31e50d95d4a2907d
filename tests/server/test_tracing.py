"""Traces: a span for a request and its stages, and nothing in them that was asked."""

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from discreet.errors import BadOption
from discreet.server.tracing import span, start_tracing


def test_spans_have_the_route_and_nothing_that_was_asked(client):
    exporter = InMemorySpanExporter()
    start_tracing("otlp", exporter)
    try:
        client.get(
            "/api/datasets/people/table?rows=sex&filter=job%3D2&format=csv", headers={"x-told": "SECRET"}
        )
        with pytest.raises(ValueError, match="people"), span("check"):
            raise ValueError("people counted")
    finally:
        start_tracing(None)
    spans = exporter.get_finished_spans()
    names = [each.name for each in spans]
    assert names == ["check", "answer", "GET /api/datasets/{dataset_id}/table", "check"]
    assert spans[0].parent.span_id == spans[2].context.span_id
    text = "".join(each.to_json() for each in spans)
    for told in ("people", "sex", "job", "SECRET", "testclient"):
        assert told not in text, told


def test_nothing_is_traced_without_the_option():
    start_tracing(None)
    with span("check") as made:
        assert made is None
    with pytest.raises(BadOption, match="traces"):
        start_tracing("jaeger")
