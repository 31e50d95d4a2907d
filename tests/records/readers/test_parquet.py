import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadData


def test_a_folder_is_one_source_with_all_its_records(opened, tmp_path):
    for part in (1, 2):
        folder = tmp_path / "data" / f"year={part}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"a": [part] * 3}), folder / "x.parquet")
    source = opened(tmp_path / "data")
    assert source.records == 6
    assert source.relation.aggregate("sum(a)").fetchall() == [(9,)]


def test_an_empty_folder_is_refused(opened, tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(BadData, match="has no Parquet file"):
        opened(tmp_path / "data")
