"""Differences of descriptions: by names and not by places, order included."""

from discreet.model.description_changes import description_changes


def places(before, after):
    return {change.place for change in description_changes(before, after)}


ONE = {"variable": [{"name": "a", "categories": [{"code": "1"}, {"code": "2"}]}, {"name": "b"}], "unit": "x"}


def test_an_entry_that_moves_is_an_order_and_no_other_change():
    two = {**ONE, "variable": ONE["variable"][::-1]}
    assert places(ONE, two) == {"variable.order"}
    assert places(ONE, ONE) == set()


def test_entries_come_go_and_change_by_name():
    two = {"variable": [{"name": "c"}, {"name": "a", "categories": [{"code": "1", "label": "x"}]}], "unit": 5}
    categories = {"variable.a.categories.2", "variable.a.categories.1.label"}
    assert places(ONE, two) == {*categories, "variable.b", "variable.c", "unit"}


def test_true_is_not_one():
    assert places({"a": 1}, {"a": True}) == {"a"}
