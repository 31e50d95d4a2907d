"""What a reader who builds does to a table, as values."""

from discreet.model.request import TableRequest
from discreet.server.builder.edits import (
    counted_only,
    grouped_as,
    levelled,
    placed,
    regrouped,
    swapped,
    taken_out,
    ungrouped,
)

ASKED = TableRequest(
    "people", ("age", "district"), ("sex",), filters=(("age!", ("1",)), ("sex", ("1",))), levels=(("district", ("region",)),)
)  # fmt: skip


def test_a_variable_stands_once_wherever_it_is_put():
    assert placed(ASKED, "sex", "rows", 0).variables == ("sex", "age", "district")
    assert placed(ASKED, "job", "layers").layers == ("job",)


def test_who_leaves_the_table_takes_groups_and_levels_along_and_leaves_the_filter():
    """A level of a variable that is not in the table would be refused."""
    left = taken_out(ASKED, "district")
    assert (left.rows, left.levels, left.filters) == (("age",), (), ASKED.filters)
    grouped = regrouped(ASKED, "age", ((("1", "2"), "Young"),))
    assert "group" not in dict(taken_out(grouped, "age").to_query())


def test_groups_levels_and_filters_are_changed_for_one_variable_alone():
    grouped = regrouped(ASKED, "district", ((("1", "2"), "Both"), (("3",), "")))
    assert (grouped.levels, grouped.group_lines()) == ((), ["district=Both:1+2,3"])
    assert ungrouped(grouped, "district").group_lines() == []
    assert levelled(ASKED, "district", ()).levels == ()
    assert counted_only(ASKED, "age", ("2",)).filters == (("sex", ("1",)), ("age", ("2",)))
    assert swapped(ASKED).columns == ASKED.rows


def test_a_category_leaves_the_group_in_which_it_was():
    shown = ((("1", "2"), "Young"), (("3",), ""))
    assert grouped_as(shown, ["2", "3"], "Others") == ((("2", "3"), "Others"), (("1",), "Young"))
