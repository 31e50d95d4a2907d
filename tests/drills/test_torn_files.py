"""Torn, changed and foreign files: what is answered afterwards is what was answered before, or nothing."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from itertools import product

import pytest

from discreet.errors import DiscreetError
from discreet.formats import format_by_name
from discreet.model.request import TableRequest
from discreet.publish import publication as publication_module
from discreet.publish.file_store import FolderStorage
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import publish
from discreet.records.signing import signing_key
from discreet.release.dataset_registry import open_registry
from discreet.workspace.versions.load_version import load_dataset

pytestmark = [pytest.mark.slow, pytest.mark.drill]

QUESTIONS = (TableRequest("town", ("sex",), ("age",)), TableRequest("town", ("area",)))


def torn(path, _other):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def changed(path, _other):
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


def emptied(path, _other):
    path.write_bytes(b"")


def gone(path, _other):
    path.unlink()


def foreign(path, other):
    if other.is_file():
        shutil.copyfile(other, path)


FAULTS = (torn, changed, emptied, gone, foreign)


def answers(folder):
    """The bytes of two tables, or None where they are not answered."""
    found = []
    try:
        registry = open_registry(folder, threads=1)
    except DiscreetError:
        return [None] * len(QUESTIONS)
    for question in QUESTIONS:
        try:
            found.append(b"".join(format_by_name("csv").pieces(registry.open("town").release(question))))
        except DiscreetError:
            found.append(None)
    registry.close()
    return found


#: A small publication; the town's description with it.
PUBLISHED = '\n[publish]\nvariables = ["sex", "age"]\nup_to = 2\n'


def published_answers(folder, key):
    """The bytes of all tables of a publication, or None where one is not answered."""
    try:
        registry = PublishedRegistry(FolderStorage(folder), key)
        service = registry.open("town")
    except DiscreetError:
        return None
    found = []
    for rows, columns in ((("sex",), ("age",)), (("sex",), ()), (("age",), ())):
        try:
            release = service.release(TableRequest("town", rows, columns))
            found.append(b"".join(format_by_name("csv").pieces(release)))
        except DiscreetError:
            found.append(None)
    return found


def changed_bytes(folder, key, number):
    """Change one byte at a time, chosen at random, each file as often; what is answered then is compared."""
    truth, found, rng = published_answers(folder, key), Counter(), random.Random(5)
    assert None not in truth
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path, _ in product(files, range(-(-number // len(files)))):
        whole = path.read_bytes()
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ rng.randrange(1, 256)]) + whole[place + 1 :])
        found["changed_bytes"] += 1
        answered = published_answers(folder, key)
        found["refused_as_a_whole"] += answered is None
        for before, after in zip(truth, answered or [], strict=answered is not None):
            found[
                "not_answered"
                if after is None
                else "answered_as_before"
                if after == before
                else "other_numbers"
            ] += 1
        path.write_bytes(whole)
    assert published_answers(folder, key) == truth
    return len(files), found


def published(folder, town, records):
    """A folder with published tables of some records, and the public key of those that signed them."""
    load_dataset(folder / "w", town.description + PUBLISHED, records)
    registry, key = open_registry(folder / "w", threads=1), signing_key(folder / "w")
    publish(registry, "town", FolderStorage(folder / "public"), key)
    registry.close()
    return folder / "public", key.public


@pytest.fixture
def publication(town, tmp_path):
    return published(tmp_path, town, town.records)


def test_no_byte_of_a_publication_can_be_changed_into_another_number(publication, drill):
    files, found = changed_bytes(*publication, drill.times(60, 1_000))
    assert found["refused_as_a_whole"]
    assert found["not_answered"]
    assert not found["other_numbers"]
    drill.note(files=files, **{"other_numbers": 0, **found})


def test_a_reader_that_compares_no_hash_would_be_found_out(publication, town, tmp_path, monkeypatch):
    """Wrong alternative: tables of another publication are answered under the names of these."""
    folder, key = publication
    truth, other = published_answers(folder, key), published(tmp_path / "other", town, town.records.slice(3))
    files, foreign_files = (
        PublishedRegistry(FolderStorage(place), public).open("town")._files
        for place, public in (publication, other)
    )
    for identity, ref in files.items():
        shutil.copyfile(other[0] / foreign_files[identity].name, folder / ref.name)
    assert published_answers(folder, key) == [None] * len(truth)
    monkeypatch.setattr(publication_module, "read_file", lambda place, ref: place.read(ref.name))
    answered = published_answers(folder, key)
    assert None not in answered
    assert answered != truth


def test_no_file_of_a_workspace_can_be_damaged_into_another_number(town, loaded, tmp_path, drill):
    other = tmp_path / "other"
    load_dataset(other, town.description, town.records.slice(3))
    truth = answers(loaded)
    assert None not in truth
    assert truth != answers(other)
    files = sorted(
        path.relative_to(loaded) for path in loaded.rglob("*") if path.is_file() and path.stat().st_size
    )
    version = (loaded / "datasets" / "town" / "current").read_text().strip()
    twin = (other / "datasets" / "town" / "current").read_text().strip()
    cases = [(name, fault) for name in files for fault in FAULTS]
    chosen = random.Random(3).sample(cases, min(len(cases), drill.times(12, len(cases))))
    same = none = 0
    for name, fault in chosen:
        copy = shutil.copytree(loaded, tmp_path / "copy")
        fault(copy / name, other / str(name).replace(version, twin))
        for before, after in zip(truth, answers(copy), strict=True):
            assert after is None or after == before, (str(name), fault.__name__)
            same, none = same + (after is not None), none + (after is None)
        shutil.rmtree(copy)
    assert none
    drill.note(
        files=len(files), faults=len(chosen), answered_as_before=same, not_answered=none, other_numbers=0
    )
