"""Who asks: a key that is not accepted is 401 at every address, whatever the ledger does; answers say for whom they are.

The office's own sign-in by a proxy: believed from a trusted address alone, and never beyond an account of ours.

Tokens of OpenID Connect: of the issuer, for us, not at their end, and signed with a public key.
"""

from __future__ import annotations

import base64
import hmac
import json
import shutil
import sqlite3
import threading
import time
from functools import partial

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.testclient import TestClient
from tests.web.auth.test_roles import all_routes, asked
from tests.web.conftest import client_of, with_key

from discreet.errors import BadOption
from discreet.ledger.requester import KeyCache
from discreet.web import app
from discreet.web.auth import identity, oidc
from discreet.web.auth.identity import apply_forwarded_headers, parse_networks, sign_in_from_options
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options

TABLE = "/api/datasets/people/table?rows=sex&format=csv"


@pytest.fixture
def copy(office, tmp_path):
    folder, keys = office
    return shutil.copytree(folder, tmp_path / "w"), keys


def status(client, key, address=TABLE):
    return client.get(address, headers=with_key(key)).status_code


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
    assert status(client, ended) == 200
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE api_keys SET expires = '2026-01-01T00:00:00+00:00' WHERE expires IS NOT NULL")
    listed = accounts.keys()
    accounts.revoke_key("ann", next(each.id for each in listed if each.datasets == ("hostile",)))
    wrong = (ended, keys["elsewhere"], "dk_" + "x" * 43, "x")
    answers = [client.get(TABLE, headers=with_key(key)) for key in wrong]
    assert {(each.status_code, each.text) for each in answers} == {(401, answers[0].text)}
    assert status(client, keys["analyst"]) == 200
    accounts.revoke("ann")
    assert status(client, keys["analyst"]) == 401


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
        assert status(client, keys["analyst"]) == 200
        held = sqlite3.connect(ledger, isolation_level=None)
        held.execute("BEGIN EXCLUSIVE")
    wrong = client.get(TABLE, headers=with_key("dk_wrong"))
    assert (wrong.status_code, wrong.json()["code"]) == (401, "bad-key")
    assert "Leave the key out" in wrong.json()["advice"]
    assert status(client, keys["analyst"]) == (200 if harm == "locked" else 401)
    assert client.get("/api/datasets").status_code == 200, "what is public is answered"
    if held is not None:
        held.close()


def test_the_first_key_after_a_pause_is_accepted(office, monkeypatch):
    """Not to wait for a read that follows a long pause is the wrong alternative: an hourly job got 401 each time."""
    clock = [0.0]
    monkeypatch.setattr(app, "KeyCache", partial(KeyCache, clock=lambda: clock[0]))
    client = client_of(office[0])
    for idle in (0, 15, 61, 3600):
        clock[0] += idle
        assert status(client, office[1]["analyst"]) == 200


def test_keys_wait_for_a_slow_ledger_and_then_get_503_right_or_wrong(office, monkeypatch):
    folder, keys = office
    release = threading.Event()
    slow = lambda read, mark: KeyCache(lambda: read() if release.wait(60) else None, mark)  # noqa: E731
    monkeypatch.setattr(app, "KeyCache", slow)
    monkeypatch.setattr(identity, "SECONDS_TO_WAIT", 0.01)
    client = client_of(folder)
    for key in (keys["analyst"], "dk_wrong"):
        answer = client.get(TABLE, headers=with_key(key))
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert answer.headers["retry-after"]
    release.set()
    assert any(status(client, keys["analyst"]) == 200 for _ in range(10_000))


