"""The file of codes holds what the records hold, and is refused, kept and removed with them."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.dataset_toml import parse_dataset
from discreet.records import code_file
from discreet.records.code_file import CODES, code_columns, open_codes, write_codes
from discreet.records.engine import AggregateQuery
from discreet.records.storage import RECORD_KEY, storage_schema
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def many(monkeypatch):
    """Few records are many here."""
    monkeypatch.setattr(code_file, "FEWEST", 1)


def records_of(dataset, areas):
    schema, count = storage_schema(dataset), len(areas)
    columns = {name: np.arange(count) % 2 for name in schema.names}
    columns |= {"area": np.array(areas), RECORD_KEY: 2**32 - 1 - np.arange(count)}
    return pa.record_batch(
        [pa.array(columns[n], schema.field(n).type) for n in schema.names], names=schema.names
    )


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
    with pytest.raises(WorkspaceUnusable, match="not those of its load"):
        Workspace(tmp_path).verify("town")
    path.unlink()
    with pytest.raises(RecordsAway):  # cubes may answer; the records are not read without it
        Workspace(tmp_path).stored("town").engine.aggregate(AggregateQuery(("area", "job", "age", "sex")))
