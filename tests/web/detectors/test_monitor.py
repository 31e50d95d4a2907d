"""The watch, from requests over HTTP to an alert, a hold and its end; in one process of several, and after a restart."""

import itertools
import json

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import people_description, people_records, with_key

from discreet.errors import BadOption
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.auth.rate_limit import RateLimitStore
from discreet.web.detectors import monitor
from discreet.web.detectors.patterns import DETECTORS
from discreet.web.lifespan import open_state
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server that logs, with low thresholds; and the key of a custodian and of an analyst."""
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN", 3600.0)  # tests say when it looks
    folder = tmp_path / "w"
    load_dataset(folder, people_description(), people_records())
    accounts = open_accounts(folder)
    keys = {role: accounts.create(role, role) for role in ("analyst", "custodian")}
    registry, options = open_registry(folder), read_options(folder)
    with open_state(registry, options) as state:
        yield TestClient(create_app(registry, options, state)), state, keys, registry


#: Filters on two origins each, all different.
ADDRESSES = [
    f"/api/datasets/people/table?rows=sex&format=csv&filter=origin%3D{a},{b}"
    for a, b in itertools.combinations("1234", 2)
]


def thresholds(*recodes):
    return monitor.Thresholds(of={**monitor.Thresholds().of, "recodes": recodes})


def watched(state, registry, thresholds):
    found = []
    watch = monitor.Monitor(
        registry, state.folder, state.shared, thresholds, lambda *alert: found.append(alert)
    )
    return watch, found


@pytest.mark.slow
def test_many_recodes_raise_an_alert_and_then_a_stop_for_that_account_alone(served):
    client, state, keys, registry = served
    analyst = with_key(keys["analyst"])
    watch, found = watched(state, registry, thresholds(3, 0, 5))
    for addresses, actions in ((ADDRESSES[:4], ["alert"]), (ADDRESSES[4:], ["alert", "stop"])):
        assert {client.get(address, headers=analyst).status_code for address in addresses} == {200}
        state.log.flush()
        watch.round()
        assert found == [("recodes", action) for action in actions]
    assert client.get("/", headers=analyst).status_code == 403
    assert client.get("/").status_code == 200
    page = client.get("/custodian/alerts", headers=with_key(keys["custodian"]))
    assert page.status_code == 200
    assert "account:analyst" in page.text
    alert = monitor.read_alerts(state.folder)[0]
    assert (alert.who, alert.action) == ("account:analyst", "stop")
    assert (alert.dataset, alert.variable) == ("people", "origin")
    again, later = watched(state, registry, thresholds(3, 0, 5))
    watch._lock.release()
    again.round()
    assert later == [], "a restart tells nothing twice"
    again._lock.release()
    assert RateLimitStore(state.folder / "shared.sqlite").release("account:analyst")
    state.shared._holds = (-1.0, {})
    assert client.get("/", headers=analyst).status_code == 200


def test_one_process_watches(served):
    _, state, _, registry = served
    one, other = (watched(state, registry, monitor.Thresholds())[0] for _ in range(2))
    one.round()
    other.round()
    assert (one._lock is None, other._lock is None) == (False, True)
    one._lock.release()


def test_a_log_tells_the_questions_in_canonical_form_and_no_name_that_somebody_gave(served):
    client, state, _, _ = served
    asked = "rows=sex&filter=age%3D65%2B,15-64&group=sex%3DSECRETNAME:1%2B2"
    client.get(f"/api/datasets/people/table?format=csv&{asked}")
    state.log.flush()
    lines = monitor.read_request_lines(state.folder / "log")
    assert len(lines) == 1
    assert "SECRETNAME" not in json.dumps(lines)
    assert lines[0]["asked"][0]["dataset"] == "people"


def test_a_line_is_known_again_by_who_asked_what_and_nothing_else():
    """The wrong alternative: to know a question again whoever asks it, or to read every line of thousands a second."""
    line = '{"seq": %d, "at": "2026-01-01T00:00:0%d.000+00:00", "who": "%s", "asked": [{"request": "%s"}], "status": %d}\n'
    first, again, *others = (
        monitor._question((line % each).encode())
        for each in (
            (1, 1, "ann", "rows=sex", 200),
            (2, 5, "ann", "rows=sex", 304),
            (3, 5, "bob", "rows=sex", 200),
            (4, 5, "ann", "rows=age", 200),
        )
    )
    assert first == again
    assert len({first, *others}) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("room", "seen"), [(16_000, ["recodes"]), (0, [])])
def test_long_requests_are_compared_as_short_ones_are(served, monkeypatch, room, seen):
    """Wrong alternative: a log without room for them, so that an attack need only write more."""
    monkeypatch.setattr("discreet.web.audit.log.LONGEST", 20)
    monkeypatch.setattr("discreet.web.audit.log.MOST_PACKED", room)
    client, state, _, registry = served
    for address in ADDRESSES[:4]:
        assert client.get(address).status_code == 200
    state.log.flush()
    finder = monitor.AlertFinder(registry, thresholds(3, 0, 0))
    lines = monitor.read_request_lines(state.folder / "log")
    assert all("sha256" in item for line in lines for item in line["asked"])
    assert [alert.detector for line in lines for alert in finder.find(line)] == seen


def test_a_request_that_was_cut_and_lines_of_nobody_and_of_datasets_that_are_gone_are_passed_over(served):
    """What is left of a cut request may read as another question."""
    finder = monitor.AlertFinder(served[3], thresholds(1, 0, 0))
    item = {"dataset": "people", "request": "rows=sex&filter=origin%3D1,2"}
    line = {"at": "2026-11-18T02:00:00.000+00:00", "from": "a", "status": 200}
    for wrong in (
        {**item, "sha256": "0" * 64},
        {"dataset": "gone", "request": "rows=sex"},
        {"dataset": "people", "request": "rows=gone"},
    ):
        assert not list(finder.find({**line, "asked": [wrong], "decision": "answered"}))
    assert not list(finder.find({"at": line["at"]}))
    assert [alert.detector for alert in finder.find({**line, "asked": [item]})] == ["recodes"]


def test_what_is_declared_holds_and_the_rest_is_todays(tmp_path):
    (tmp_path / "workspace.toml").write_text("port = 9000\n[watch]\nhours = 2\nareas = [3, 0, 9]\n")
    found = monitor.read_thresholds(tmp_path)
    assert (found.hours, found.hold_minutes) == (2, 60)
    assert [found.action("areas", score) for score in (2, 3, 8, 9)] == [
        "",
        "alert",
        "alert",
        monitor.ACTIONS[-1],
    ]
    assert found.of["recodes"] == DETECTORS[0].thresholds
    assert all(each.thresholds[2] == 0 for each in DETECTORS), "nobody is stopped unless the office says so"


@pytest.mark.parametrize(
    "lines",
    ["[watch]\nhour = 2", "[watch]\nhours = 0", '[watch]\nhours = "two"', "[watch]\nareas = [1, 2]",
     "[watch]\nareas = [1, -2, 3]", "[watch]\nareas = [true, 1, 2]", "[watch]\nareas = [1, 2, 2001]", "watch = 3"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(tmp_path, lines):
    (tmp_path / "workspace.toml").write_text(f"{lines}\n")
    with pytest.raises(BadOption, match="watch"):
        monitor.read_thresholds(tmp_path)


def test_alerts_come_back(tmp_path):
    assert monitor.read_alerts(tmp_path) == []
    told = ("recodes", "alert", 1, "town", "age", ("town?rows=age",))
    made = [monitor.Alert("2026-01-01T00:00:00+00:00", f"account:{n}", *told) for n in range(3)]
    for alert in made:
        monitor.add_alert(tmp_path, alert)
    with (tmp_path / monitor.FILE).open("a") as file:
        file.write('{"at": "torn')
    assert monitor.read_alerts(tmp_path) == made[::-1]
    assert monitor.read_alerts(tmp_path, 1) == made[2:]
