"""The watch, from requests over HTTP to an alert, a hold and its end; in one process of several, and after a restart."""

import itertools
import json

import pytest
from starlette.testclient import TestClient
from tests.web.auth.conftest import with_key
from tests.web.conftest import people_description, people_records

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.auth.rate_limit import RateLimitStore
from discreet.web.detectors import monitor as module
from discreet.web.detectors.alerts import Thresholds, read_alerts
from discreet.web.detectors.monitor import AlertFinder, Monitor, read_request_lines
from discreet.web.lifespan import open_state
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

WATCH = "[watch]\nrecodes = [3, 0, 5]\n"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server that logs, with low thresholds; and the key of a custodian and of an analyst."""
    monkeypatch.setattr(module, "SECONDS_BETWEEN", 3600.0)  # tests say when it looks
    folder = tmp_path / "w"
    load_dataset(folder, people_description(), people_records())
    (folder / "workspace.toml").write_text(WATCH)
    accounts = open_accounts(folder)
    keys = {role: accounts.create(role, role) for role in ("analyst", "custodian")}
    doors, options = open_registry(folder), read_options(folder)
    with open_state(doors, options) as state:
        yield TestClient(create_app(doors, options, state)), state, keys, doors


def own_groups(number):
    """So many filters on two origins each, all different."""
    pairs = itertools.combinations(["1", "2", "3", "4"], 2)
    return [f"/api/datasets/people/table?rows=sex&format=csv&filter=origin%3D{a},{b}" for a, b in pairs][
        :number
    ]


def watched(state, doors, thresholds):
    found = []
    watch = Monitor(doors, state.folder, state.shared, thresholds, lambda *alert: found.append(alert))
    return watch, found


@pytest.mark.slow
def test_many_recodes_raise_an_alert_and_then_a_stop_for_that_account_alone(served):
    client, state, keys, doors = served
    thresholds = Thresholds(of={**Thresholds().of, "recodes": (3, 0, 5)})
    watch, found = watched(state, doors, thresholds)
    for address in own_groups(4):
        assert client.get(address, headers=with_key(keys["analyst"])).status_code == 200
    state.log.flush()
    watch.round()
    assert found == [("recodes", "alert")]
    for address in own_groups(6)[4:]:
        client.get(address, headers=with_key(keys["analyst"]))
    state.log.flush()
    watch.round()
    assert found[1:] == [("recodes", "stop")]
    stopped = client.get("/", headers=with_key(keys["analyst"]))
    assert stopped.status_code == 403
    assert client.get("/").status_code == 200
    page = client.get("/custodian/alerts", headers=with_key(keys["custodian"]))
    assert page.status_code == 200
    assert "account:analyst" in page.text
    alert = read_alerts(state.folder)[0]
    assert (alert.who, alert.dataset, alert.variable, alert.action) == (
        "account:analyst",
        "people",
        "origin",
        "stop",
    )
    again, later = watched(state, doors, thresholds)
    watch._lock.release()
    again.round()
    assert later == [], "a restart tells nothing twice"
    again._lock.release()
    assert RateLimitStore(state.folder / "shared.sqlite").release("account:analyst")
    state.shared._holds = (-1.0, {})
    assert client.get("/", headers=with_key(keys["analyst"])).status_code == 200


def test_one_process_watches(served):
    _, state, _, doors = served
    one, other = (watched(state, doors, Thresholds())[0] for _ in range(2))
    one.round()
    other.round()
    assert (one._lock is None, other._lock is None) == (False, True)
    one._lock.release()


def test_lines_of_datasets_that_are_gone_and_of_nobody_are_borne(served):
    *_, doors = served
    finder = AlertFinder(doors, Thresholds())
    item = {"dataset": "gone", "request": "rows=sex"}
    changed = {"dataset": "people", "request": "rows=gone"}
    line = {"at": "2026-01-01T00:00:00+00:00", "asked": [item, changed], "decision": "answered"}
    assert list(finder.find(line)) == []
    assert list(finder.find({"at": "2026-01-01T00:00:00+00:00"})) == []


def test_a_log_tells_the_questions_in_canonical_form_and_no_name_that_somebody_gave(served):
    client, state, _, _ = served
    path = (
        "/api/datasets/people/table?format=csv&rows=sex&filter=age%3D65%2B,15-64&group=sex%3DSECRETNAME:1%2B2"
    )
    client.get(path)
    state.log.flush()
    lines = read_request_lines(state.folder / "log")
    assert len(lines) == 1
    assert "SECRETNAME" not in json.dumps(lines)
    assert lines[0]["asked"][0]["dataset"] == "people"


#: Number, second, account, request and status of lines; the second is the first again.
TOLD = [
    (1, 1, "ann", "rows=sex", 200),
    (2, 5, "ann", "rows=sex", 304),
    (3, 5, "bob", "rows=sex", 200),
    (4, 5, "ann", "rows=age", 200),
]


def test_a_line_is_known_again_by_who_asked_what_and_nothing_else():
    """The wrong alternative: to know a question again whoever asks it, or to read every line of thousands a second."""
    line = '{"seq": %d, "at": "2026-01-01T00:00:0%d.000+00:00", "who": "%s", "asked": [{"request": "%s"}], "status": %d}\n'
    told = [module._question((line % each).encode()) for each in TOLD]
    assert told[0] == told[1]
    assert len(set(told)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("room", "seen"), [(16_000, ["recodes"]), (0, [])])
def test_long_requests_are_compared_as_short_ones_are(served, monkeypatch, room, seen):
    """Wrong alternative: a log without room for them, so that an attack need only write more."""
    monkeypatch.setattr("discreet.web.audit.entry.LONGEST", 20)
    monkeypatch.setattr("discreet.web.audit.entry.MOST_PACKED", room)
    client, state, _, doors = served
    for address in own_groups(4):
        assert client.get(address).status_code == 200
    state.log.flush()
    finder = AlertFinder(doors, Thresholds(of={**Thresholds().of, "recodes": (3, 0, 0)}))
    lines = read_request_lines(state.folder / "log")
    assert all("sha256" in item for line in lines for item in line["asked"])
    assert [alert.detector for line in lines for alert in finder.find(line)] == seen


def test_a_request_that_was_cut_is_passed_over(served):
    """What is left of it may read as another question."""
    _, _, _, doors = served
    finder = AlertFinder(doors, Thresholds(of={**Thresholds().of, "recodes": (1, 0, 0)}))
    item = {"dataset": "people", "request": "rows=sex&filter=origin%3D1,2"}
    line = {"at": "2026-11-18T02:00:00.000+00:00", "from": "a", "status": 200, "asked": [item]}
    assert not list(finder.find({**line, "asked": [{**item, "sha256": "0" * 64}]}))
    assert [alert.detector for alert in finder.find(line)] == ["recodes"]
