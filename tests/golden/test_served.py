"""A workspace that 0.2.0 served: accounts, an audit log, a cache folder and a publication answer as they did.

`workspace-0.2-served.tar.xz` was served by 0.2.0 over HTTP; `served.json` holds the status, the content type and the
SHA-256 of every body that left. The archive is never made again.
"""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from discreet.publish.file_store import FolderStorage
from discreet.publish.published_registry import PublishedRegistry
from discreet.records.signing import PublicKey
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.options import options_from

HERE = Path(__file__).parent
SERVED = json.loads((HERE / "served.json").read_text("utf-8"))
NAME = "workspace-0.2-served"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served")
    with tarfile.open(HERE / f"{NAME}.tar.xz") as archive:
        archive.extractall(place, filter="data")
    (place / NAME).chmod(0o700)
    (place / NAME / "secret").chmod(0o600)
    return place / NAME


@pytest.fixture(scope="module")
def client(folder):
    return TestClient(create_app(open_registry(folder), options_from({})), base_url="http://127.0.0.1:8533")


def headers(who):
    return {"Authorization": f"Bearer {SERVED['keys'][who]}"} if who else {}


@pytest.mark.parametrize("address", SERVED["answers"])
def test_a_served_workspace_answers_every_address_byte_for_byte(client, address):
    who, _, path = address.rpartition(" ")
    status, kind, digest = SERVED["answers"][address]
    answer = client.get(path, headers=headers(who))
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (status, kind)
    assert hashlib.sha256(answer.content).hexdigest() == digest, answer.text[:400]


def test_a_key_of_nobody_is_refused(client):
    assert client.get("/api/datasets", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_the_audit_log_verifies(folder, run_here):
    done = run_here("log", "verify", "-w", folder)
    assert done.returncode == 0, done.stderr
    assert "lines 1 to 30  sound  00:30:b3b84805999844b1c669bb0139949fef" in done.stdout


def test_records_and_versions_verify(folder, run_here):
    done = run_here("verify", "-w", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is intact") == 3


def test_the_publication_opens_with_its_public_key_and_answers_as_the_workspace(folder):
    key = PublicKey((folder / "office.pem").read_text("ascii"))
    published = PublishedRegistry(FolderStorage(folder / "public"), key)
    asked = {"rows": "sex", "columns": "age", "format": "csv"}
    here, there = (
        TestClient(create_app(registry, options_from({}))).get("/api/datasets/town/table", params=asked)
        for registry in (open_registry(folder), published)
    )
    assert here.status_code == there.status_code == 200
    assert here.content == there.content
