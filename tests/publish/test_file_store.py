"""Folders and buckets: a file is there as a whole or not at all."""

import pytest

from discreet.errors import BadRequest, MissingExtra, PublicationUnusable
from discreet.publish.file_store import BucketStorage, FolderStorage, open_storage
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import publish, same_release
from discreet.records.signing import signing_key


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    bucket = f"memory://{tmp_path.name}/tables"
    return FolderStorage(tmp_path) if request.param == "folder" else BucketStorage(bucket)


def test_a_file_is_written_read_and_replaced(place):
    assert place.size("files/a") is None
    with pytest.raises(PublicationUnusable, match="files/a"):
        place.read("files/a")
    place.write("files/a", b"one")
    before = place.mark("files/a")
    assert (place.read("files/a"), place.size("files/a")) == (b"one", 3)
    assert place.mark("files/a") == before
    place.write("files/a", b"another")
    assert (place.read("files/a"), place.mark("files/a") == before) == (b"another", False)


def test_a_text_is_a_folder_or_an_address(tmp_path):
    assert isinstance(open_storage(str(tmp_path)), FolderStorage)
    assert isinstance(open_storage("memory://bucket/tables"), BucketStorage)
    with pytest.raises((BadRequest, MissingExtra)):
        open_storage("nowhere://bucket")


def test_nothing_is_left_beside_a_file_that_could_not_be_written(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a").mkdir()  # a folder in its place
    with pytest.raises(OSError, match="a"):
        FolderStorage(tmp_path).write("files/a", b"content")
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["a"]


def test_what_a_killed_publication_left_is_removed_by_the_next(tmp_path):
    for folder in (tmp_path, tmp_path / "files"):
        folder.mkdir(exist_ok=True)
        (folder / ".writing-0123456789abcdef").write_bytes(b"half")
    storage = FolderStorage(tmp_path)
    storage.write("files/a", b"one")
    storage.write("pointer", b"two")
    assert {path.name for path in tmp_path.rglob("*")} == {"files", "a", "pointer"}


@pytest.mark.slow
def test_a_bucket_serves_what_was_published_into_it(ruled):
    key, bucket = signing_key(ruled.workspace), BucketStorage("memory://office/tables")
    publish(ruled.live, "town", bucket, key)
    registry = PublishedRegistry(bucket, key.public)
    assert publish(ruled.live, "town", bucket, key).written == 0
    table = registry.open("town").tables[3]
    assert same_release(registry.open("town").release(table), ruled.live.open("town").release(table))
