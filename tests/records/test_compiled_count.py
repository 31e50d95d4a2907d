"""The compiled count against DuckDB's sums: codes of one, two and four bytes, any number of threads, damaged files."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.records import compiled_count as fast_count
from discreet.records.compiled_count import (
    CODES,
    OUT,
    _compile,
    _cuts,
    _Kernel,
    code_columns,
    count_dense,
    open_codes,
    write_codes,
)
from discreet.records.cubes import CubedEngine, StoredCube
from discreet.records.engine import AggregateQuery
from discreet.records.engines.duckdb import KIND
from discreet.records.storage import RECORD_KEY, WEIGHT, storage_schema
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def compiled_kernel():
    pytest.importorskip("numba")
    return _compile()


WIDTHS = {"region": 3, "area": 300, "sex": 2, "parish": 70_000}


@pytest.fixture(scope="module")
def dataset():
    def codes(name, width):
        return tuple(Category(f"{n}", "", str(n % 3) if name == "area" else None) for n in range(width))

    variables = tuple(Variable(name, "", codes(name, width)) for name, width in WIDTHS.items())
    geography = Hierarchy("geography", "", ("region", "area"), geography=True)
    return Dataset("wide", "", variables, "id", hierarchies=(geography,), weight_column="weight")


@pytest.fixture(scope="module")
def engine(dataset, tmp_path_factory):
    """2,000 records on DuckDB, with their codes; keys and weights reach the ends of their types."""
    folder, random = tmp_path_factory.mktemp("version"), np.random.RandomState(3)
    columns = {name: random.randint(0, width, 2000) for name, width in WIDTHS.items()}
    columns["region"] = columns["area"] % 3
    columns["parish"][:3] = (0, 69_999, 65_536)
    columns[RECORD_KEY] = random.randint(2**31, 2**32, 2000, dtype=np.uint32)
    columns[WEIGHT] = random.randint(0, 2**40, 2000)
    schema = storage_schema(dataset)
    records = pa.table({name: pa.array(columns[name], schema.field(name).type) for name in schema.names})
    with pa.ipc.new_file(folder / "staged.arrow", schema) as writer:
        writer.write_table(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_count, "FEWEST", 1)
        KIND.store(folder / "staged.arrow", dataset, folder, "tag")
    opened = KIND.open(folder, dataset, None)
    yield opened
    opened.close()


def queries(count, seed):
    """Any variables in any order, any filters, also on grouped ones, with and without weights."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        names = random.permutation(list(WIDTHS))[: random.randint(1, 4)].tolist()
        filters = tuple(
            (name, tuple(random.permutation(width)[: random.randint(1, min(width, 300) + 1)].tolist()))
            for name, width in WIDTHS.items()
            if random.rand() < 0.4
        )
        yield AggregateQuery(tuple(names), filters, weights=bool(random.randint(2))), random


def slow(engine, query, lookups, cells):
    """The same table from DuckDB's groups."""
    found = engine.aggregate(query)
    place = sum((lookup[codes] for lookup, codes in zip(lookups, found.codes, strict=True)), start=0)
    counted = np.all([lookup[c] >= 0 for lookup, c in zip(lookups, found.codes, strict=True)], axis=0)
    tables = []
    for values in (found.counts, found.key_sums, found.weight_sums):
        if values is not None:
            tables.append(np.zeros(cells, values.dtype))
            np.add.at(tables[-1], np.broadcast_to(place, values.shape)[counted], values[counted])
    return tables


def lookups_of(query, random):
    """Each variable's codes in groups, some of them left out."""
    sizes = [min(WIDTHS[name], 40) for name in query.group_by]
    strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
    lookups = []
    for name, size, stride in zip(query.group_by, sizes, strides, strict=True):
        atoms = np.arange(WIDTHS[name]) % size if random.rand() < 0.5 else np.arange(WIDTHS[name]) * size
        atoms = atoms if atoms.max() < size else atoms // WIDTHS[name]
        lookups.append(np.where(random.rand(atoms.size) < 0.1, -1, atoms * stride))
    return lookups, int(np.prod(sizes))


