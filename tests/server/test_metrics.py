"""Metrics: all processes together, and no name of a dataset, an account or an address."""

import multiprocessing

from discreet.server.metrics import Metrics, forget_metrics

FORK = multiprocessing.get_context("fork")
LINE = {
    "route": "/api/datasets",
    "method": "GET",
    "status": 200,
    "decision": "answered",
    "seconds": 0.01,
    "lost": 0,
}


def _count(folder):
    metrics = Metrics(folder)
    for _ in range(10):
        metrics.observe(LINE)


def total(metrics):
    lines = metrics.text().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2]) for line in lines if line.startswith("discreet_requests_total{")
    )


def test_processes_are_counted_together(tmp_path):
    """To show the one process that was asked is the wrong alternative."""
    made = [FORK.Process(target=_count, args=(tmp_path / "m",)) for _ in range(3)]
    for process in made:
        process.start()
    for process in made:
        process.join()
    here = Metrics(tmp_path / "m")
    assert total(here) == 30
    forget_metrics(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_labels_are_routes_codes_and_words_of_ours():
    metrics = Metrics()
    metrics.observe({**LINE, "code": "too-sparse", "who": "ANNA", "from": "203.0.113.7"})
    metrics.observe({name: value for name, value in LINE.items() if name != "route"})
    metrics.alert("recodes", "slow")
    text = metrics.text().decode()
    assert 'code="too-sparse"' in text
    assert 'discreet_alerts_total{action="slow",detector="recodes"} 1.0' in text
    for told in ("ANNA", "203.0.113.7"):
        assert told not in text


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
