"""The registry of a publication: a new one is taken up, a wrong one is refused, and no workspace is needed."""

import shutil
import sys
from subprocess import run

import pytest
from fastapi.testclient import TestClient

from discreet.errors import BadKey, SignatureUnusable, UnknownDataset, VersionClosed
from discreet.publish.file_store import FolderStorage
from discreet.publish.publication import POINTER
from discreet.publish.published_registry import open_publication
from discreet.publish.publisher import publish
from discreet.records.signing import signing_key
from discreet.web.app import create_app
from discreet.workspace.options import options_from, read_options

#: Addresses whose answers are the same from a workspace and from its publication.
SAME = (
    "/api",
    "/api/datasets",
    "/api/datasets/town",
    "/api/datasets/town/versions",
    "/api/datasets/town/methodology",
    "/api/datasets/town/noise",
    "/api/datasets/town/table?rows=sex&columns=age&format=csv",
    "/api/datasets/town/table?rows=age&columns=sex&percent=row",
    "/api/datasets/town/table?rows=sex&columns=age&format=xlsx",
    "/api/datasets/town/table?rows=sex&columns=age&lang=de",
    "/api/datasets/town/interval?rows=sex&columns=age&cell=sex=1",
    "/api/datasets/town/test/independence?rows=sex&columns=age",
    "/api/datasets/town/budget",
    "/api/pxweb/v2/tables",
    "/api/pxweb/v2/tables/town/metadata",
    "/api/pxweb/v2/tables/town/data?valueCodes[sex]=*&valueCodes[age]=child&outputFormat=csv",
    "/api/sdmx/data/town-sex-age/1.",
    "/api/sdmx/dataflow",
    "/datasets/town/methodology",
    "/datasets/town/methodology?lang=de",
    "/datasets/town/print?rows=sex&columns=age",
    "/datasets/town/test/independence?rows=sex&columns=age",
    "/datasets/town/verdict?rows=sex&columns=age",
    "/embed/datasets/town?rows=sex&columns=age",
    "/.well-known/dcat",
    "/feed.atom",
    "/openapi.json",
)


@pytest.mark.slow
def test_a_server_of_a_publication_gives_the_same_bytes(ruled):
    here = {"base_url": "http://127.0.0.1:8000"}
    live = TestClient(create_app(ruled.live, read_options(ruled.workspace)), **here)
    published = TestClient(create_app(ruled.published, options_from(ruled.published.options)), **here)
    found = []
    for address in SAME:
        one, other = live.get(address), published.get(address)
        assert (one.status_code, one.content) == (other.status_code, other.content), address
        assert one.headers.get("etag") == other.headers.get("etag"), address
        found += [address] if one.status_code != 200 else []
    assert found == ["/api/datasets/town/budget"]  # there is none
    refused = published.get("/api/datasets/town/table?rows=sex&columns=age&layers=job")
    assert (refused.status_code, refused.json()["code"]) == (403, "not-published")
    assert published.get("/datasets/town").status_code == 200


@pytest.mark.slow
def test_a_new_publication_is_taken_up_and_a_foreign_one_is_refused(ruled, side_of, tmp_path):
    shutil.copytree(ruled.folder, tmp_path / "tables")
    key, other = signing_key(ruled.workspace), side_of("fitted")
    registry = open_publication(FolderStorage(tmp_path / "tables"), key.public)
    before = registry.open("town").digest
    publish(other.live, "town", FolderStorage(tmp_path / "tables"), key)
    assert registry.open("town").digest == other.live.open("town").digest != before
    shutil.copytree(other.folder, tmp_path / "tables", dirs_exist_ok=True)  # signed by another key
    with pytest.raises(SignatureUnusable):
        registry.open("town")


def test_versions_keys_and_other_datasets_are_refused_as_by_a_workspace(ruled):
    registry = ruled.published
    digest = registry.open("town").digest
    assert registry.open("town", version=digest[:8]).digest == digest
    assert registry.at(digest[:8]).open("town").digest == digest
    with pytest.raises(UnknownDataset):
        registry.open("village")
    with pytest.raises(BadKey):
        registry.open("town", key="abc")
    with pytest.raises((VersionClosed, UnknownDataset, Exception), match="version"):
        registry.open("town", version="0123abcd")


PROGRAM = """
import os, sys
from pathlib import Path
from discreet.publish.published_registry import open_publication
from discreet.publish.file_store import FolderStorage
from discreet.records.signing import PublicKey
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
registry = open_publication(FolderStorage(Path(sys.argv[1])), PublicKey(sys.stdin.read()))
for table in registry.open("town").tables[:3]:
    registry.open("town").release(table)
inside = [name for name in opened if name.startswith(os.path.dirname(sys.argv[1]))]
print(len(inside), all(name.startswith(sys.argv[1]) for name in inside), "duckdb" in sys.modules)
"""


@pytest.mark.slow
def test_a_process_reads_the_publication_and_nothing_of_a_workspace(ruled, tmp_path):
    """The workspace is away; the process opens the pointer and files of the publication, and no engine is loaded."""
    shutil.copytree(ruled.folder, tmp_path / "tables")
    key = signing_key(ruled.workspace).public.text
    command, away = [sys.executable, "-c", PROGRAM, str(tmp_path / "tables")], str(tmp_path / "nowhere")
    env = {"PATH": "/usr/bin", "HOME": away}
    found = run(command, input=key, capture_output=True, text=True, check=True, env=env)
    count, inside, engine = found.stdout.split()
    assert (int(count) >= 6, inside, engine) == (True, "True", "False"), found.stdout
    assert (tmp_path / "tables" / POINTER).is_file()