@pytest.mark.slow
def test_any_table_is_that_of_duckdb(engine, monkeypatch):
    assert fast_count.prepare_kernel(wait=True)
    monkeypatch.setattr(fast_count, "STRETCH", 100)
    for number, (query, random) in enumerate(queries(150, 6)):
        lookups, cells = lookups_of(query, random)
        monkeypatch.setattr(fast_count, "OWN_TABLE", 1 << 18 if number % 2 else 0)
        kernel = fast_count.ready_kernel()
        found = count_dense(engine._codes, query, lookups, cells, kernel, 1 + number % 4)
        told = [each for each in (found.counts, found.key_sums, found.weight_sums) if each is not None]
        for own, expected in zip(told, slow(engine, query, lookups, cells), strict=True):
            assert own.dtype == expected.dtype
            assert own.tolist() == expected.tolist(), query


def test_threads_share_a_table_only_where_no_cell_is_in_two_stretches(engine, monkeypatch):
    """If they always shared one, two threads would add to one cell at once, and lose records."""
    monkeypatch.setattr(fast_count, "STRETCH", 100)
    codes, areas = engine._codes, np.arange(2**16).astype(np.uint32)
    cuts, shared = _cuts(codes, {"area": areas}, 300, 4)
    assert shared
    assert len(cuts) == 5
    places = codes.column("area")
    assert all(places[cut - 1] < places[cut] for cut in cuts[1:-1])
    first_and_last = np.where(areas == 299, 0, areas).astype(np.uint32)
    for moves in ({"area": first_and_last}, {"sex": np.zeros(256, np.uint32)}):
        cuts, shared = _cuts(codes, moves, 300, 4)
        assert (len(cuts), shared) == (5, False)
        cuts, shared = _cuts(codes, moves, fast_count.OWN_TABLE + 1, 4)
        assert (cuts, shared) == ([0, 2000], True)


def test_only_the_areas_that_count_are_read(engine, monkeypatch):
    monkeypatch.setattr(fast_count, "STRETCH", 1)
    places, lookup = engine._codes.column("area"), np.full(2**16, OUT, np.uint32)
    lookup[[20, 31]] = 0
    cuts, _ = _cuts(engine._codes, {"area": lookup}, 1, 2)
    assert places[cuts[0]] == 20
    assert places[cuts[-1] - 1] == 31
    assert cuts[-1] == 2000 or places[cuts[-1]] > 31
    lookup[:] = OUT
    assert _cuts(engine._codes, {"area": lookup}, 1, 2) == ([0, 0], True)
    assert all(a <= b for a, b in pairwise(cuts))


def test_what_it_cannot_count_is_left_to_the_engine(engine, slow_kernel):
    one = [np.zeros(2, np.int64)]
    for query, cells in (
        (AggregateQuery(("sex",), sums=("_square_low",)), 1),
        (AggregateQuery(("_cluster",)), 1),
        (AggregateQuery(("sex",)), OUT),
    ):
        assert count_dense(engine._codes, query, one, cells, slow_kernel) is None


def test_the_second_large_count_of_a_process_starts_the_kernel(dataset, engine, monkeypatch, slow_kernel):
    """A command that counts once does not pay for Numba; nobody waits for it."""
    kernel = _Kernel()
    monkeypatch.setattr(fast_count, "_KERNEL", kernel)
    monkeypatch.setattr(kernel, "make", lambda: setattr(kernel, "count", slow_kernel))
    query, lookups = AggregateQuery(("area",)), [np.arange(300)]
    cube = StoredCube(frozenset({"area"}), 1, object)
    covered = CubedEngine(dataset, lambda: (cube,), lambda: engine)
    assert [covered.dense(query, lookups, 300) for _ in range(3)] == [None] * 3
    assert kernel.requests == 0  # a cube serves
    engine = CubedEngine(dataset, tuple, lambda: engine)
    assert engine.dense(query, lookups, 300) is None
    assert kernel.thread is None
    engine.dense(query, lookups, 300)
    kernel.thread.join()
    assert engine.dense(query, lookups, 300).counts.sum() == 2000


def test_without_numba_nothing_is_started_and_one_that_does_not_load_changes_nothing(engine, monkeypatch):
    monkeypatch.setattr(fast_count, "_KERNEL", _Kernel())
    monkeypatch.setattr(fast_count, "_compile", lambda: 1 / 0)
    assert not fast_count.prepare_kernel(wait=True)
    kernel = _Kernel()
    monkeypatch.setattr(fast_count, "_KERNEL", kernel)
    monkeypatch.setattr(fast_count, "kernel_installed", lambda: False)
    assert [engine.dense(AggregateQuery(("area",)), [np.arange(300)], 300) for _ in range(3)] == [None] * 3
    assert kernel.thread is None
    assert not fast_count.prepare_kernel(wait=True)


