"""What stands in a line, and what does not: no key, no name, no raw word, and of the records only the hash of what left."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import people_description, people_records, with_key

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.audit.chain import verify_log
from discreet.web.audit.middleware import decision
from discreet.web.lifespan import open_state
from discreet.workspace.folder_layout import log_key
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

CANARY = "CANARYxyzzy"
#: What may depend on what left, on the clock or on the version.
OF_THE_ANSWER = {"line", "at", "ms", "answer", "bytes", "mac", "version", "seq"}


def loaded(folder, records=None):
    load_dataset(folder, people_description(), people_records() if records is None else records)
    return folder


def asked(folder, requests, **options):
    """The lines and metrics of some requests: (path, headers)."""
    registry, chosen = open_registry(folder), replace(read_options(folder), **options)
    shutil.rmtree(folder / "server", ignore_errors=True)
    with open_state(registry, chosen) as state:
        client = TestClient(create_app(registry, chosen, state), client=("203.0.113.77", 1))
        answers = [client.request(method, path, headers=headers) for method, path, headers in requests]
        metrics = state.metrics.text().decode()
    files = sorted((state.folder / "log").glob("*.jsonl"))
    text = "".join(path.read_text() for path in files)
    assert all(not found.faults for found in verify_log(state.folder / "log", log_key(folder)))
    lines = [json.loads(line) for line in text.splitlines()]
    return answers, [line for line in lines if "method" in line], text, metrics


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return loaded(tmp_path_factory.mktemp("audit") / "w")


TABLE = "/api/datasets/people/table?rows=sex&columns=age&format=csv"


def test_a_line_tells_who_what_and_what_became_of_it(folder):
    key = open_accounts(folder).create("ann", "analyst")
    api = "/api/datasets/people/table"
    answers, lines, _, _ = asked(
        folder,
        [
            ("GET", TABLE, with_key(key) | {"accept-encoding": "identity"}),
            ("GET", TABLE, {}),
            ("GET", f"{api}?rows=district&columns=origin&layers=job,age,sex&format=csv", {}),
            ("GET", f"{api}?rows=nothing", {}),
            ("GET", TABLE, with_key("dk_wrong")),
            ("HEAD", TABLE, {}),
            ("GET", TABLE + "&dry_run=1", {}),
            ("GET", "/static/discreet.css", {}),
        ],
    )

    def told(line, *names):
        return tuple(line.get(name) for name in names)

    first, again, refused, unreadable, wrong, head, dry = lines
    assert told(first, "who", "role", "decision") == ("ann", "analyst", "answered")
    assert first["route"] == "/api/datasets/{dataset_id}/table"
    assert first["asked"][0]["request"] == "rows=sex&columns=age"
    assert first["cells"] == first["asked"][0]["cells"] == 12
    assert first["answer"] == hashlib.sha256(answers[0].content).hexdigest()
    assert again.get("encoding", "") == answers[1].headers.get("content-encoding", "")
    assert "who" not in again
    assert told(refused, "decision", "status", "code") == ("refused", 403, refused["asked"][0]["refused"])
    assert told(unreadable, "decision", "code", "asked") == ("refused", "unknown-variable", None)
    assert told(wrong, "decision", "code", "asked") == ("refused", "bad-key", None)
    assert told(head, "method", "answer") == ("HEAD", None)
    assert dry["asked"][0]["dry"]


def test_nothing_that_was_sent_reaches_the_log_or_the_metrics(folder):
    """Canaries in every place where a reader can write; the address is hashed."""
    key = open_accounts(folder).create("carla", "reader")
    requests = [
        ("GET", f"/{CANARY}", {}),
        ("GET", f"/api/datasets/{CANARY}/table?rows=sex", {}),
        ("GET", f"/api/datasets/people/table?rows={CANARY}", {}),
        ("GET", f"/api/datasets/people/table?{CANARY}=1", {}),
        ("GET", f"/?search={CANARY}", {}),
        ("GET", TABLE, {"user-agent": CANARY, "cookie": CANARY, "referer": f"http://{CANARY}.example"}),
        ("GET", TABLE, {"authorization": f"Bearer dk_{CANARY}"}),
        ("GET", TABLE, {"authorization": f"Bearer {CANARY}"}),
        ("GET", TABLE, {"authorization": f"Basic {CANARY}"}),
        ("GET", TABLE, with_key(key)),
        (CANARY.upper(), TABLE, {}),
        ("GET", f"/api/datasets/people/table?rows=job&group=job%3D{CANARY}:1%2B2&format=csv", {}),
    ]
    _, lines, text, metrics = asked(folder, requests)
    assert len(lines) == len(requests)
    secret = (folder / "secret").read_bytes()
    for told in (CANARY, CANARY.upper(), key, key[3:], "203.0.113.77", secret.hex(), log_key(folder).hex()):
        assert told not in metrics
        assert told not in text, told


@pytest.mark.slow
def test_of_the_records_only_what_left_is_in_the_log(tmp_path):
    """Two workspaces that differ by one person: every other word of their logs is the same, and so are the metrics."""
    records, api = people_records(), "/api/datasets/people/table"
    starts = (f"{api}?", "/datasets/people?")
    tails = [f"{start}rows={rows}" for rows in ("sex", "age", "district", "job") for start in starts]
    tails.append(f"{api}?rows=sex&columns=job&filter=district%3DD01&dry_run=1")
    paths = [("GET", tail, {}) for tail in tails]
    seen = []
    for name, some in (("one", records), ("other", records.iloc[:-1])):
        folder = loaded(tmp_path / name, some)
        _, lines, _, metrics = asked(folder, paths)
        for line in lines:
            line.pop("from")  # hashed with the secret of its workspace
            for item in line.get("asked", ()):
                item.pop("version")
        counted = [each for each in metrics.splitlines() if each.startswith("discreet_requests_total")]
        seen.append(([{k: v for k, v in line.items() if k not in OF_THE_ANSWER} for line in lines], counted))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == len(paths)


@pytest.mark.parametrize(("failure", "status"), [("go-on", 200), ("stop", 503)])
def test_a_log_that_cannot_be_written_stops_answers_only_where_that_is_declared(folder, failure, status):
    registry, options = open_registry(folder), replace(read_options(folder), log_failure=failure)
    with open_state(registry, options) as state:
        client = TestClient(create_app(registry, options, state))
        state.log.failed = True
        state.log.flush = lambda: None
        refused = client.get(TABLE)
        assert refused.status_code == status
        assert "log" not in refused.text.replace("server's log", "") or status == 200


def test_decisions_have_one_word_each():
    assert decision(0, "") == "failed"
    assert decision(503, "workspace-unusable") == "failed"
    assert decision(403, "stopped") == "limited"
