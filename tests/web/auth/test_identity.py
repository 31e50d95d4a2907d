"""Who asks: a key that is not accepted is 401 at every address, whatever the ledger does; answers say for whom they are.

The office's own sign-in by a proxy: believed from a trusted address alone, and never beyond an account of ours.
"""

from __future__ import annotations

import shutil
import sqlite3

import pytest
from starlette.testclient import TestClient
from tests.web.auth.conftest import client_of, with_key
from tests.web.auth.test_roles import all_routes, asked

from discreet.errors import BadOption
from discreet.web.auth.identity import sign_in_from_options
from discreet.web.context import request_context
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options

TABLE = "/api/datasets/people/table?rows=sex&format=csv"


@pytest.fixture
def copy(office, tmp_path):
    folder, keys = office
    return shutil.copytree(folder, tmp_path / "w"), keys


def test_a_wrong_key_is_401_at_every_route(office_client):
    """To look at the key only where an account is needed is the wrong alternative."""
    for route in all_routes(office_client.app.routes):
        for answer in asked(office_client, route, "hostile", with_key("dk_wrong")):
            assert answer.status_code == 401, route.path
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-security-policy"], "a refusal has the headers of every answer"


def test_revoked_ended_and_foreign_keys_are_refused_alike(copy):
    folder, keys = copy
    accounts, client = open_accounts(folder), client_of(folder)
    ended = accounts.issue("ann", days=1)
    assert client.get(TABLE, headers=with_key(ended)).status_code == 200
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE api_keys SET expires = '2026-01-01T00:00:00+00:00' WHERE expires IS NOT NULL")
    listed = accounts.keys()
    key_id = next(each.id for each in listed if each.datasets == ("hostile",))
    accounts.revoke_key("ann", key_id)
    answers = [
        client.get(TABLE, headers=with_key(key)) for key in (ended, keys["elsewhere"], "dk_" + "x" * 43, "x")
    ]
    assert {(each.status_code, each.text) for each in answers} == {(401, answers[0].text)}
    assert client.get(TABLE, headers=with_key(keys["analyst"])).status_code == 200
    accounts.revoke("ann")
    assert client.get(TABLE, headers=with_key(keys["analyst"])).status_code == 401


@pytest.mark.parametrize(
    "harm", ["damaged", *(pytest.param(harm, marks=pytest.mark.slow) for harm in ("missing", "locked"))]
)
def test_a_ledger_that_cannot_be_read_never_shows_in_the_answer_to_a_key(copy, harm):
    """503 for a wrong key is the wrong alternative: it tells of the ledger, and invites to come again."""
    folder, keys = copy
    client, ledger = client_of(folder), folder / "ledger.sqlite"
    held = None
    if harm == "damaged":
        ledger.write_bytes(b"not a database")
    elif harm == "missing":
        ledger.unlink()
    else:  # the accounts were read once: reading them again takes no lock
        assert client.get(TABLE, headers=with_key(keys["analyst"])).status_code == 200
        held = sqlite3.connect(ledger, isolation_level=None)
        held.execute("BEGIN EXCLUSIVE")
    wrong = client.get(TABLE, headers=with_key("dk_wrong"))
    assert (wrong.status_code, wrong.json()["code"]) == (401, "bad-key")
    right = client.get(TABLE, headers=with_key(keys["analyst"]))
    assert right.status_code == (200 if harm == "locked" else 401)
    assert client.get("/api/datasets").status_code == 200, "what is public is answered"
    if held is not None:
        held.close()


def test_answers_to_an_account_are_private_and_all_vary(office_client, office):
    """`public` for one of them is the wrong alternative: a shared cache would give it to anybody."""
    for path in (TABLE, "/api/datasets", "/", "/datasets/people", "/api/pxweb/v2/tables", "/feed.atom"):
        answer = office_client.get(path, headers=with_key(office[1]["analyst"]))
        assert answer.status_code == 200
        assert "public" not in answer.headers["cache-control"], path
        assert {"private", "no-store"} & {part.strip() for part in answer.headers["cache-control"].split(",")}
        assert "Authorization" in answer.headers["vary"]
    open_to_all = office_client.get("/api/datasets/hostile")
    assert open_to_all.headers["cache-control"].startswith("public")
    assert "Authorization" in open_to_all.headers["vary"]


