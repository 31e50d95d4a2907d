"""While a server serves, all stored records are compared with their seals; what fails is not served any more."""

import json
import logging
import shutil
import threading

import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import open_registry
from discreet.web import integrity_check as record_watch
from discreet.web.app import create_app
from discreet.web.integrity_check import IntegrityCheck
from discreet.workspace.options import read_options

ASKED = "/api/datasets/town/table?rows=sex&columns=age"


@pytest.fixture
def folder(town_workspace, tmp_path):
    return shutil.copytree(town_workspace.folder, tmp_path / "w")


@pytest.fixture
def doors(folder):
    doors = open_registry(folder, threads=1)
    yield doors
    doors.close()


def change_a_byte(folder):
    (path,) = folder.glob("datasets/town/*/data.duckdb")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def test_a_mismatch_stops_that_dataset_and_the_log_says_why(folder, doors, caplog):
    client = TestClient(create_app(doors, read_options(folder)), raise_server_exceptions=False)
    assert client.get(ASKED).status_code == 200
    change_a_byte(folder)
    assert client.get(ASKED).status_code == 200, "an open version does not see it by itself"
    with caplog.at_level(logging.ERROR):
        IntegrityCheck(doors).round()
    assert "town is not served" in caplog.text
    assert "are not those of its load" in caplog.text
    answer = client.get(ASKED)
    assert answer.status_code == 503
    assert "records" not in answer.json()["detail"]


def test_a_sound_workspace_is_served_on(folder, doors, caplog):
    IntegrityCheck(doors).round()
    assert not caplog.records
    assert doors.door("town").dataset.id == "town"


def test_it_goes_round_after_round_until_it_is_stopped(doors, monkeypatch):
    rounds = threading.Semaphore(0)
    monkeypatch.setattr(IntegrityCheck, "round", lambda _self: rounds.release())
    before = threading.active_count()
    with IntegrityCheck(doors, between_rounds=0.001):
        for _ in range(3):
            assert rounds.acquire(timeout=20)
    assert threading.active_count() == before


def test_a_stop_ends_a_round_that_is_under_way(doors, monkeypatch):
    """A record file of a gigabyte would take twenty seconds; nobody waits for it."""
    monkeypatch.setattr(record_watch, "BYTES_A_SECOND", 1)
    with IntegrityCheck(doors):
        pass


def test_it_reads_no_faster_than_it_says(doors, monkeypatch):
    waited = []
    watch = IntegrityCheck(doors)
    monkeypatch.setattr(watch._stopping, "wait", waited.append)
    watch.round()
    (seal,) = doors.folder.glob("datasets/town/*/records.seal")
    sealed = sum((seal.parent / name).stat().st_size for name in json.loads(seal.read_text()))
    assert sum(waited) == pytest.approx(sealed / record_watch.BYTES_A_SECOND)