def test_answers_to_an_account_are_private_and_all_vary(office_client, office):
    """`public` for one of them is the wrong alternative: a shared cache would give it to anybody."""
    for path in (TABLE, "/api/datasets", "/", "/datasets/people", "/api/pxweb/v2/tables", "/feed.atom"):
        answer = office_client.get(path, headers=with_key(office[1]["analyst"]))
        assert answer.status_code == 200
        assert "public" not in answer.headers["cache-control"], path
        assert {"private", "no-store"} & {part.strip() for part in answer.headers["cache-control"].split(",")}
        assert "Authorization" in answer.headers["vary"]
        assert "access-control-allow-origin" not in answer.headers
    open_to_all = office_client.get("/api/datasets/hostile")
    assert open_to_all.headers["cache-control"].startswith("public")
    assert "Authorization" in open_to_all.headers["vary"]


PROXY = {
    "trusted_proxies": "10.0.0.5",
    "proxy_account_header": "X-Forwarded-User",
    "proxy_role_header": "X-Groups",
}
ANALYST = {"x-forwarded-user": "olga@office", "x-groups": "staff, analyst"}


def from_address(client, address):
    return TestClient(client.app, client=(address, 50_000))


@pytest.fixture
def proxied(office):
    """Readers who come by the trusted proxy."""
    return from_address(client_of(office[0], **PROXY), "10.0.0.5")


def test_a_header_counts_from_a_trusted_proxy_alone(proxied):
    """To believe the header of anybody is the wrong alternative: a reader could write it."""
    assert proxied.get(TABLE, headers=ANALYST).status_code == 200
    for address in ("10.0.0.6", "127.0.0.1", "testclient"):
        assert from_address(proxied, address).get(TABLE, headers=ANALYST).status_code == 404
    forged = {**ANALYST, "x-forwarded-for": "10.0.0.5"}
    assert from_address(proxied, "127.0.0.1").get(TABLE, headers=forged).status_code == 404
    alone = proxied.get(TABLE, headers={"x-forwarded-user": "olga@office"})
    assert alone.status_code == 404, "without a role it is a reader"
    page = proxied.get("/datasets/people", headers=ANALYST)
    assert (page.status_code, "X-Forwarded-User" in page.headers["vary"]) == (200, True)
    assert "access-control-allow-origin" not in page.headers, "it is not shared with other sites"
    assert proxied.get("/api/datasets").headers["access-control-allow-origin"] == "*"


def test_an_account_of_ours_decides_on_the_role_and_on_whether_it_is_revoked(copy):
    accounts, proxied = open_accounts(copy[0]), from_address(client_of(copy[0], **PROXY), "10.0.0.5")
    accounts.register_name("olga@office", "analyst")
    assert proxied.get(TABLE, headers={"x-forwarded-user": "olga@office"}).status_code == 200
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
def test_options_that_would_open_a_service_are_refused(tmp_path, options):
    with pytest.raises(BadOption):
        sign_in_from_options(read_options(tmp_path, **options))


@pytest.mark.parametrize("name", ["x-forwarded-user", "x-groups"])
def test_a_header_of_the_proxy_that_comes_twice_is_refused(proxied, name):
    """The first one is the reader's own where a proxy adds its header and does not replace."""
    twice = [*ANALYST.items(), (name, "custodian")]
    assert proxied.get(TABLE, headers=twice).status_code == 401
    assert from_address(proxied, "10.0.0.6").get("/api/datasets", headers=twice).status_code == 200


FORWARDED = {"x-forwarded-for": "203.0.113.9, 198.51.100.1, 10.1.2.3", "x-forwarded-proto": "https"}


