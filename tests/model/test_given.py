import pytest

from discreet.errors import BadRequest
from discreet.model.given import given_filters, given_groups, given_levels


def test_an_item_of_a_list_stands_for_itself():
    assert given_filters({"age": ["a,b", 5]}) == (("age", ("a,b", "5")),)
    assert given_filters({"age": "a,b"}) == (("age", ("a", "b")),)
    assert given_filters({"age": r"a\,b"}) == (("age", ("a,b",)),)


def test_a_filter_may_leave_out():
    left_out = (("age!", ("65..",)),)
    assert given_filters({"age": "!=65.."}) == given_filters(["age!=65.."]) == left_out
    assert given_filters("age != 65..") == given_filters({"age!": ["65.."]}) == left_out


def test_levels_are_lists_or_lines():
    assert given_levels({"area": "*"}) == given_levels(["area=*"]) == (("area", ("*",)),)
    assert given_levels({"area": ["region", "area"]}) == given_levels("area=region,area")


def test_groups_by_name_have_their_names_beside_them():
    groups, names = given_groups({"age": {"Young": ["0-4", "5-9"], "a:b": "10-14+65.."}})
    assert groups == (("age", (("0-4", "5-9"), ("10-14", "65.."))),)
    assert names == (("age", ((("0-4", "5-9"), "Young"), (("10-14", "65.."), "a:b"))),)
    assert given_groups({"age": [["0-4"], ["5-9"]]}) == ((("age", (("0-4",), ("5-9",))),), ())


def test_nothing_given_is_nothing():
    assert given_filters(None) == given_levels({}) == ()
    assert given_groups(None) == ((), ())


@pytest.mark.parametrize("wrong", [5, [5], [["age=1"]]])
def test_what_is_neither_a_mapping_nor_lines_is_refused(wrong):
    with pytest.raises(BadRequest, match=r'filters=\["sex=1"\]'):
        given_filters(wrong)
