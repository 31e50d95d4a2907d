"""How the server is: `ok` or `no`, and metrics for those who may read them."""

import json
import logging
import shutil
import threading
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web import health
from discreet.web.app import create_app
from discreet.web.health import IntegrityCheck
from discreet.web.lifespan import ServerState
from discreet.workspace.options import read_options

from .conftest import client_of, with_key


def asked(app, path, address, **headers):
    return TestClient(app, client=(address, 1)).get(path, headers=headers)


def test_health_needs_no_key_no_host_and_no_limit(client):
    for path in ("/healthz", "/readyz"):
        answer = client.get(path, headers={"host": "elsewhere.example"} | with_key("wrong"))
        assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, "ok\n", "no-store")


def test_metrics_are_not_there_for_others_nor_through_a_proxy(client):
    """To show them behind a proxy on the same machine is the wrong alternative: then everybody is the machine itself."""
    assert "discreet_requests_total" in asked(client.app, "/metrics", "127.0.0.1").text
    for address, headers in (
        ("203.0.113.7", {}),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.7"}),
        ("127.0.0.1", {"forwarded": "for=203.0.113.7"}),
    ):
        assert asked(client.app, "/metrics", address, **headers).status_code == 404


@pytest.mark.parametrize("harm", ["ledger", "log"])
def test_what_cannot_answer_is_not_ready_and_says_no_more(small_workspace, small_settings, monkeypatch, harm):
    log = SimpleNamespace(failed=harm == "log", rules=SimpleNamespace(failure="stop"))

    def broken():
        raise LedgerUnusable("The ledger cannot be read.")

    if harm == "ledger":
        monkeypatch.setattr(small_workspace, "register", broken)
    app = create_app(DatasetRegistry(small_workspace), small_settings, ServerState(log=log))
    answer = asked(app, "/readyz", "127.0.0.1")
    assert (answer.status_code, answer.text) == (503, "no\n")
    assert asked(app, "/healthz", "127.0.0.1").status_code == 200


def test_readiness_is_checked_once_however_often_it_is_asked_for_and_one_dataset_is_enough(watched):
    """Wrong alternative: every request opens every dataset, before the rate limit and without a line of the log."""
    opened, stored = [], watched.stored

    def half_damaged(name, version=""):
        opened.append(name)
        if name == "hostile":
            raise WorkspaceUnusable("It is damaged.", "Load it again.")
        return stored(name, version)

    watched.stored = half_damaged
    client = client_of(watched)
    assert {client.get("/readyz").text for _ in range(50)} == {"ok\n"}
    assert 0 < len(opened) < 10


ASKED = "/api/datasets/town/table?rows=sex&columns=age"


@pytest.fixture
def registry(town_workspace, tmp_path):
    registry = open_registry(shutil.copytree(town_workspace.folder, tmp_path / "w"), threads=1)
    yield registry
    registry.close()


def change_a_byte(folder):
    (path,) = folder.glob("datasets/town/*/data.duckdb")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def test_a_mismatch_stops_that_dataset_and_the_log_says_why(registry, caplog):
    IntegrityCheck(registry).round()
    assert not caplog.records, "a sound workspace is served on"
    client = TestClient(create_app(registry, read_options(registry.folder)), raise_server_exceptions=False)
    assert client.get(ASKED).status_code == 200
    change_a_byte(registry.folder)
    assert client.get(ASKED).status_code == 200, "an open version does not see it by itself"
    with caplog.at_level(logging.ERROR):
        IntegrityCheck(registry).round()
    assert "town is not served" in caplog.text
    assert "have changed since their load" in caplog.text
    answer = client.get(ASKED)
    assert answer.status_code == 503
    assert "records" not in answer.json()["detail"]


def test_it_goes_round_after_round_until_it_is_stopped(registry, monkeypatch):
    rounds = threading.Semaphore(0)
    monkeypatch.setattr(IntegrityCheck, "round", lambda _self: rounds.release())
    before = threading.active_count()
    with IntegrityCheck(registry, between_rounds=0.001):
        for _ in range(3):
            assert rounds.acquire(timeout=20)
    assert threading.active_count() == before


def test_a_stop_ends_a_round_that_is_under_way(registry, monkeypatch):
    """A record file of a gigabyte would take twenty seconds; nobody waits for it."""
    monkeypatch.setattr(health, "BYTES_A_SECOND", 1)
    with IntegrityCheck(registry):
        pass


def test_it_reads_no_faster_than_it_says(registry, monkeypatch):
    waited = []
    watch = IntegrityCheck(registry)
    monkeypatch.setattr(watch._stopping, "wait", waited.append)
    watch.round()
    (seal,) = registry.folder.glob("datasets/town/*/records.seal")
    sealed = sum((seal.parent / name).stat().st_size for name in json.loads(seal.read_text()))
    assert sum(waited) == pytest.approx(sealed / health.BYTES_A_SECOND)
