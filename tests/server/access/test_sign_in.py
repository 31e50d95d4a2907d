"""The office's own sign-in by a proxy: believed from a trusted address alone, and never beyond an account of ours."""

import shutil

import pytest
from starlette.testclient import TestClient
from tests.server.access.conftest import client_of

from discreet.errors import BadOption
from discreet.server.access.sign_in import sign_in_of
from discreet.workspace.ledger_place import accounts_of
from discreet.workspace.options import read_options

PROXY = {
    "trusted_proxies": "10.0.0.5",
    "proxy_account_header": "X-Forwarded-User",
    "proxy_role_header": "X-Groups",
}
TABLE = "/api/datasets/people/table?rows=sex&format=csv"
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
    accounts, proxied = accounts_of(folder), from_address(client_of(folder, **PROXY), "10.0.0.5")
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
        sign_in_of(read_options(tmp_path, **options))


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
