"""A command that is killed, or meets a full disk, before any change of a file: what was before or what is after.

Python tells its audit hooks of each change of a file before it is done. What DuckDB, Arrow and SQLite write by themselves
meets a full disk in `test_small_disk.py`, and kills in tests/black_box/test_kills.py.
"""

from __future__ import annotations

import errno
import random
import shutil
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import write_secret
from tests.drills.faults import (
    COUNTED,
    SECOND,
    changes_of,
    check_after_fault,
    counted_records,
    found_outside,
    full,
    killed,
    outcome,
    served,
)

from discreet.errors import BadRequest, PublicationUnusable
from discreet.publish.file_store import FolderStorage
from discreet.publish.published_registry import PublishedRegistry
from discreet.publish.publisher import publish
from discreet.records.signing import signing_key
from discreet.release.dataset_registry import open_registry
from discreet.workspace.folder_layout import REPLACED, RETIRING, list_versions
from discreet.workspace.operate import rotate as rotation
from discreet.workspace.operate.backup_restore import back_up, move, restore, verify_backup
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.operate.manage_versions import move_engine, remove_version, roll_back
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version import set_current

pytestmark = [pytest.mark.slow, pytest.mark.drill]


def loads(folder):
    third = SECOND.replace('version = "2"', 'version = "3"')
    load_dataset(folder, third, counted_records(200), engine="duckdb")


def rolls_back(folder):
    roll_back(folder, "counted", "1")


def removes(folder):
    if len(list_versions(folder / "datasets" / "counted")) > 1:  # else it was done
        remove_version(folder, "counted", "1")


def builds(folder):
    make_cubes(folder, "counted", up_to=2, within=10**9)


def backs_up(folder):
    if not (folder.parent / "copy").exists():  # else it was done
        back_up(folder, folder.parent / "copy")
    verify_backup(folder.parent / "copy")


def restores(folder):
    restore(folder.parent / "kept", folder)


def publishes(folder):
    registry = open_registry(folder, threads=1)
    publish(registry, "counted", FolderStorage(folder.parent / "public"), signing_key(folder))
    registry.close()


def moves(folder):
    with suppress(BadRequest):  # it was done
        move_engine(folder, "counted", "parquet")
    assert not list((folder / "datasets" / "counted" / served(folder)[0]).glob("data.duckdb"))


def relabels(folder):
    relabel_dataset(folder, SECOND.replace('label = "Counted"', 'label = "Counted again"'))


def rotates(folder):
    if not list(folder.glob("retired-*")):  # else it was done
        rotation.rotate(folder)


