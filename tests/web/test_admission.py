"""Admission: cells, requests and bodies stay within bounds, small answers never wait, and accounts have a reserve."""

from __future__ import annotations

import threading

import pytest
from fastapi.testclient import TestClient
from starlette.responses import Response

from discreet.errors import Busy
from discreet.web import admission
from discreet.web.admission import (
    MAX_BODY_BYTES,
    MAX_QUERY_BYTES,
    SMALL,
    AdmissionMiddleware,
    Capacity,
    Reservation,
)

from .conftest import client_of


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(admission, "SECONDS_TO_WAIT", 0.01)


def test_cells_are_held_until_the_answer_has_left_and_small_work_never_waits():
    capacity = Capacity(300_000)
    first, second, small = (Reservation(capacity, known=False) for _ in range(3))
    first.take(150_000)
    first.computed()
    with pytest.raises(Busy) as refused:
        second.take(150_000)  # two thirds are for anybody
    assert refused.value.retry_after > 0
    small.take(SMALL)
    first.close()
    second.take(150_000)
    second.close()
    assert (capacity.cells, capacity.computing, capacity.queue) == (0, 0, 0)


def test_an_answer_larger_than_the_capacity_is_made_alone_and_does_not_stand_in_its_own_way():
    """A large table whose limits are asked for takes cells twice; alone it has room."""
    capacity = Capacity(100_000)
    alone = Reservation(capacity, known=False)
    alone.take(90_000)
    alone.take(5_000_000)
    with pytest.raises(Busy):
        Reservation(capacity, known=True).take(SMALL + 1)
    alone.close()
    assert capacity.cells == 0
    Reservation(capacity, known=True).take(SMALL + 1)


@pytest.mark.parametrize(
    ("processes", "anybody", "cells"), [(1, 2, 600_000), (2, 1, 300_000), (9, 1, 66_666)]
)
def test_processes_share_places_and_cells(processes, anybody, cells):
    """Each has one place for anybody at least, and one more for readers with a key."""

    def take(cells, capacity, *, known=True):
        reservation = Reservation(capacity, known=known)
        reservation.take(cells)
        return reservation

    capacity = Capacity(600_000, processes)
    for known in [False] * anybody + [True]:
        take(SMALL + 1, capacity, known=known)
    alone = Capacity(600_000, processes)
    take(cells - SMALL, alone).computed()
    for full, known in ((capacity, False), (capacity, True), (alone, True)):
        with pytest.raises(Busy):
            take(SMALL + 1, full, known=known)


def test_the_queue_is_bounded_and_moves_on(monkeypatch):
    """Many wait at most; the others are refused at once. A place that is given back goes to one who waits."""
    monkeypatch.setattr(admission, "SECONDS_TO_WAIT", 30)
    capacity = Capacity(10**9)
    making = [Reservation(capacity, known=False) for _ in range(admission.SLOTS)]
    for ticket in making:
        ticket.take(SMALL + 1)
    outcomes = []

    def ask():
        ticket = Reservation(capacity, known=False)
        try:
            ticket.take(SMALL + 1)
            outcomes.append("made")
            ticket.close()
        except Busy:
            outcomes.append("busy")

    threads = [threading.Thread(target=ask) for _ in range(admission.MAX_QUEUE + 6)]
    for thread in threads:
        thread.start()
    while len(outcomes) < 6:
        threading.Event().wait(0.001)
    assert outcomes == ["busy"] * 6
    for ticket in making:
        ticket.close()
    for thread in threads:
        thread.join()
    assert outcomes.count("made") == admission.MAX_QUEUE


def test_a_full_server_says_so_before_it_counts_and_goes_on_with_small_tables(watched, monkeypatch):
    """A large table gets 503 with Retry-After, by its shape, and no engine call; a small one is answered meanwhile."""
    monkeypatch.setattr(admission, "SMALL", 20)
    client = client_of(watched, cells_in_flight=10_000)
    layer = _layer(client.app)
    holder = Reservation(layer.capacity, known=True)
    holder.take(10_000)
    large = "/api/datasets/people/table?rows=district&columns=age"
    refused = client.get(large)
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert int(refused.headers["retry-after"]) > 0
    assert watched.engines["people"].calls == 0
    assert client.get("/api/datasets/people/table?rows=sex").status_code == 200
    holder.close()
    assert client.get(large).status_code == 200
    assert (layer.capacity.cells, layer.capacity.computing) == (0, 0)


def _layer(app):
    """The layer with the capacity, behind the others."""
    found = app.middleware_stack or app.build_middleware_stack()
    app.middleware_stack = found
    while not isinstance(found, admission.AdmissionMiddleware):
        found = found.app
    return found


def test_a_fitted_table_needs_a_place_however_small_it_is(monkeypatch):
    """A small one may take seconds."""
    taken = []
    monkeypatch.setattr(admission, "reserve_cells", taken.append)
    question = type("Question", (), {"cells": 12, "additivity": "fitted"})
    admission.admit_request(question)
    question.additivity = "independent"
    admission.admit_request(question)
    assert taken[0] > SMALL
    assert taken[1] == 12


def test_a_query_as_long_as_the_limit_is_read_and_one_longer_is_not(client):
    start = "rows=sex&filter=origin=1"
    longest = start + "&rows=" * ((MAX_QUERY_BYTES - len(start)) // 6)
    longest += "," * (MAX_QUERY_BYTES - len(longest))
    assert client.get(f"/api/datasets/people/table?{longest}").status_code == 200
    assert client.get(f"/api/datasets/people/table?{longest},").status_code == 414
    page = client.get(f"/datasets/people?{longest},")
    assert (page.status_code, page.headers["content-type"]) == (414, "text/html; charset=utf-8")


async def echo(scope, receive, send):
    """An application that reports the length of the body."""
    body = (await receive())["body"]
    await Response(str(len(body)))(scope, receive, send)


def test_a_body_as_long_as_the_limit_is_read_and_one_longer_is_not():
    client = TestClient(AdmissionMiddleware(echo, Capacity(1)))
    pieces = [b"x" * (MAX_BODY_BYTES // 4)] * 4
    assert client.post("/", content=iter(pieces)).text == str(MAX_BODY_BYTES)
    for longer in (b"x" * (MAX_BODY_BYTES + 1), iter([*pieces, b"x"])):
        refused = client.post("/api/x", content=longer)
        assert (refused.status_code, refused.json()["code"]) == (413, "body-too-large")


def test_bodies_together_are_bounded_and_given_back(monkeypatch):
    """Wrong alternative: each may be as long as one alone."""
    monkeypatch.setattr(admission, "MAX_BODIES_BYTES", 100)
    middleware = AdmissionMiddleware(echo, Capacity(1))
    client = TestClient(middleware)
    refused = client.post("/api/x", content=b"x" * 101)
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert int(refused.headers["retry-after"]) > 0
    for _ in range(3):
        assert client.post("/", content=b"x" * 100).text == "100"
    middleware.body_bytes += 50
    assert client.post("/api/x", content=b"x" * 60).status_code == 503
    assert middleware.body_bytes == 50
