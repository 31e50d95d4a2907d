"""Lines of a table: labels, codes or both, and the cell that an address names."""

import pytest

from discreet.server.grid_lines import lines_of


@pytest.mark.parametrize(
    ("naming", "first", "last"),
    [("labels", "Child", "Total"), ("codes", "child", "Total"), ("both", "Child (child)", "Total")],
)
def test_a_total_keeps_its_label_however_others_are_named(town_release, naming, first, last):
    axis = (town_release.dimensions[0],)
    lines = lines_of(axis, range(axis[0].length), naming)
    assert (lines[0].labels, lines[-1].labels) == ((first,), (last,))
    assert (lines[0].cell, lines[-1].cell) == ("age=child", "age=_T")
    assert [line.total for line in lines] == [False, False, False, True]


def test_the_outer_variable_runs_slowest_and_groups_begin_with_it(town_release):
    axis = town_release.dimensions[:2]
    lines = lines_of(axis, range(axis[1].length + 1), "labels")
    assert [line.first for line in lines] == [True, *[False] * (axis[1].length - 1), True]
    assert lines[-1].labels[0] == axis[0].labels[1]