@pytest.mark.parametrize(
    ("peer", "trusted", "told"),
    [
        ("10.0.0.5", "10.0.0.5, 10.1.0.0/16", ("198.51.100.1", "https", True)),
        ("203.0.113.7", "10.0.0.5, 10.1.0.0/16", ("203.0.113.7", "http", False)),
        ("", "10.0.0.5", ("", "http", False)),
        ("somewhere", "10.0.0.5", ("somewhere", "http", False)),
        ("127.0.0.1", "", ("10.1.2.3", "https", False)),
        ("203.0.113.7", "", ("203.0.113.7", "http", False)),
    ],
)
def test_a_trusted_proxy_forwards_address_and_scheme_and_without_the_option_loopback_without_accounts(
    peer, trusted, told
):
    """The first address of the list is the wrong alternative: the client writes it."""
    raw = [(name.encode(), value.encode()) for name, value in FORWARDED.items()]
    scope = {"type": "http", "client": (peer, 1), "scheme": "http", "headers": raw}
    accepted = apply_forwarded_headers(scope, parse_networks(trusted, "trusted_proxies"))
    assert (scope["client"][0], scope["scheme"], accepted) == told


def test_what_is_no_address_is_refused():
    with pytest.raises(BadOption, match="trusted_proxies"):
        parse_networks("proxy.example", "trusted_proxies")


@pytest.fixture
def client(office, issuer):
    return client_of(office[0], oidc_issuer=issuer.address, oidc_audience="discreet")


def in_letters(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def forged(claims, algorithm, key=b""):
    """A token that no library would sign."""
    parts = [{"alg": algorithm, "typ": "JWT", "kid": "one"}, claims]
    text = ".".join(in_letters(json.dumps(part).encode()) for part in parts)
    return f"{text}.{in_letters(hmac.digest(key, text.encode(), 'sha256')) if key else ''}"


@pytest.mark.slow
def test_a_token_of_the_issuer_opens_what_its_role_may_see(client, issuer):
    assert status(client, issuer.token(roles=["analyst"])) == 200
    assert status(client, issuer.token(roles="staff analyst")) == 200
    assert status(client, issuer.token()) == 404, "a reader does not see it"
    assert issuer.asked == 2, "the keys were fetched once"


@pytest.mark.slow
def test_tokens_that_are_not_ours_are_401(client, issuer):
    """Each of these is what a careless verifier lets in."""
    other = ec.generate_private_key(ec.SECP256R1())
    public = issuer.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    good = {"roles": ["custodian"]}
    claims = jwt.decode(issuer.token(**good), options={"verify_signature": False})
    wrong = {
        "another issuer": issuer.token(iss="https://login.example", **good),
        "another audience": issuer.token(aud="another", **good),
        "no audience": issuer.token(aud=None, **good),
        "at its end": issuer.token(exp=time.time() - 3600, **good),
        "without an end": issuer.token(exp=None, **good),
        "an end in letters": issuer.token(exp=str(int(time.time()) + 600), **good),
        "an end that is no time": issuer.token(exp=True, **good),
        "an endless end": issuer.token(exp=float("inf"), **good),
        "not yet": issuer.token(nbf=time.time() + 3600, **good),
        "without an account": issuer.token(sub=None, **good),
        "another key": issuer.token(key=other, **good),
        "a key that nobody knows": issuer.token(kid="two", **good),
        "alg none": forged(claims, "none"),
        "the public key as a shared secret": forged(claims, "HS256", public),
        "garbage": "x.y.z",
        "long": "x" * 20_000,
    }
    assert {name: status(client, token) for name, token in wrong.items()} == dict.fromkeys(wrong, 401)
    assert status(client, issuer.token(**good)) == 200
    assert issuer.asked <= 4, "invented tokens do not make us ask the issuer"


def test_an_issuer_out_of_reach_is_401_and_is_not_asked_again_at_once(client, issuer, monkeypatch):
    """Wrong alternative: a request to the issuer for every token; each would hold a thread for seconds."""
    asked = []

    def unreachable(*_given, **_more):
        asked.append(1)
        raise OSError("unreachable")

    monkeypatch.setattr(oidc, "urlopen", unreachable)
    tokens = (issuer.token(sub=f"olga{number}", roles=["analyst"]) for number in range(5))
    assert {status(client, token) for token in tokens} == {401}
    assert len(asked) == 1
    assert client.get("/api/datasets").status_code == 200
