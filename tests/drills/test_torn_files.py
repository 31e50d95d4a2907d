"""Torn, changed and foreign files: what is answered afterwards is what was answered before, or nothing."""

from __future__ import annotations

import random
import shutil

import pytest

from discreet.errors import DiscreetError
from discreet.formats import format_by_name
from discreet.model.request import TableRequest
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
