import sqlite3

from discreet.model.description.sections import FileOptions


def test_numbers_come_as_codes_and_any_name_of_a_table_is_one(opened, tmp_path):
    path = tmp_path / "a b#?.db"
    database = sqlite3.connect(path)
    database.execute('CREATE TABLE "x""; DROP" (a, b)')
    database.executemany('INSERT INTO "x""; DROP" VALUES (?, ?)', [(1, 2.0), (None, "z"), (2.5, b"\x01")])
    database.commit()
    database.close()
    source = opened(path, FileOptions(table='x"; DROP'))
    assert source.records == 3
    assert source.relation.fetchall() == [("1", "2"), (None, "z"), ("2.5", "01")]
