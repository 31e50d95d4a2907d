"""The set of published tables has one order and one spelling."""

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.grammar import (
    canonical_fit_to,
    parse_filter,
    parse_group,
    read_filters,
    read_groups,
    read_levels,
    variables_of,
    write_filter,
    write_group,
)
from discreet.model.limits import MOST_TABLES_FITTED_TO
from discreet.model.request import request_from_text
from discreet.model.variable import Category, Variable
from discreet.model.view import NO_VIEW, VIEW_PARAMETERS, View, read_top

codes = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip())


@given(st.lists(st.lists(codes, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3))
def test_filters_and_groups_of_any_codes_read_back_as_written(groups):
    assert parse_filter(write_filter("age", groups[0])) == ("age", groups[0])
    assert parse_group(write_group("age", tuple(groups))) == ("age", tuple(groups))


@pytest.mark.parametrize(("cut", "whole", "written"), [("a", "a,b", r"a\,b"), ("d", "c+d", r"c\+d")])
def test_a_code_that_was_cut_at_its_comma_is_told_how_to_be_written(cut, whole, written):
    variable = Variable("bad", "Bad", tuple(Category(code, code) for code in ("a,b", "c+d", "plain")))
    with pytest.raises(UnknownCategory) as refused:
        variable.position(cut)
    assert f'"{whole}", write it as {written}' in refused.value.advice
    with pytest.raises(UnknownCategory, match='Did you mean "plain"'):
        variable.position("plan")


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "url_grammar.json").read_text("utf-8"))


def asked(query):
    """The request of an address, as the server reads it."""
    given = parse_qs(query, keep_blank_values=True)
    names = {"filters": "filter", "groups": "group"}
    axes = ("rows", "columns", "layers", "filters", "groups", "levels")
    return request_from_text("census", **{axis: given.get(names.get(axis, axis), []) for axis in axes})


@pytest.mark.parametrize("vector", VECTORS["read"], ids=lambda vector: vector["query"])
def test_an_address_means_and_is_written_what_the_vectors_say(vector):
    request = asked(vector["query"])
    for name in ("rows", "columns", "layers", "filters", "groups", "levels"):
        assert json.loads(json.dumps(getattr(request, name))) == vector.get(name, [])
    assert request.permalink == vector.get("written", vector["query"])


@pytest.mark.parametrize("query", VECTORS["refused"])
def test_an_address_that_the_vectors_refuse_is_refused(query):
    with pytest.raises(BadRequest):
        asked(query)


@pytest.mark.parametrize(
    ("read", "ways", "meant"),
    [
        (read_filters, [{"age": ["a,b", 5]}], ("age", ("a,b", "5"))),
        (read_filters, [{"age": "a,b"}], ("age", ("a", "b"))),
        (read_filters, [{"age": r"a\,b"}], ("age", ("a,b",))),
        (
            read_filters,
            [{"age": "!=65.."}, ["age!=65.."], "age != 65..", {"age!": ["65.."]}],
            ("age!", ("65..",)),
        ),
        (read_levels, [{"area": "*"}, ["area=*"]], ("area", ("*",))),
        (read_levels, [{"area": ["region", "area"]}, "area=region,area"], ("area", ("region", "area"))),
    ],
)
def test_mappings_and_lines_mean_the_same_and_an_item_of_a_list_stands_for_itself(read, ways, meant):
    assert all(read(way) == (meant,) for way in ways)


def test_groups_by_name_have_their_names_beside_them():
    groups, names = read_groups({"age": {"Young": ["0-4", "5-9"], "a:b": "10-14+65.."}})
    assert groups == (("age", (("0-4", "5-9"), ("10-14", "65.."))),)
    assert names == (("age", ((("0-4", "5-9"), "Young"), (("10-14", "65.."), "a:b"))),)
    assert read_groups({"age": [["0-4"], ["5-9"]]}) == ((("age", (("0-4",), ("5-9",))),), ())


@pytest.mark.parametrize("wrong", [5, [5], [["age=1"]]])
def test_what_is_neither_a_mapping_nor_lines_is_refused(wrong):
    with pytest.raises(BadRequest, match=r'filters=\["sex=1"\]'):
        read_filters(wrong)


def test_small_tables_come_first_each_once_and_they_are_few(dataset):
    words = ["job*sex", " area", "sex * job", "age"]
    found = canonical_fit_to(words, dataset)
    assert found == canonical_fit_to(reversed(words), dataset)
    assert [len(variables_of(word)) for word in found] == [1, 1, 2]
    names = [variable.name for variable in dataset.variables]
    words = [f"{one}*{two}" for one in names for two in names if one != two]
    with pytest.raises(BadRequest, match=f"Give at most {MOST_TABLES_FITTED_TO}"):
        canonical_fit_to(words, dataset)


def test_a_view_is_written_as_parameters_and_an_empty_one_as_none():
    view = View(
        "sex=1",
        rank=True,
        top=3,
        hide_empty=True,
        sort="-sex=1",
        ratio="sex=1",
        difference="sex=2",
        alone=True,
    )
    assert dict(view.to_query()) == dict(
        zip(VIEW_PARAMETERS, ("sex=1", "yes", "3", "yes", "-sex=1", "sex=1", "sex=2", "yes"), strict=True)
    )
    assert (bool(view), bool(NO_VIEW), NO_VIEW.to_query()) == (True, False, [])


@pytest.mark.parametrize(
    "wrong",
    [{"percent": "rows"}, {"top": -1}, {"top": True}, {"top": 1.5}, {"sort": "lable"}, {"sort": "--"}],
)
def test_what_is_no_view_is_refused_with_advice(wrong):
    with pytest.raises(BadRequest) as refused:
        View(**wrong)
    assert refused.value.advice


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "\u0663", "1e3", "9" * 5000])
def test_a_number_of_rows_is_a_whole_number_above_zero(text):
    with pytest.raises(BadRequest):
        read_top(text)
    assert (read_top("10"), read_top("")) == (10, 0)
