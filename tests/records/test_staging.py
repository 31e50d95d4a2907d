"""A chunk is checked and keyed; under `dp` nothing in it is a reason to refuse.

Ids that occur twice are all found, each with the record that has it already.

An engine's records as a file: the same records as were stored, in any order.
"""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadData, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.variable import Category, Variable
from discreet.records.checks import Problems
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.staging import find_duplicates, hash_bytes, hash_prefixes, id_prefixes, restage
from discreet.records.storage import storage_schema
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

SURVEY = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"
[[variable]]
name = "sex"
categories = ["1", "2"]
[survey]
sample_size = 2
population_size = 9
largest_weight = 7.5
"""
SURVEY_UNDER_DP = """
[protection]
method = "dp"
[protection.universe]
variables = ["sex"]
[protection.budget]
name = "s"
epsilon = 1.0
cap_epsilon = 4.0
"""


def test_under_dp_a_weight_above_the_declared_largest_counts_as_the_largest(tmp_path):
    """Wrong alternative: it is refused, as by the cell key method, which tells that somebody has such a weight."""
    records = pa.table({"id": ["a", "b"], "sex": ["1", "2"], "w": [1.5, 900.0]})
    with pytest.raises(BadData):
        load_dataset(tmp_path / "plain", SURVEY, records)
    load_dataset(tmp_path / "dp", SURVEY + SURVEY_UNDER_DP, records)
    stored = Workspace(tmp_path / "dp").stored("s")
    assert sorted(stored.engine.aggregate(AggregateQuery(("sex",), weights=True)).weight_sums.tolist()) == [
        15_000,
        75_000,
    ]


PEOPLE = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id")


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 7))
def test_every_repeated_id_is_told_once_wherever_the_chunks_end(ids, chunk):
    whole = np.array(ids, dtype=np.uint64)
    problems = Problems(PEOPLE)
    find_duplicates([whole[at : at + chunk] for at in range(0, whole.size, chunk)], problems, "id")
    again = [place for place, each in enumerate(ids) if each in ids[:place]]
    assert problems.told[1].get("id", 0) == len(again)


def test_records_without_an_id_are_no_duplicates_of_each_other():
    hashes = [b"a" * 16, None, None]
    batch = pa.record_batch({"h": pa.array(hashes, pa.binary())})
    found = hash_bytes(pa.array([each or b"\0" * 16 for each in hashes], pa.binary(16)))
    assert len(set(id_prefixes(batch, found, 5).tolist())) == 3
    assert len(set(hash_prefixes(found).tolist())) == 2  # the wrong way: both without an id are one


def test_the_file_has_every_record_once(town_workspace, tmp_path):
    stored = town_workspace.stored("town")
    path = restage(stored.engine, stored.dataset, tmp_path)
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.schema == storage_schema(stored.dataset)
    assert table.num_rows == 3000
    again = restage(stored.engine, stored.dataset, tmp_path)
    assert pa.ipc.open_file(again).read_all().num_rows == 3000


def test_an_engine_that_loses_records_is_found_out(town_workspace, tmp_path):
    stored = town_workspace.stored("town")

    class Forgetful:
        def aggregate(self, query):
            cells = stored.engine.aggregate(query)
            short = len(query.group_by) > 1
            kept = slice(None, -1) if short else slice(None)
            return SparseCells(tuple(c[kept] for c in cells.codes), cells.counts[kept], cells.key_sums[kept])

    with pytest.raises(WorkspaceUnusable, match="does not tell all"):
        restage(Forgetful(), stored.dataset, tmp_path)