#: Each command, and whether another version or another secret is served after it.
COMMANDS = {
    each.__name__: each
    for each in (loads, rolls_back, removes, builds, backs_up, restores, publishes, moves, relabels)
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_template(tmp_path_factory.mktemp("template"))


def make_template(base):
    """A workspace with two versions that are served side by side, and its backup."""
    write_secret(base / "w")
    load_dataset(base / "w", COUNTED, counted_records())
    load_dataset(base / "w", SECOND, counted_records(100), serve_beside=True)
    assert found_outside(base / "w") == set()
    back_up(base / "w", base / "kept")
    return base


def some_changes(whole, number):
    """Numbers of changes, from 1 on: a half are the last ones, the others are chosen at random."""
    late = min(number // 2, whole)
    before = range(1, whole - late + 1)
    chosen = random.Random(8).sample(before, min(len(before), number - late))
    return [*chosen, *range(whole - late + 1, whole + 1)]


def is_between_names(folder):
    """Whether `move-engine` died between its two renames: the version answers nothing until the next command."""
    replaced = list(folder.glob("datasets/*/.replaced-*"))
    return any(not (path.parent / path.name.removeprefix(REPLACED)).exists() for path in replaced)


def temporary_files(base):
    """Hidden files and folders that are no locks."""
    return [path for path in base.rglob(".*") if path.name not in {".lock", ".mark.lock", ".backup.lock"}]


@pytest.mark.parametrize("fault", [killed, full])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_struck_before_any_change(template, tmp_path, name, fault, drill):
    command, base = COMMANDS[name], tmp_path / "base"
    shutil.copytree(template, base)
    before = served(base / "w")
    whole = changes_of(base, partial(command, base / "w"))
    after = served(base / "w")
    shutil.rmtree(base)
    chosen = some_changes(whole, drill.times(1, 20))
    found: Counter[str] = Counter()
    for number in chosen:
        shutil.copytree(template, base)
        found[outcome(base, partial(fault, number), partial(command, base / "w"))] += 1
        if name == "moves" and is_between_names(base / "w"):
            assert served(base / "w") == ("", b"")
            found["between_names"] += 1
        elif name != "restores" or (base / "w").exists():
            there = served(base / "w")
            assert there in {before, after}, number
            found["as_before" if there == before else "as_after"] += 1
            check_after_fault(base / "w")
        if name == "publishes":
            assert found_outside(base / "w", base / "public") == set()
            _whole_or_none(base)
        command(base / "w")
        assert served(base / "w") == after, number
        assert not temporary_files(base), number
        shutil.rmtree(base)
    assert before[0]
    assert found["died" if fault is killed else "refused"]
    drill.note(changes=whole, faults=len(chosen), **found, other=0)


def _whole_or_none(base) -> None:
    """A publication that was broken off is none, or whole."""
    try:
        registry = PublishedRegistry(FolderStorage(base / "public"), signing_key(base / "w").public)
    except PublicationUnusable:
        return
    registry.verify("counted")


def moves_to_another_disk(folder):
    rename, to = Path.rename, folder.parent / "far"

    def between_disks(self, target):
        if (self, target) == (folder, to):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", between_disks)
        if not to.exists() or folder.exists() or temporary_files(folder.parent):  # else it was done
            move(folder, to)


def test_a_move_to_another_disk_killed_before_any_change_is_finished_by_the_next(template, tmp_path, drill):
    """There are never two workspaces: a server of one would spend what the other does not know."""
    before, base = served(template / "w"), tmp_path / "base"
    shutil.copytree(template, base)
    whole = changes_of(base, partial(moves_to_another_disk, base / "w"))
    shutil.rmtree(base)
    chosen = some_changes(whole, drill.times(4, 40))
    found: Counter[str] = Counter()
    for number in chosen:
        shutil.copytree(template, base)
        assert outcome(base, partial(killed, number), partial(moves_to_another_disk, base / "w")) == "died"
        places = [place.name for place in (base / "w", base / "far") if place.exists()]
        found[{"w": "at_the_old_place", "far": "at_the_new_place"}[places[0]] if places else "at_none"] += 1
        assert len(places) < 2, number
        assert [served(base / name) for name in places] == [before] * len(places)
        moves_to_another_disk(base / "w")
        assert not (base / "w").exists()
        assert served(base / "far") == before
        check_after_fault(base / "far")
        assert not temporary_files(base), number
        shutil.rmtree(base)
    drill.note(changes=whole, kills=len(chosen), **found, two_workspaces=0)


def test_a_rotation_killed_before_any_change_is_finished_by_the_next(template, tmp_path, drill):
    """Until it has begun the old workspace is served; then nothing, until the same command ends it."""
    base, before = tmp_path / "base", served(template / "w")
    shutil.copytree(template, base)
    whole = changes_of(base, partial(rotates, base / "w"))
    shutil.rmtree(base)
    under_way = 0
    chosen = random.Random(9).sample(range(1, whole + 1), drill.times(4, whole))
    for number in chosen:
        shutil.copytree(template, base)
        old = (base / "w" / "secret").read_bytes()
        assert outcome(base, partial(killed, number), partial(rotates, base / "w")) == "died"
        retiring, chained = (base / "w" / RETIRING).exists(), (base / "w" / rotation.NEXT).exists()
        under_way += retiring
        assert served(base / "w") == (("", b"") if retiring or list(base.glob("w/retired-*")) else before)
        if not (retiring or chained):  # else it is said that the same command finishes it
            check_after_fault(base / "w")
        rotates(base / "w")
        check_after_fault(base / "w")
        (retired,) = (base / "w").glob("retired-*")
        assert served(retired) == before
        assert (base / "w" / "secret").read_bytes() != old
        assert not (base / "w" / rotation.NEXT).exists()
        load_dataset(base / "w", SECOND, counted_records(100))
        assert served(base / "w")[1] not in {b"", before[1]}
        shutil.rmtree(base)
    assert under_way
    drill.note(kills=len(chosen), broken_off=under_way, finished_by_the_next=len(chosen), lost_workspaces=0)


def points_in_place(home, digest):
    """Wrong: no new file and no rename."""
    with (home / "current").open("w") as file:
        file.write(digest[:10])
        (home / ".passing").touch()
        file.write(digest[10:] + "\n")


def test_a_pointer_that_is_written_in_place_would_be_found_out(template, tmp_path, monkeypatch):
    """A writer without a rename leaves half a pointer, and nothing is served."""
    lost = {}
    for writer in (set_current, points_in_place):
        monkeypatch.setattr("discreet.workspace.operate.manage_versions.set_current", writer)
        base = shutil.copytree(template, tmp_path / writer.__name__ / "all")
        whole, found = changes_of(base, partial(rolls_back, base / "w")), set()
        for number in range(1, whole + 1):
            base = shutil.copytree(template, tmp_path / writer.__name__ / str(number))
            outcome(base, partial(killed, number), partial(rolls_back, base / "w"))
            found.add(served(base / "w")[0])
        lost[writer.__name__] = "" in found
    assert lost == {"set_current": False, "points_in_place": True}


def test_what_lies_outside_of_the_protected_store_would_be_found_out(template, tmp_path):
    """Wrong: a temporary file with records, a key in the log, a count in a note beside the workspace."""
    secret = (template / "w" / "secret").read_bytes()
    for name, content in (
        ("key", b"..." + secret.hex().encode()),
        ("records", b"zq7id-17,1,2"),
        ("count", b'{"n": 1307}'),
    ):
        (tmp_path / "tmp").mkdir()
        (tmp_path / "tmp" / name).write_bytes(content)
        assert len(found_outside(template / "w", tmp_path / "tmp")) == 1, name
        with pytest.raises(AssertionError):
            check_after_fault(template / "w", tmp_path / "tmp")
        shutil.rmtree(tmp_path / "tmp")
