"""Headers, limits, what an exception may say, and that no exact count ever leaves."""

import logging
import re
import shutil
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from discreet.errors import BadOption
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.records.engine import AggregateQuery
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.admission import MAX_QUERY_BYTES
from discreet.web.app import create_app
from discreet.web.security import CONTENT_SECURITY_POLICY, host_patterns
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options

from .conftest import BrokenWorkspace, Page

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what an office writes
PAGE = "/datasets/people?rows=sex"


def client_for(workspace, folder, arrived="192.168.1.20", **options):
    app = create_app(DatasetRegistry(workspace), read_options(folder, **options))
    return TestClient(app, base_url=f"http://{arrived}:8000")


@pytest.fixture(scope="module")
def office(small_workspace, small_folder):
    """A server that listens everywhere, without any other option."""
    return client_for(small_workspace, small_folder, host=EVERYWHERE)


@pytest.fixture(scope="module")
def below(small_workspace, small_folder):
    return client_for(small_workspace, small_folder, public_url="https://x.example/tables")


def asked(client, host, path=PAGE):
    return client.get(path, headers={"host": host})


@pytest.mark.parametrize(
    "host", ["192.168.1.20:8000", "192.168.1.20", "localhost:8000", "LOCALHOST", "127.0.0.1:9", "[::1]:8000"]
)
def test_in_an_office_without_options_the_own_addresses_are_answered(office, host):
    (address,) = Page(asked(office, host)).texts("p", class_="address")
    assert address.partition("&version=")[0] == f"http://{host.lower()}{PAGE}"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "192.168.1.21:8000", "localhost.evil.example", "evil.example:8000", "localhost:80@evil.example",
     "localhost/evil", "localhost:80:90", "localhost:", "0.0.0.0:8000", "[::1", "a b", "127.0.0.1.evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused_and_reaches_no_link(office, below, host):
    """The wrong alternative, to write the request's host into links as it comes, is what this rejects."""
    page, problem = asked(office, host), asked(office, host, "/api/datasets")
    assert (page.status_code, problem.status_code) == (421, 421)
    assert problem.json()["code"] == "untrusted-host"
    assert "trusted_hosts" in problem.json()["advice"]
    assert not [e for e in Page(page).all("a") if "evil" in e["href"]]
    assert asked(below, host, "/tables/api/datasets").json()["type"] == "/tables/errors/untrusted-host"
    assert asked(office, host, "/static/discreet.css").status_code == 421


def test_hosts_and_patterns_of_the_option_are_trusted(small_workspace, small_folder, tmp_path):
    client = client_for(
        small_workspace,
        small_folder,
        trusted_hosts="Stats.example, *.office.example",
        public_url="https://x.example",
    )
    for host in ("stats.example", "a.office.example:8000", "x.example"):
        assert asked(client, host).status_code == 200
    for host in ("office.example", "aoffice.example", "a.stats.example"):
        assert asked(client, host).status_code == 421
    anybody = client_for(small_workspace, small_folder, trusted_hosts="*")
    assert asked(anybody, "whoever.example").status_code == 200
    assert asked(anybody, "who ever").status_code == 421


def test_a_list_of_hosts_can_stand_in_the_file(tmp_path):
    (tmp_path / "workspace.toml").write_text('trusted_hosts = ["a.example", "b.example"]\n')
    assert {"a.example", "b.example"} <= host_patterns(read_options(tmp_path), None)


@pytest.mark.parametrize("name", ["https://x.org", "x.org:80", "x.org/a", "*x.org", "x *"])
def test_a_name_that_no_host_has_is_refused_at_the_start(small_workspace, small_folder, name):
    with pytest.raises(BadOption, match="trusted_hosts"):
        client_for(small_workspace, small_folder, trusted_hosts=name)


def test_everywhere_is_no_name_of_a_host(small_folder):
    assert EVERYWHERE not in host_patterns(read_options(small_folder, host=EVERYWHERE), None)
    assert "10.0.0.5" in host_patterns(read_options(small_folder, host="10.0.0.5"), None)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        ("1.1", [b"localhost"], 200),
        ("1.1", [], 400),
        ("1.1", [b"localhost", b"evil.example"], 400),
        ("1.1", [b"localhost", b"localhost"], 400),
        ("1.0", [b"localhost", b"localhost"], 400),
        ("1.0", [], 200),
    ],
)
def test_a_request_has_one_host_and_one_of_http_1_0_may_have_none(office, version, hosts, status):
    """Wrong alternative: the first of two; a proxy before us may have read the other one."""
    given = {"http_version": version, "headers": [(b"host", host) for host in hosts]}

    async def app(scope, receive, send):
        await office.app({**scope, **given}, receive, send)

    answer = TestClient(app).get("/api/datasets")
    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "bad-request"


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
