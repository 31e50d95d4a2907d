"""An engine's records as a file: the same records as were stored, in any order."""

import pyarrow as pa
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.engine import SparseCells
from discreet.records.staged_again import staged_again
from discreet.records.storage import storage_schema


def test_the_file_has_every_record_once(town_workspace, tmp_path):
    stored = town_workspace.stored("town")
    path = staged_again(stored.engine, stored.dataset, tmp_path)
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.schema == storage_schema(stored.dataset)
    assert table.num_rows == 3000
    again = staged_again(stored.engine, stored.dataset, tmp_path)
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
        staged_again(Forgetful(), stored.dataset, tmp_path)
