"""Headers, limits, what an exception may say, and that no exact count ever leaves."""

import logging
import re
import shutil
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.records.engine import AggregateQuery
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.admission import MAX_QUERY_BYTES
from discreet.web.app import create_app
from discreet.web.security import CONTENT_SECURITY_POLICY
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options

from .conftest import BrokenWorkspace

ADDRESSES = [
    "/",
    "/datasets/people",
    "/datasets/people?rows=nonsense",
    "/datasets/people/variables/sex",
    "/api/datasets",
    "/api/datasets/people",
    "/api/datasets/people/table?rows=sex",
    "/api/datasets/people/table?rows=sexx",
    "/openapi.json",
    "/errors",
    "/errors/refused",
    "/static/discreet.css",
    "/static/../app.py",
    "/nothing",
    "/?" + "x" * (MAX_QUERY_BYTES + 1),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_response_has_the_headers(client, address):
    headers = client.get(address).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_policy_allows_no_foreign_script_no_frame_and_no_foreign_form():
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'; script-src 'self'; connect-src 'self';")
    for rule in ("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert rule in CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize(
    "path", ["table?rows=sex", "test/independence?rows=sex&columns=age", "interval?rows=sex", "ledger"]
)
def test_a_key_where_there_is_no_ledger_is_401_with_advice(small_folder, tmp_path, path):
    """To say 503, as if the server were broken, is the wrong alternative: the reader would wait in vain."""
    folder = shutil.copytree(small_folder, tmp_path / "w")
    (folder / "ledger.sqlite").unlink()
    client = TestClient(create_app(open_registry(folder), read_options(folder)))
    refused = client.get(f"/api/datasets/people/{path}", headers={"authorization": "Bearer anything"})
    assert (refused.status_code, refused.json()["code"]) == (401, "bad-key")
    assert "without a key" in refused.json()["advice"]
    assert refused.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("address", ["/api/datasets/people/table?rows=sex", "/datasets/people"])
def test_nothing_of_an_unexpected_exception_is_told(small_settings, caplog, address):
    caplog.set_level(logging.DEBUG)
    broken = create_app(
        DatasetRegistry(BrokenWorkspace(RuntimeError("a canary sings in the exception"))), small_settings
    )
    response = TestClient(broken).get(address)
    assert response.status_code == 500
    assert "canary" not in response.text
    assert "canary" not in caplog.text
    incident = re.search(r"noted as (?:<bdi>)?([0-9a-f]{12})", response.text)[1]
    assert f"RuntimeError, incident {incident}" in caplog.text
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


def test_two_incidents_have_two_numbers(small_settings):
    client = TestClient(create_app(DatasetRegistry(BrokenWorkspace(ValueError())), small_settings))
    details = [client.get("/api/datasets/people").json() for _ in range(2)]
    assert details[0]["code"] == "internal"
    assert details[0]["detail"] != details[1]["detail"]


# A noise table that never leaves a count unchanged: every number that leaves differs from the truth by 3.
CANARY_NOISE = NoiseTable(
    2**32, (NoiseRow((0,), (2**32,)), NoiseRow((-3, 3), (2**31, 2**32))), 1, "canary", {"D": 3}
)


class CanaryWorkspace:
    """Whoever asks gets exact counts that are far apart, and noise that changes each of them."""

    def __init__(self, workspace):
        self.workspace = workspace

    def ids(self):
        return ["people"]

    def has(self, dataset_id):
        return dataset_id == "people"

    def stored(self, dataset_id, version=""):
        stored = self.workspace.stored(dataset_id)
        return replace(stored, protector=replace(stored.protector, noise=CANARY_NOISE))

    def asker(self, key):
        return None

    def mark(self, dataset_id):
        return dataset_id


def _exact(workspace, *names):
    cells = workspace.stored("people").engine.aggregate(AggregateQuery(names))
    return {int(count) for count in cells.counts}


def _numbers(text):
    """Every whole number that stands by itself; digests and addresses are words, not numbers."""
    return {int(found.replace(",", "")) for found in re.findall(r"(?<![\w.\-])\d[\d,]*(?![\w\-])", text)}


def _without_intervals(text):
    """A page but for its intervals: functions of the released number, whose ends may be the true count."""
    return re.sub(r' title="95 %[^"]*"', "", text)


def test_no_exact_count_is_in_any_response_or_log(small_workspace, small_settings, caplog):
    caplog.set_level(logging.DEBUG)
    exact = _exact(small_workspace) | _exact(small_workspace, "sex") | _exact(small_workspace, "region")
    released = {count + change for count in exact for change in (-3, 3)}
    assert not exact & released, "the canary counts must be told apart from their releases"
    client = TestClient(create_app(DatasetRegistry(CanaryWorkspace(small_workspace)), small_settings))
    seen = set()
    for names in ("rows=sex", "rows=region", "rows=sex&layers=", "columns=sex&filter=sex=1", "layers=region"):
        for address in (
            f"/api/datasets/people/table?{names}",
            f"/api/datasets/people/table?{names}&format=csv",
            f"/datasets/people?{names}",
        ):
            seen |= _numbers(_without_intervals(client.get(address).text))
    for address in ADDRESSES:
        seen |= _numbers(_without_intervals(client.get(address).text))
    seen |= _numbers(caplog.text)
    assert not exact & seen
    assert exact
    assert all({count - 3, count + 3} & seen for count in exact), "the released counts must have been seen"


TABLE = "/api/datasets/people/table?rows=sex"
ORIGIN = {"origin": "https://elsewhere.example"}


@pytest.mark.parametrize(
    "address", [TABLE, "/api/datasets", "/api/datasets/people/table?rows=x", "/feed.atom", "/"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_other_sites_may_read_what_is_public_and_never_with_credentials(client, address, method):
    headers = client.request(method, address, headers=ORIGIN).headers
    assert headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in headers
    exposed = {name.strip().lower() for name in headers["access-control-expose-headers"].split(",")}
    assert {"etag", "discreet-charged", "retry-after"} <= exposed


def test_a_copy_of_a_reader_without_an_origin_serves_all_others(client):
    """The headers do not depend on the origin: else a cache would need one copy a site."""
    plain, from_elsewhere = client.get(TABLE).headers, client.get(TABLE, headers=ORIGIN).headers
    assert plain["access-control-allow-origin"] == from_elsewhere["access-control-allow-origin"] == "*"
    assert "origin" not in plain["vary"].lower()


def test_an_answer_under_a_key_is_not_shared(small_folder, tmp_path):
    import shutil

    folder = shutil.copytree(small_folder, tmp_path / "w")
    key = open_accounts(folder).create("ann", "reader")
    client = TestClient(create_app(open_registry(folder), read_options(folder)))
    headers = client.get(TABLE, headers={**ORIGIN, "authorization": f"Bearer {key}"}).headers
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert client.get(TABLE).headers["cache-control"].startswith("public")


def preflight(client, **headers):
    asked = {**ORIGIN, "access-control-request-method": "GET", **headers}
    return client.options(TABLE, headers=asked)


def test_a_preflight_allows_reading_and_no_key(client):
    answer = preflight(client, **{"access-control-request-headers": "if-none-match"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, POST"
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert "if-none-match" in allowed
    assert "authorization" not in allowed
    assert "*" not in allowed
    assert "access-control-allow-private-network" not in answer.headers


def test_other_methods_are_not_shared_and_options_alone_is_refused(client):
    assert "access-control-allow-origin" not in client.put(TABLE, headers=ORIGIN).headers
    assert client.options(TABLE, headers=ORIGIN).status_code == 405
