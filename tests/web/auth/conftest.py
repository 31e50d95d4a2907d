"""A workspace with a dataset for analysts beside a public one, accounts, and an issuer of tokens on this machine."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.web.conftest import (
    client_of,
    hostile_description,
    hostile_records,
    people_description,
    people_records,
)

from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.versions.load_version import load_dataset

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def office(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The workspace and keys: `people` is for analysts, `hostile` for everybody."""
    folder = tmp_path_factory.mktemp("office") / "w"
    load_dataset(folder, people_description() + '[access]\nwho = "analyst"\n', people_records())
    load_dataset(folder, hostile_description(), hostile_records())
    accounts = open_accounts(folder)
    keys = {
        "analyst": accounts.create("ann", "analyst"),
        "reader": accounts.create("rita", "reader"),
        "custodian": accounts.create("carl", "custodian"),
        "elsewhere": accounts.issue("ann", datasets=["hostile"]),
        "lowered": accounts.issue("ann", "reader"),
    }
    return folder, keys


@pytest.fixture(scope="session")
def office_client(office):
    return client_of(office[0], pxweb_calls=1_000_000)


class Issuer:
    """An issuer of OpenID Connect that publishes one key, and counts how often it is asked."""

    def __init__(self):
        self.key, self.asked = ec.generate_private_key(ec.SECP256R1()), 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked += 1
                body = json.dumps(issuer.document(self.path)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def document(self, path):
        if path == "/keys":
            public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [{**public, "kid": "one", "use": "sig"}]}
        return {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}

    def token(self, *, key=None, algorithm="ES256", kid="one", **claims):
        told = {"iss": self.address, "aud": "discreet", "sub": "olga", "exp": time.time() + 600}
        told = {name: value for name, value in (told | claims).items() if value is not None}
        return jwt.encode(told, key or self.key, algorithm, {"kid": kid})

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def issuer():
    made = Issuer()
    yield made
    made.close()