@pytest.fixture
def many(monkeypatch):
    """Few records are many here."""
    monkeypatch.setattr(fast_count, "FEWEST", 1)


def records_of(dataset, areas):
    schema, count = storage_schema(dataset), len(areas)
    columns = {name: np.arange(count) % 2 for name in schema.names}
    columns |= {"area": np.array(areas), RECORD_KEY: 2**32 - 1 - np.arange(count)}
    return pa.record_batch(columns, schema=schema)


def test_columns_come_back_as_they_were_written(town, tmp_path, many):
    dataset = parse_dataset(town.description)
    parts = [records_of(dataset, areas) for areas in ([0, 0, 1], [1, 2])]
    write_codes(parts, 5, dataset, tmp_path)
    codes = open_codes(tmp_path, dataset)
    assert codes.records == 5
    for name in code_columns(dataset):
        assert codes.column(name).tolist() == [v for part in parts for v in part.column(name).to_pylist()]
    assert "confidential" in repr(codes)
    with pytest.raises(ValueError, match="read-only"):
        codes.raw[0] = 1


@pytest.mark.parametrize("areas", [([0, 2, 1],), ([0, 1], [0, 2])])
def test_records_that_are_not_sorted_leave_no_file(town, tmp_path, many, areas):
    """Threads that trust the order would count cells of one area in two stretches at once, and lose some."""
    dataset = parse_dataset(town.description)
    parts = [records_of(dataset, each) for each in areas]
    write_codes(parts, sum(map(len, areas)), dataset, tmp_path)
    assert open_codes(tmp_path, dataset) is None
    assert not list(tmp_path.iterdir())


def test_few_records_have_no_file(town, tmp_path):
    dataset = parse_dataset(town.description)
    write_codes([records_of(dataset, [0])], 1, dataset, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_load_seals_it_and_a_changed_byte_is_found(town, tmp_path, many):
    """A file beside the seal would let somebody count other records than those of the load."""
    digest = load_dataset(tmp_path, town.description, town.records)
    path = tmp_path / "datasets" / "town" / digest / CODES
    assert path.stat().st_mode == path.with_name("data.duckdb").stat().st_mode
    Workspace(tmp_path).verify("town")
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    with pytest.raises(WorkspaceUnusable, match="have changed since their load"):
        Workspace(tmp_path).verify("town")
    path.unlink()
    with pytest.raises(RecordsAway):  # cubes may answer; the records are not read without it
        Workspace(tmp_path).stored("town").engine.aggregate(AggregateQuery(("area", "job", "age", "sex")))


@pytest.mark.slow
def test_codes_beyond_a_lookup_touch_nothing_but_the_last_place(slow_kernel):
    """A damaged file must not make compiled code read or write beyond its arrays."""
    kernel = compiled_kernel()
    wrong_codes = np.full(5000, 2**32 - 1, np.uint32)
    raw = np.concatenate([np.arange(5000, dtype=np.uint32), wrong_codes]).view(np.uint8)  # keys, then codes
    lookups = np.array([0, 1, 1 << 28], dtype=np.uint32)
    tables = [[np.zeros(3, t) for t in (np.int64, np.uint64)] + [np.zeros(0, np.int64)] for _ in range(2)]
    for run, table in zip((kernel, slow_kernel), tables, strict=True):
        run(raw, np.array([20_000]), np.array([4]), lookups, np.array([0, 3]), 0, 0, 0, 5000, *table)
    assert tables[0][0].tolist() == tables[1][0].tolist() == [0, 0, 5000]
    assert tables[0][1].tolist() == tables[1][1].tolist() == [0, 0, 4999 * 2500]


@pytest.mark.slow
def test_key_sums_wrap_nowhere_below_two_to_the_64():
    kernel = compiled_kernel()
    raw = np.concatenate([np.full(3, 2**32 - 1, np.uint32).view(np.uint8), np.zeros(3, np.uint8)])
    keys = np.array([2**63, 0], dtype=np.uint64)
    no_weights = np.zeros(0, np.int64)
    lookup = np.zeros(256, np.uint32)
    arrays = (raw, np.array([12]), np.array([1]), lookup, np.array([0, 256]))
    kernel(*arrays, 0, 0, 0, 3, np.zeros(2, np.int64), keys, no_weights)
    assert keys.tolist() == [2**63 + 3 * (2**32 - 1), 0]
