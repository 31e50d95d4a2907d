"""What a server does at once stays within its budget; small answers never wait; accounts find room where others do not."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from discreet.errors import Busy
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web import admission as in_flight
from discreet.web.admission import SMALL, Capacity, Reservation
from discreet.web.app import create_app


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(in_flight, "SECONDS_TO_WAIT", 0.01)


def test_cells_are_held_until_the_answer_has_left_and_small_work_never_waits():
    budget = Capacity(300_000)
    first, second, small = (Reservation(budget, known=False) for _ in range(3))
    first.take(150_000)
    first.made()
    with pytest.raises(Busy) as refused:
        second.take(150_000)  # two thirds are for anybody
    assert refused.value.retry_after > 0
    small.take(SMALL)
    first.end()
    second.take(150_000)
    second.end()
    assert (budget.cells, budget.making, budget.waiting) == (0, 0, 0)


def test_accounts_have_room_where_anybody_has_none():
    budget = Capacity(300_000)
    Reservation(budget, known=False).take(180_000)
    with pytest.raises(Busy):
        Reservation(budget, known=False).take(100_000)
    Reservation(budget, known=True).take(100_000)


def test_an_answer_larger_than_the_budget_is_made_alone():
    budget = Capacity(100_000)
    alone = Reservation(budget, known=False)
    alone.take(5_000_000)
    with pytest.raises(Busy):
        Reservation(budget, known=True).take(SMALL + 1)
    alone.end()
    Reservation(budget, known=True).take(SMALL + 1)


@pytest.mark.parametrize(
    ("processes", "anybody", "cells"), [(1, 2, 600_000), (2, 1, 300_000), (9, 1, 66_666)]
)
def test_processes_share_places_and_cells(monkeypatch, processes, anybody, cells):
    """Each has one place for anybody at least, and one more for readers with a key."""
    monkeypatch.setattr(in_flight, "SECONDS_TO_WAIT", 0.01)
    budget = Capacity(600_000, processes)
    for known in [False] * anybody + [True]:
        Reservation(budget, known=known).take(SMALL + 1)
    for known in (False, True):
        with pytest.raises(Busy):
            Reservation(budget, known=known).take(SMALL + 1)
    alone = Capacity(600_000, processes)
    first = Reservation(alone, known=True)
    first.take(cells - SMALL)
    first.made()
    with pytest.raises(Busy):
        Reservation(alone, known=True).take(SMALL + 1)


def test_the_queue_is_bounded_and_moves_on(monkeypatch):
    """Many wait at most; the others are refused at once. A place that is given back goes to one who waits."""
    monkeypatch.setattr(in_flight, "SECONDS_TO_WAIT", 30)
    budget = Capacity(10**9)
    making = [Reservation(budget, known=False) for _ in range(in_flight.PLACES_FOR_ANYBODY)]
    for ticket in making:
        ticket.take(SMALL + 1)
    outcomes = []

    def ask():
        ticket = Reservation(budget, known=False)
        try:
            ticket.take(SMALL + 1)
            outcomes.append("made")
            ticket.end()
        except Busy:
            outcomes.append("busy")

    threads = [threading.Thread(target=ask) for _ in range(in_flight.MOST_WAITING + 6)]
    for thread in threads:
        thread.start()
    while len(outcomes) < 6:
        threading.Event().wait(0.001)
    assert outcomes == ["busy"] * 6
    for ticket in making:
        ticket.end()
    for thread in threads:
        thread.join()
    assert outcomes.count("made") == in_flight.MOST_WAITING


def test_a_full_server_says_so_before_it_counts_and_goes_on_with_small_tables(
    watched, small_settings, monkeypatch
):
    """A large table gets 503 with Retry-After, by its shape, and no engine call; a small one is answered meanwhile."""
    monkeypatch.setattr(in_flight, "SMALL", 20)
    app = create_app(DatasetRegistry(watched), replace(small_settings, cells_in_flight=10_000))
    client = TestClient(app)
    layer = _layer(app)
    holder = Reservation(layer._budget, known=True)
    holder.take(10_000)
    refused = client.get("/api/datasets/people/table?rows=district&columns=age")
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert int(refused.headers["retry-after"]) > 0
    assert watched.engines["people"].calls == 0
    assert client.get("/api/datasets/people/table?rows=sex").status_code == 200
    holder.end()
    assert client.get("/api/datasets/people/table?rows=district&columns=age").status_code == 200
    assert (layer._budget.cells, layer._budget.making) == (0, 0)


def _layer(app):
    """The layer with the budget, behind the others."""
    found = app.middleware_stack or app.build_middleware_stack()
    app.middleware_stack = found
    while not isinstance(found, in_flight.AdmissionMiddleware):
        found = found.app
    return found


def test_the_cells_of_a_request_do_not_stand_in_its_own_way():
    """A large table whose limits are asked for takes cells twice; alone it has room."""
    budget = Capacity(100_000)
    alone = Reservation(budget, known=False)
    alone.take(90_000)
    alone.take(270_000)
    with pytest.raises(Busy):
        Reservation(budget, known=True).take(SMALL + 1)
    alone.end()
    assert budget.cells == 0


def test_a_fitted_table_needs_a_place_however_small_it_is(monkeypatch):
    """A small one may take seconds."""
    taken = []
    monkeypatch.setattr(in_flight, "reserve_cells", taken.append)
    question = type("Question", (), {"cells": 12, "additivity": "fitted"})
    in_flight.admit_question(question)
    question.additivity = "independent"
    in_flight.admit_question(question)
    assert taken[0] > SMALL
    assert taken[1] == 12
