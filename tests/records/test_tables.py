import pytest

from discreet.errors import BadData
from discreet.model.file_section import FileOptions
from discreet.records.tables import table_wanted


def test_the_only_table_needs_no_name_and_one_of_several_does():
    assert table_wanted(["people"], FileOptions(), "x.db").table == "people"
    assert table_wanted(["a", "b"], FileOptions(table="b"), "x.db").table == "b"
    with pytest.raises(BadData, match='has 2 tables: "a", "b"'):
        table_wanted(["a", "b"], FileOptions(), "x.db")
    with pytest.raises(BadData, match='Did you mean "people"'):
        table_wanted(["people"], FileOptions(table="peopel"), "x.db")
    with pytest.raises(BadData, match="has no sheet"):
        table_wanted([], FileOptions(), "x.xlsx", "sheet")
