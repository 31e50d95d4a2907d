"""A publication is believed if its list is signed and every file is the one that was listed."""

import json
import shutil
from dataclasses import asdict

import pytest

from discreet.errors import DiscreetError, PublicationUnusable, SignatureUnusable
from discreet.publish.file_store import FolderStorage
from discreet.publish.publication import POINTER, read_publication, ref_to
from discreet.publish.published_registry import PublishedRegistry
from discreet.records.signing import signing_key


@pytest.fixture
def copy(ruled, tmp_path):
    """A publication that may be damaged, and the key that is trusted."""
    shutil.copytree(ruled.folder, tmp_path / "tables")
    return tmp_path / "tables", signing_key(ruled.workspace).public


def changed_pointer(folder, **changes):
    pointer = json.loads((folder / POINTER).read_text())
    (folder / POINTER).write_text(json.dumps(pointer | changes))


def test_a_whole_publication_is_read(copy):
    folder, key = copy
    found, signer = read_publication(FolderStorage(folder), key)
    assert (list(found.datasets), signer) == (["town"], key)
    assert read_publication(FolderStorage(folder), None)[1] == key


@pytest.mark.slow
def test_an_unsigned_an_altered_and_a_foreign_list_are_refused(copy, side_of):
    folder, key = copy
    before = (folder / POINTER).read_text()
    pointer = json.loads(before)
    listed = (folder / "files" / pointer["list"]["sha256"]).read_bytes()
    other = side_of("fitted")
    forged = listed.replace(b'"digest"', b'"Digest"', 1)
    (folder / "files" / ref_to(forged).sha256).write_bytes(forged)
    wrong = [
        {"signature": ""},
        {"signature": "00" * 64},
        {"list": asdict(ref_to(forged))},  # a list that was changed, under its own hash
        {"public_key": signing_key(other.workspace).public.text},
        {"signature": 7},
        {"list": {}},
    ]
    for changes in wrong:
        (folder / POINTER).write_text(before)
        changed_pointer(folder, **changes)
        with pytest.raises((SignatureUnusable, PublicationUnusable)):
            read_publication(FolderStorage(folder), key)
    (folder / POINTER).write_bytes((other.folder / POINTER).read_bytes())
    shutil.copytree(other.folder / "files", folder / "files", dirs_exist_ok=True)
    assert read_publication(FolderStorage(folder), None)  # whole, but not the office's
    with pytest.raises(SignatureUnusable, match="is trusted"):
        read_publication(FolderStorage(folder), key)


def test_a_damaged_or_swapped_table_is_refused_and_the_others_are_not(copy):
    folder, key = copy
    entry = read_publication(FolderStorage(folder), key)[0].datasets["town"]
    (_, one), (_, two), (_, three) = entry.tables[:3]
    damaged = bytearray((folder / one.name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / one.name).write_bytes(damaged)
    (folder / two.name).write_bytes((folder / three.name).read_bytes())  # a table of the same publication
    registry = PublishedRegistry(FolderStorage(folder), key)
    service = registry.open("town")
    for table in service.tables[:2]:
        with pytest.raises(PublicationUnusable, match="is damaged or was changed after signing"):
            service.release(table)
    service.release(service.tables[2])
    with pytest.raises(PublicationUnusable):
        registry.verify("town")
    with pytest.raises(PublicationUnusable):
        registry.open("town")  # what was found damaged is not answered until it is sound


def test_the_description_and_the_noise_are_checked_too(copy):
    folder, key = copy
    entry = read_publication(FolderStorage(folder), key)[0].datasets["town"]
    for ref in (entry.parts, entry.noise):
        content = (folder / ref.name).read_bytes()
        (folder / ref.name).write_bytes(content.replace(b"e", b"f", 1))
        with pytest.raises(DiscreetError):
            PublishedRegistry(FolderStorage(folder), key).open("town")
        (folder / ref.name).write_bytes(content)
    PublishedRegistry(FolderStorage(folder), key).open("town")


def test_a_folder_without_a_publication_says_so(tmp_path):
    with pytest.raises(PublicationUnusable, match=POINTER):
        PublishedRegistry(FolderStorage(tmp_path))
