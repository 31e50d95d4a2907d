"""Tokens of OpenID Connect: of the issuer, for us, not at their end, and signed with a public key."""

import base64
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.web.conftest import client_of, with_key

TABLE = "/api/datasets/people/table?rows=sex&format=csv"


@pytest.fixture
def client(office, issuer):
    return client_of(office[0], oidc_issuer=issuer.address, oidc_audience="discreet")


def status(client, token):
    return client.get(TABLE, headers=with_key(token)).status_code


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

    monkeypatch.setattr("discreet.web.auth.oidc.urlopen", unreachable)
    tokens = (issuer.token(sub=f"olga{number}", roles=["analyst"]) for number in range(5))
    assert {status(client, token) for token in tokens} == {401}
    assert len(asked) == 1
    assert client.get("/api/datasets").status_code == 200