def test_the_requester_is_in_the_context_of_the_request(office):
    folder, keys = office
    client, seen = client_of(folder), []

    async def endpoint(_scope, _receive, _send):
        seen.append(request_context().requester)

    client.app.router.routes[0].app = endpoint
    for headers in ({}, with_key(keys["elsewhere"])):
        with pytest.raises(Exception):  # noqa: B017, PT011 - the route answers nothing
            client.get("/openapi.json", headers=headers)
    nobody, ann = seen
    assert nobody is None
    assert (ann.account, ann.role, ann.datasets) == ("ann", "analyst", {"hostile"})


PROXY = {
    "trusted_proxies": "10.0.0.5",
    "proxy_account_header": "X-Forwarded-User",
    "proxy_role_header": "X-Groups",
}
ANALYST = {"x-forwarded-user": "olga@office", "x-groups": "staff, analyst"}


def from_address(client, address):
    return TestClient(client.app, client=(address, 50_000))


def test_a_header_counts_from_a_trusted_proxy_alone(office):
    """To believe the header of anybody is the wrong alternative: a reader could write it."""
    client = client_of(office[0], **PROXY)
    assert from_address(client, "10.0.0.5").get(TABLE, headers=ANALYST).status_code == 200
    for address in ("10.0.0.6", "127.0.0.1", "testclient"):
        assert from_address(client, address).get(TABLE, headers=ANALYST).status_code == 404
    forged = {**ANALYST, "x-forwarded-for": "10.0.0.5"}
    assert from_address(client, "127.0.0.1").get(TABLE, headers=forged).status_code == 404
    alone = from_address(client, "10.0.0.5").get(TABLE, headers={"x-forwarded-user": "olga@office"})
    assert alone.status_code == 404, "without a role it is a reader"
    page = from_address(client, "10.0.0.5").get("/datasets/people", headers=ANALYST)
    assert page.status_code == 200
    assert "X-Forwarded-User" in page.headers["vary"]


def test_an_account_of_ours_decides_on_the_role_and_on_whether_it_is_revoked(office, tmp_path):
    folder = shutil.copytree(office[0], tmp_path / "w")
    accounts, proxied = open_accounts(folder), from_address(client_of(folder, **PROXY), "10.0.0.5")
    name = {"x-forwarded-user": "olga@office"}
    accounts.register_name("olga@office", "analyst")
    assert proxied.get(TABLE, headers=name).status_code == 200
    accounts.revoke("olga@office")
    assert proxied.get(TABLE, headers=ANALYST).status_code == 401


@pytest.mark.parametrize(
    "options",
    [
        {"proxy_account_header": "X-User"},
        {"proxy_account_header": "X User", "trusted_proxies": "10.0.0.5"},
        {"sign_in_role": "king"},
        {"oidc_issuer": "https://login.example"},
        {"oidc_issuer": "http://login.example", "oidc_audience": "discreet"},
    ],
)
def test_options_that_would_open_a_door_are_refused(tmp_path, options):
    with pytest.raises(BadOption):
        sign_in_from_options(read_options(tmp_path, **options))


@pytest.mark.parametrize("name", ["x-forwarded-user", "x-groups"])
def test_a_header_of_the_proxy_that_comes_twice_is_refused(office, name):
    """The first one is the reader's own where a proxy adds its header and does not replace."""
    proxied = from_address(client_of(office[0], **PROXY), "10.0.0.5")
    twice = [*ANALYST.items(), (name, "custodian")]
    assert proxied.get(TABLE, headers=twice).status_code == 401
    assert from_address(proxied, "10.0.0.6").get("/api/datasets", headers=twice).status_code == 200


def test_an_answer_to_whom_a_proxy_names_is_not_shared_with_other_sites(office):
    proxied = from_address(client_of(office[0], **PROXY), "10.0.0.5")
    assert "access-control-allow-origin" not in proxied.get(TABLE, headers=ANALYST).headers
    assert proxied.get("/api/datasets").headers["access-control-allow-origin"] == "*"
