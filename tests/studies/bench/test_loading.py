"""The loading part reads and loads each file once; no time is asserted."""

import pytest

from discreet_studies.bench import loading
from discreet_studies.bench.loading import measure, write_files
from discreet_studies.bench.part import Wish


@pytest.mark.slow
def test_each_file_is_read_and_loaded(monkeypatch):
    """Both files are compared; one of them in processes of its own."""
    run = loading.run
    monkeypatch.setattr(
        loading, "run", lambda *given: run(*given) if given[1].suffix == ".csv" else (1.0, 1.0, 11.0)
    )
    results = list(measure(Wish(rows=(1000,), say=lambda _what: None)))
    assert [result["file"] for result in results] == ["csv", "parquet"]
    assert all(result["load_mb"] > 10 and result["ratio"] > 0 for result in results)


def test_both_files_hold_the_same_people(tmp_path):
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    as_csv, as_parquet = write_files(tmp_path, 1000)
    table = pq.read_table(as_parquet)
    assert len(table) == 1000
    assert pc.read_csv(as_csv).column_names == table.column_names
