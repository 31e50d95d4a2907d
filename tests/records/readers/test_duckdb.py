import duckdb


def test_a_table_keeps_its_types(opened, tmp_path):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT 1 AS a, 'x' AS b")
    source = opened(tmp_path / "x.duckdb")
    assert source.found.table == "people"
    assert source.relation.fetchall() == [(1, "x")]
