"""From what is sent to what is asked."""

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, UnknownVariable
from discreet.web.pxweb.selection_syntax import Pick, RawSelection, read_parameters, selection_from_query
from discreet.web.pxweb.value_selection import canonical_selection, select

KNOWN = ("valuecodes[]", "codelist[]", "heading", "stub")


@pytest.fixture
def door(px_doors):
    return px_doors.door("town")


def wanted(text):
    return selection_from_query(read_parameters(QueryParams(text), KNOWN))


def test_variables_stand_in_the_order_of_the_dataset_whatever_the_order_of_the_selection(door):
    one, other = (
        select(door, wanted(text))
        for text in (
            "valuecodes[sex]=1&valuecodes[age]=old,child",
            "valuecodes[AGE]=child,old&valuecodes[Sex]=1",
        )
    )
    assert one == other
    assert [(each.dimension.name, each.codes) for each in one.chosen] == [
        ("sex", ("1",)),
        ("age", ("child", "old")),
    ]
    assert one.cells == 2


def test_a_selection_is_no_filter(door):
    """Wrong alternative: a request that filters on the selected codes."""
    request = select(door, wanted("valuecodes[sex]=1&valuecodes[age]=old")).request("town", "count")
    assert request.filters == request.groups == ()
    assert request.totals
    assert set(request.variables) == {"sex", "age"}


def test_a_variable_without_values_is_eliminated(door):
    selected = select(door, RawSelection((Pick("sex", ("*",)), Pick("age", ()))))
    assert [each.dimension.name for each in selected.chosen] == ["sex"]


def test_nothing_selected_is_a_small_table_and_all_eliminated_its_total(door):
    default = select(door, RawSelection())
    assert [(each.dimension.name, each.codes) for each in default.chosen] == [("sex", ("1", "2", "_T"))]
    total = select(door, wanted("valuecodes[ContentsCode]=count"))
    assert [(each.dimension.name, each.codes) for each in total.chosen] == [("sex", ("_T",))]


@pytest.mark.parametrize(
    ("text", "heading", "stub"),
    [
        ("", ("age", "ContentsCode"), ("area", "sex")),
        ("&heading=sex", ("sex",), ("area", "age", "ContentsCode")),
        ("&stub=ContentsCode,age", ("area", "sex"), ("ContentsCode", "age")),
        ("&heading=AREA&stub=sex", ("area",), ("sex", "age", "ContentsCode")),
    ],
)
def test_placement_orders_the_variables(door, text, heading, stub):
    selected = select(door, wanted("valuecodes[sex]=1&valuecodes[age]=*&valuecodes[area]=*" + text))
    assert (selected.heading, selected.stub) == (heading, stub)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("valuecodes[sx]=1", UnknownVariable),
        ("valuecodes[sex]=1&valuecodes[SEX]=2", BadRequest),
        ("valuecodes[sex]=1&heading=age", BadRequest),
        ("valuecodes[sex]=1&heading=sex&stub=sex", BadRequest),
        ("valuecodes[sex]=1&codelist[sex]=x", BadRequest),
        ("valuecodes[area]=1&codelist[area]=agg_town_age.grown", BadRequest),
        ("valuecodes[ContentsCode]=weighted", BadRequest),
    ],
)
def test_what_the_table_does_not_have_is_refused(door, text, error):
    with pytest.raises(error):
        select(door, wanted(text))


def test_what_was_understood_selects_the_same_again(door):
    first = select(
        door,
        wanted(
            "valuecodes[area]=*&codelist[area]=VS_town_area.region-area&valuecodes[age]=RANGE(adult,_T)&stub=age"
        ),
    )
    assert select(door, canonical_selection(door, first)) == first
