import datetime as dt

import openpyxl

from discreet.model.description.sections import FileOptions


def test_a_sheet_gives_text_and_skips_empty_rows(opened, tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["id", None, "seen"], [1, 2.5, dt.datetime(2020, 5, 1)], [], [2, True, None]):  # noqa: DTZ001
        sheet.append(row)
    book.create_sheet("Notes").append(["nothing"])
    book.save(tmp_path / "x.xlsx")
    source = opened(tmp_path / "x.xlsx", FileOptions(table="Sheet"))
    assert source.columns == ["id", "column1", "seen"]
    assert source.relation.fetchall() == [("1", "2.5", "2020-05-01"), ("2", "true", None)]
    assert source.places([1, 2]) == [2, 4]
