"""The registry of a publication: a new one is taken up, a wrong one is refused, and no workspace is needed."""

import shutil
import sys
from dataclasses import replace
from subprocess import run

import pytest
from cachetools import LRUCache
from fastapi.testclient import TestClient

from discreet import errors
from discreet.errors import BadKey, SignatureUnusable, UnknownDataset, VersionClosed
from discreet.model.request import TableRequest
from discreet.publish.file_store import FolderStorage
from discreet.publish.publication import POINTER
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import publish
from discreet.records.signing import signing_key
from discreet.release.dataset_registry import unlock_service
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
    "/api/datasets/town/table?rows=age&columns=sex&dry_run=1",
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
    registry = PublishedRegistry(FolderStorage(tmp_path / "tables"), key.public)
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
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.file_store import FolderStorage
from discreet.records.signing import PublicKey
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
registry = PublishedRegistry(FolderStorage(Path(sys.argv[1])), PublicKey(sys.stdin.read()))
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


@pytest.mark.slow
def test_the_budget_is_that_of_the_day_and_cannot_be_spent(side_of, ruled):
    side = side_of("universe")
    live, published = side.live.open("town"), side.published.open("town")
    assert published.budget() == live.budget()
    assert published.budget_left() == live.budget_left()
    with pytest.raises(errors.NotPublished):
        published.margins((), "independent", 1)
    with pytest.raises(errors.BadKey):
        published.ledger()
    with pytest.raises(errors.NoBudget):
        ruled.published.open("town").budget()
    assert ruled.published.open("town").budget_left() is None


AREA = (("area", ("region", "area")),)


@pytest.fixture
def service(ruled):
    return ruled.published.open("town")


def test_another_table_is_refused_with_the_nearest_that_are_published(service):
    for asked in (
        TableRequest("town", ("sex",), ("age",), ("job",)),
        TableRequest("town", ("sex",), filters=(("age", ("old",)),)),
        TableRequest("town", ("sex",), totals=False),
        TableRequest("town", ("area",)),
    ):
        with pytest.raises(errors.NotPublished, match="nearest") as refused:
            service.check(asked)
        assert refused.value.http_status == 403
        assert service.foresee(asked).refusal is not None
        for near in service.repairs(asked, counting=False):
            service.check(near)
        told = service.dry_run(asked)
        assert (told["allowed"], told["verdict"]["rules"][0]["code"]) == (False, "not-published")
    near = service.repairs(TableRequest("town", ("sex",), ("age",), ("job",)), counting=False)[0]
    assert (near.rows, near.columns, near.layers) == (("sex",), ("age",), ())


def test_a_choice_leads_to_a_published_table_or_nowhere(service):
    assert service.offer(TableRequest("town", ("area",))).levels == AREA
    assert service.offer(TableRequest("town", ("sex",), ("age",), ("job",))) is None
    larger = service.offer(TableRequest("town", ("area",), ("sex",), ("job",)))
    assert (set(larger.variables), larger.layers) == ({"area", "sex", "job"}, ("job",))
    assert service.offer(TableRequest("town", ("sex",), totals=False)) is None
    assert service.offer(TableRequest("town", ("region",))) is None
    assert service.start(TableRequest("town", ("region",))) in service.tables


def test_a_table_that_is_not_that_of_its_entry_is_not_given(service, monkeypatch):
    """A signed list whose files were mixed up by its writer would answer with another table."""
    one, two = service.tables[:2]
    service.release(one)
    monkeypatch.setitem(service._files, two.identity, service._files[one.identity])
    with pytest.raises(errors.PublicationUnusable, match="is not the table"):
        service.release(two)


def test_answers_are_kept_within_a_limit(service, monkeypatch):
    size = max(service.release(table).values.size for table in service.tables[:3])
    monkeypatch.setattr(service, "_cache", LRUCache(size, service._cache.getsizeof))
    for table in service.tables[:3]:
        service.release(table)
        service.release(replace(table, rows=table.variables, columns=()))
    assert len(service._cache) == 1


@pytest.mark.slow
def test_nothing_is_counted_protected_or_charged_without_keys(side_of, ruled):
    side = side_of("universe")
    published = side.published.open("town")
    with pytest.raises(errors.OutsideUniverse):
        published.check(TableRequest("town", ("sex",), ("age",), ("job",), filters=(("area", ("N1",)),)))
    protector = unlock_service(published).protector
    noise = next(each.noise for each in protector.plan.joint.residuals if each.noise is not None)
    stored = unlock_service(ruled.published.open("town"))
    for use in (  # what is in the place of records and keys refuses any use
        lambda: protector.source.named(noise, ("sex",), 3),
        lambda: stored.engine.aggregate,
        lambda: stored.protector.keys(1),
        lambda: stored.protector.dice(1),
    ):
        with pytest.raises(errors.WorkspaceUnusable, match="no records and no keys"):
            use()
