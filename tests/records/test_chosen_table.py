import pytest

from discreet.errors import BadData
from discreet.model.file_section import FileOptions
from discreet.records.chosen_table import choose_table


def test_the_only_table_needs_no_name_and_one_of_several_does():
    assert choose_table(["people"], FileOptions(), "x.db").table == "people"
    assert choose_table(["a", "b"], FileOptions(table="b"), "x.db").table == "b"
    with pytest.raises(BadData, match='has 2 tables: "a", "b"'):
        choose_table(["a", "b"], FileOptions(), "x.db")
    with pytest.raises(BadData, match='Did you mean "people"'):
        choose_table(["people"], FileOptions(table="peopel"), "x.db")
    with pytest.raises(BadData, match="has no sheet"):
        choose_table([], FileOptions(), "x.xlsx", "sheet")
