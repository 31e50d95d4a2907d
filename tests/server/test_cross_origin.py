import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import open_doors
from discreet.server.app import create_app
from discreet.workspace.ledger_place import accounts_of
from discreet.workspace.options import read_options

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
    key = accounts_of(folder).create("ann", "reader")
    client = TestClient(create_app(open_doors(folder), read_options(folder)))
    headers = client.get(TABLE, headers={**ORIGIN, "authorization": f"Bearer {key}"}).headers
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == "private, max-age=0, must-revalidate"
    assert client.get(TABLE).headers["cache-control"].startswith("public")


def preflight(client, **headers):
    asked = {**ORIGIN, "access-control-request-method": "GET", **headers}
    return client.options(TABLE, headers=asked)


def test_a_preflight_allows_reading_and_no_key(client):
    answer = preflight(client, **{"access-control-request-headers": "if-none-match"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, "*")
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, POST"
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert "if-none-match" in allowed
    assert "authorization" not in allowed
    assert "*" not in allowed
    assert "access-control-allow-private-network" not in answer.headers


def test_other_methods_are_not_shared_and_options_alone_is_refused(client):
    assert "access-control-allow-origin" not in client.put(TABLE, headers=ORIGIN).headers
    assert client.options(TABLE, headers=ORIGIN).status_code == 405
