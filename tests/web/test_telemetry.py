"""Metrics: all processes together, and no name of a dataset, an account or an address.

Traces: a span for a request and its stages, and nothing in them that was asked.
"""

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from discreet.errors import BadOption
from discreet.web.telemetry import Metrics, clear_metrics, span, start_tracing

from .conftest import in_processes


@pytest.fixture(autouse=True)
def later_tests_count_for_themselves():
    """The library has one setting for all metrics of a process."""
    yield
    Metrics().close()


LINE = {
    "route": "/api/datasets", "method": "GET", "status": 200, "decision": "answered", "seconds": 0.01, "lost": 0
}  # fmt: skip


def _count(folder):
    metrics = Metrics(folder)
    for _ in range(10):
        metrics.observe(LINE)


def test_processes_are_counted_together(tmp_path):
    """To show the one process that was asked is the wrong alternative."""
    in_processes(3, _count, tmp_path / "m")
    lines = Metrics(tmp_path / "m").text().decode().splitlines()
    counted = [line.rpartition(" ")[2] for line in lines if line.startswith("discreet_requests_total{")]
    assert sum(map(float, counted)) == 30
    clear_metrics(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_labels_are_routes_codes_and_words_of_ours():
    metrics = Metrics()
    metrics.observe({**LINE, "code": "too-sparse", "who": "ANNA", "from": "203.0.113.7"})
    metrics.alert("recodes", "slow")
    text = metrics.text().decode()
    assert 'code="too-sparse"' in text
    assert 'discreet_alerts_total{action="slow",detector="recodes"} 1.0' in text
    assert not {"ANNA", "203.0.113.7"} & set(text.replace('"', " ").split())


def test_the_files_that_are_mapped_into_memory_have_no_holes(tmp_path):
    """Wrong alternative: the library's own file. A full disk ends a process that writes into a hole of it."""
    from prometheus_client.mmap_dict import MmapedDict

    MmapedDict(str(tmp_path / "of the library")).close()
    metrics = Metrics(tmp_path / "m")
    metrics.observe({**LINE, "code": "too-sparse"})
    ours = list((tmp_path / "m").iterdir())
    assert len(ours) == 2
    assert all(path.stat().st_blocks * 512 >= path.stat().st_size > 0 for path in ours)
    theirs = (tmp_path / "of the library").stat()
    assert theirs.st_blocks * 512 < theirs.st_size


def test_spans_have_the_route_and_nothing_that_was_asked(client):
    exporter = InMemorySpanExporter()
    start_tracing("otlp", exporter)
    try:
        address = "/api/datasets/people/table?rows=sex&filter=job%3D2&format=csv"
        client.get(address, headers={"x-told": "SECRET"})
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
    with span("check") as made:
        assert made is None
    with pytest.raises(BadOption, match="traces"):
        start_tracing("jaeger")
