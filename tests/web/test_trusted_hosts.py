"""Hosts, headers, other sites, and what an exception may say."""

import logging
import re

import pytest
from fastapi.testclient import TestClient

from discreet.errors import BadOption
from discreet.web.admission import MAX_QUERY_BYTES
from discreet.web.response_headers import CONTENT_SECURITY_POLICY
from discreet.web.trusted_hosts import host_patterns
from discreet.workspace.options import read_options

from .conftest import Page, broken_workspace, client_of

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what an office writes
PAGE = "/datasets/people?rows=sex"
TABLE = "/api/datasets/people/table?rows=sex"


@pytest.fixture(scope="module")
def office(small_workspace):
    """A server that listens everywhere, without any other option."""
    client = client_of(small_workspace, host=EVERYWHERE)
    return TestClient(client.app, base_url="http://192.168.1.20:8000")


def asked(client, host, path=PAGE):
    return client.get(path, headers={"host": host})


@pytest.mark.parametrize(
    "host", ["192.168.1.20:8000", "192.168.1.20", "LOCALHOST", "127.0.0.1:9", "[::1]:8000"]
)
def test_in_an_office_without_options_the_own_addresses_are_answered(office, host):
    (address,) = Page(asked(office, host)).texts("p", class_="address")
    assert address.partition("&version=")[0] == f"http://{host.lower()}{PAGE}"


@pytest.mark.parametrize(
    "host",
    ["evil.example:8000", "192.168.1.21:8000", "localhost.evil.example", "localhost:80@evil.example", "localhost/evil",
     "localhost:80:90", "localhost:", "0.0.0.0:8000", "[::1", "a b"],
)  # fmt: skip
def test_a_foreign_host_is_refused_and_reaches_no_link(office, host):
    """The wrong alternative, to write the request's host into links as it comes, is what this rejects."""
    page, problem = asked(office, host), asked(office, host, "/api/datasets")
    assert (page.status_code, problem.status_code) == (421, 421)
    assert problem.json()["code"] == "untrusted-host"
    assert "trusted_hosts" in problem.json()["advice"]
    assert not [e for e in Page(page).all("a") if "evil" in e["href"]]
    assert asked(office, host, "/static/discreet.css").status_code == 421


def test_hosts_and_patterns_of_the_options_are_trusted(small_workspace, small_folder, tmp_path):
    names = "Stats.example, *.office.example"
    client = client_of(small_workspace, trusted_hosts=names, public_url="https://x.example/tables")
    for host in ("stats.example", "a.office.example:8000", "x.example"):
        assert asked(client, host).status_code == 200
    for host in ("office.example", "aoffice.example", "a.stats.example"):
        assert asked(client, host).status_code == 421
    assert (
        asked(client, "evil.example", "/tables/api/datasets").json()["type"]
        == "/tables/errors/untrusted-host"
    )
    anybody = client_of(small_workspace, trusted_hosts="*")
    assert asked(anybody, "whoever.example").status_code == 200
    assert asked(anybody, "who ever").status_code == 421
    (tmp_path / "workspace.toml").write_text('trusted_hosts = ["a.example", "b.example"]\n')
    assert {"a.example", "b.example"} <= host_patterns(read_options(tmp_path), None)
    assert EVERYWHERE not in host_patterns(read_options(small_folder, host=EVERYWHERE), None)
    assert "10.0.0.5" in host_patterns(read_options(small_folder, host="10.0.0.5"), None)


@pytest.mark.parametrize("name", ["https://x.org", "x.org:80", "x.org/a", "*x.org", "x *"])
def test_a_name_that_no_host_has_is_refused_at_the_start(small_workspace, name):
    with pytest.raises(BadOption, match="trusted_hosts"):
        client_of(small_workspace, trusted_hosts=name)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        ("1.1", [b"localhost"], 200),
        ("1.1", [], 400),
        ("1.1", [b"localhost", b"evil.example"], 400),
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


@pytest.mark.parametrize(
    "address",
    ["/", "/datasets/people?rows=nonsense", "/datasets/people/variables/sex", "/api/datasets/people", TABLE, TABLE + "x",
     "/openapi.json", "/errors/refused", "/static/discreet.css", "/static/../app.py", "/nothing",
     "/?" + "x" * (MAX_QUERY_BYTES + 1)],
)  # fmt: skip
def test_every_response_has_the_headers(client, address):
    headers = client.get(address).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_policy_allows_no_foreign_script_no_frame_and_no_foreign_form():
    rules = CONTENT_SECURITY_POLICY.split("; ")
    assert rules[:3] == ["default-src 'none'", "script-src 'self'", "connect-src 'self'"]
    assert {"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} < {*rules}
    assert "unsafe" not in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("address", [TABLE, "/datasets/people"])
def test_nothing_of_an_unexpected_exception_is_told(small_folder, caplog, address):
    caplog.set_level(logging.DEBUG)
    broken = broken_workspace(RuntimeError("a canary sings in the exception"), small_folder)
    response = client_of(broken).get(address)
    assert response.status_code == 500
    assert "canary" not in response.text + caplog.text
    incident = re.search(r"noted as (?:<bdi>)?([0-9a-f]{12})", response.text)[1]
    assert f"RuntimeError, incident {incident}" in caplog.text
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


ORIGIN = {"origin": "https://elsewhere.example"}


@pytest.mark.parametrize("address", [TABLE, "/api/datasets", TABLE + "x", "/feed.atom", "/"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_other_sites_may_read_what_is_public_and_never_with_credentials(client, address, method):
    """The headers do not depend on the origin: else a cache would need one copy a site."""
    headers = client.request(method, address, headers=ORIGIN).headers
    plain = client.request(method, address).headers
    assert headers["access-control-allow-origin"] == plain["access-control-allow-origin"] == "*"
    assert "origin" not in plain.get("vary", "").lower()
    assert "access-control-allow-credentials" not in headers
    exposed = {name.strip().lower() for name in headers["access-control-expose-headers"].split(",")}
    assert {"etag", "discreet-charged", "retry-after"} <= exposed


def test_a_preflight_allows_reading_and_no_key_and_other_methods_are_not_shared(client):
    asked = {"access-control-request-method": "GET", "access-control-request-headers": "if-none-match"}
    answer = client.options(TABLE, headers=ORIGIN | asked)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, POST"
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert "if-none-match" in allowed
    assert not {"authorization", "*"} & set(allowed)
    assert "access-control-allow-private-network" not in answer.headers
    assert "access-control-allow-origin" not in client.put(TABLE, headers=ORIGIN).headers
    assert client.options(TABLE, headers=ORIGIN).status_code == 405
