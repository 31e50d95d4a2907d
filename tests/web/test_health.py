"""How the server is: `ok` or `no`, and metrics for those who may read them."""

import pytest
from starlette.testclient import TestClient

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.lifespan import ServerState


def asked(app, path, address, **headers):
    return TestClient(app, client=(address, 1)).get(path, headers=headers)


def test_health_needs_no_key_no_host_and_no_limit(client):
    for path in ("/healthz", "/readyz"):
        answer = client.get(path, headers={"host": "elsewhere.example", "authorization": "Bearer wrong"})
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
    class Log:
        failed = harm == "log"

        class rules:  # noqa: N801
            failure = "stop"

    def broken():
        raise LedgerUnusable("The ledger cannot be read.")

    if harm == "ledger":
        monkeypatch.setattr(small_workspace, "register", broken)
    app = create_app(DatasetRegistry(small_workspace), small_settings, ServerState(log=Log()))
    answer = asked(app, "/readyz", "127.0.0.1")
    assert (answer.status_code, answer.text) == (503, "no\n")
    assert asked(app, "/healthz", "127.0.0.1").status_code == 200


def test_readiness_is_checked_once_however_often_it_is_asked_for(watched, small_settings):
    """Wrong alternative: every request opens every dataset, before the rate limit and without a line of the log."""
    opened = []
    registry = DatasetRegistry(watched)
    stored = watched.stored
    watched.stored = lambda name, version="": opened.append(name) or stored(name, version)
    client = TestClient(create_app(registry, small_settings))
    assert {client.get("/readyz").text for _ in range(50)} == {"ok\n"}
    assert 0 < len(opened) < 10


def test_one_damaged_dataset_does_not_make_the_server_unready(watched, small_settings):
    stored = watched.stored

    def damaged(name, version=""):
        if name == "hostile":
            raise WorkspaceUnusable("It is damaged.", "Load it again.")
        return stored(name, version)

    watched.stored = damaged
    assert asked(create_app(DatasetRegistry(watched), small_settings), "/readyz", "127.0.0.1").text == "ok\n"
