"""What changed between two loads is counted exactly, by record keys and contents, and cannot be shown by accident."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.records import changes
from discreet.records.changes import Changes, count_changes
from discreet.records.engine import engine_kind
from discreet.records.storage import RECORD_KEY, WEIGHT, storage_schema


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description.replace("id_column", 'weight_column = "weight"\nid_column', 1))


def coded(dataset, records=900, seed=3):
    """Coded records: some record keys occur twice, as keys of 32 bits may."""
    random = np.random.RandomState(seed)
    columns = {v.name: random.randint(0, len(v), records) for v in dataset.variables}
    columns[RECORD_KEY] = random.randint(0, records * 20, records)
    columns[WEIGHT] = random.randint(1, 9, records)
    return columns


def stored(dataset, columns, folder):
    folder.mkdir()
    schema = storage_schema(dataset)
    table = pa.table(columns, schema=schema)
    with pa.ipc.new_file(folder / "staged.arrow", schema) as writer:
        writer.write_table(table)
    engine_kind("duckdb").store(folder / "staged.arrow", dataset, folder, "tag")
    return dataset, engine_kind("duckdb").open(folder, dataset, 1)


def slow(before, after):
    """Removed, added and changed by a loop over lists."""
    names = sorted(set(before) - {RECORD_KEY})
    rows = [
        list(zip(each[RECORD_KEY].tolist(), *(each[name].tolist() for name in names), strict=True))
        for each in (before, after)
    ]
    gone = list(rows[0])
    new = [row for row in rows[1] if row not in gone or gone.remove(row)]
    keys, changed = [row[0] for row in gone], 0
    for row in new:
        if row[0] in keys:
            keys.remove(row[0])
            changed += 1
    return len(new) - changed, len(gone) - changed, changed


def edited(columns, removed, changed, added, seed=8):
    """Other records: the first ones removed, the next ones changed, some of the last ones added with new keys."""
    random = np.random.RandomState(seed)
    after = {name: values[removed:].copy() for name, values in columns.items()}
    after["sex"][:changed] = 1 - after["sex"][:changed]
    more = {name: values[-added:].copy() if added else values[:0] for name, values in columns.items()}
    more[RECORD_KEY] = more[RECORD_KEY] + 10**6
    order = random.permutation(len(after["sex"]) + added)
    return {name: np.concatenate([after[name], more[name]])[order] for name in after}


@pytest.mark.parametrize("part", [1_000_000, 40], ids=["at once", "in parts"])
@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (3, 5, 7)], ids=str)
def test_it_agrees_with_a_loop_over_the_records(dataset, tmp_path, monkeypatch, counts, part):
    monkeypatch.setattr(changes, "PART", part)
    one = coded(dataset)
    two = edited(one, *counts)
    before, after = (stored(dataset, each, tmp_path / name) for each, name in ((one, "a"), (two, "b")))
    found = count_changes(before, after, same_keys=True)
    assert (found.added, found.removed, found.changed) == slow(one, two) == (counts[2], counts[0], counts[1])
    assert bool(found.records) == any(counts)


def test_a_changed_weight_and_a_person_who_moved_are_changes_and_other_keys_are_not(dataset, tmp_path):
    """The wrong alternative compares areas one by one: who moves would be removed here and added there."""
    one = coded(dataset)
    two = {name: values.copy() for name, values in one.items()}
    two[WEIGHT][0] += 1
    two["area"][1] = (two["area"][1] + 1) % 5
    three = {name: values[2:] for name, values in one.items()} | {RECORD_KEY: one[RECORD_KEY][2:] ^ 12345}
    before, after, fewer = (
        stored(dataset, each, tmp_path / str(n)) for n, each in enumerate((one, two, three))
    )
    found = count_changes(before, after, same_keys=True)
    assert (found.added, found.removed, found.changed) == (0, 0, 2)
    found = count_changes(before, fewer, same_keys=False)
    assert (found.added, found.removed, found.changed) == (0, 2, 0)


def test_changes_cannot_be_printed_or_sent():
    found = Changes(4711, 0, 0)
    assert "4711" not in f"{found!r}"
    with pytest.raises(TypeError):
        pickle.dumps(found)
