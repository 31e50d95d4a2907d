import pyarrow as pa
import pytest


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_files_and_streams_are_read_batch_by_batch(make, opened, tmp_path):
    table = pa.table({"a": list(range(1000))})
    with make(tmp_path / "x.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    assert opened(tmp_path / "x.arrow").relation.fetchall() == [(n,) for n in range(1000)]
