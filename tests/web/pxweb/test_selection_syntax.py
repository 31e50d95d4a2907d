"""Selections as clients send them, and what they select."""

import base64
import zlib
from fnmatch import translate

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, NotFound, UnknownCategory, UnknownVariable
from discreet.model import selection
from discreet.model.selection import MOST_READ
from discreet.web.pxweb import selection_syntax as expressions
from discreet.web.pxweb.selection_syntax import (
    LONGEST_QUERY,
    Pick,
    RawSelection,
    SavedQuery,
    expand,
    flag,
    read_parameters,
    read_saved_query,
    saved_query_json,
    selection_from_body,
    selection_from_query,
    selection_json,
    split_list,
    unpack,
    word,
)
from discreet.web.pxweb.value_selection import canonical_selection, select

CODES = ["0-4", "5-9", "10-14", "a,b", "Ä", "*", "TOP(1)", "_T"]


@pytest.mark.parametrize(
    ("expressions", "selected"),
    [
        (["5-9", "0-4", "5-9"], ["0-4", "5-9"]),
        (["TOP(2)"], ["0-4", "5-9"]),
        (["top(1,2)"], ["10-14"]),
        (["BOTTOM(1)"], ["_T"]),
        (["bottom(2,1)"], ["*", "TOP(1)"]),
        (["RANGE(5-9,[a,b])"], ["5-9", "10-14", "a,b"]),
        (["FROM(TOP(1))"], ["TOP(1)", "_T"]),
        (["To(5-9)"], ["0-4", "5-9"]),
        (["?-?"], ["0-4", "5-9"]),
        (["1*", "*,*"], ["10-14", "a,b"]),
        (["ä"], ["Ä"]),
        (["TOP(99)"], CODES),
    ],
)
def test_an_expression_selects_codes_in_their_order(expressions, selected):
    assert list(expand("age", expressions, CODES)) == selected


def test_a_code_that_is_there_is_meant_itself():
    """Wrong alternatives: `*` as everything, and TOP(1) as the first code, where both are codes."""
    assert expand("age", ["*"], CODES) == ("*",)
    assert expand("age", ["TOP(1)"], CODES) == ("TOP(1)",)
    assert expand("age", ["*"], ["a", "b"]) == ("a", "b")


def test_a_bracket_of_a_pattern_is_no_pattern():
    """Wrong alternative: shell patterns, in which [ab]* selects what begins with a or b."""
    assert expand("age", ["[ab]*"], ["a1", "[ab]1"]) == ("[ab]1",)


@pytest.mark.parametrize(
    "text",
    ["TOP(x)", "TOP()", "TOP(-1)", "TOP(1,2,3)", "RANGE(0-4)", "FROM()", "TOP(0)", "RANGE(5-9,0-4)", "q*"],
)
def test_what_selects_nothing_is_refused(text):
    with pytest.raises(BadRequest, match=r"cannot be read|selects nothing"):
        expand("age", [text], CODES)


def test_an_unknown_code_is_told_with_the_nearest():
    with pytest.raises(UnknownCategory) as told:
        expand("age", ["10-15"], CODES)
    assert "10-14" in told.value.advice


def test_lists_are_split_outside_brackets():
    assert split_list("") == []
    assert split_list("a,[b,c],RANGE(d,e), f") == ["a", "b,c", "RANGE(d,e)", "f"]


def test_many_stars_are_one_and_what_is_longer_than_every_code_is_not_tried(monkeypatch):
    """Wrong alternative: `.*` for each star, which does not end; a form of a megabyte is not even compiled."""
    compiled = []
    monkeypatch.setattr(selection.fnmatch, "translate", lambda form: compiled.append(form) or translate(form))
    codes = [f"R01D01A{number:03}" for number in range(100)]
    assert expand("area", ["*" * 60 + "042"], codes) == ("R01D01A042",)
    for form in ("*" * 60 + "zz", "*1" * 9 + "zz"):
        with pytest.raises(BadRequest, match="selects nothing"):
            expand("area", [form], codes)
    assert compiled == ["*" * 60 + "042", "*" * 60 + "zz"]


def test_what_is_no_code_is_read_once_and_no_more_often_than_is_affordable(monkeypatch):
    """Wrong alternative: each as it comes; a request of 16 KB asked for seconds of work."""
    read, places = [], expressions._places
    monkeypatch.setattr(expressions, "_places", lambda text, known: read.append(text) or places(text, known))
    codes = [f"r{number}" for number in range(100)]
    assert len(expand("area", ["*"] * 2_000, codes)) == len(codes)
    assert read == ["*"]
    read.clear()
    with pytest.raises(BadRequest, match=f"has {MOST_READ + 1} expressions") as told:
        expand("area", [f"TOP({number + 1})" for number in range(MOST_READ + 1)], codes)
    assert read == []
    assert f"at most {MOST_READ}" in told.value.advice
    assert len(expand("area", ["*", *codes, *(code.upper() for code in codes)], codes)) == len(codes)


def test_a_query_and_a_body_say_the_same():
    body = {
        "selection": [
            {"variableCode": "age", "valueCodes": ["TOP(1)", "old"]},
            {"variableCode": "area", "codelist": "agg_town_area.region", "valueCodes": ["*"]},
        ],
        "placement": {"heading": ["age"], "stub": ["area"]},
    }
    text = "valuecodes[age]=TOP(1),old&valuecodes[area]=*&codelist[area]=agg_town_area.region&heading=age&stub=area"
    assert selection_from_body(body) == selection_from_query(
        read_parameters(QueryParams(text), ("valuecodes[]", "codelist[]", "heading", "stub"))
    )
    assert selection_json(selection_from_body(body)) == body


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"selection": {}},
        {"selection": [], "placement": "sex"},
        {"selection": [{"valueCodes": ["1"]}]},
        {"selection": [{"variableCode": "sex", "valueCodes": "1"}]},
        {"selection": [{"variableCode": "sex", "valueCodes": [1]}]},
        {"selection": [{"variableCode": 1}]},
        {"selection": ["sex"]},
        "sex",
    ],
)
def test_a_body_of_another_shape_is_refused(body):
    with pytest.raises(BadRequest, match="cannot be read"):
        selection_from_body(body)


@pytest.mark.parametrize(
    "body", [None, {}, {"selection": [], "placement": []}, {"selection": None, "placement": {}}]
)
def test_nothing_is_selected_by_what_is_empty(body):
    """R writes [] for an empty object."""
    assert selection_from_body(body) == RawSelection()


QUERY = SavedQuery(
    "town",
    RawSelection(
        (Pick("sex", ("*",)), Pick("area", ("N", "S"), "agg_town_area.region")), ("sex",), ("area",)
    ),
    "csv",
    ("UseCodes",),
)


def test_an_id_holds_the_whole_query():
    assert unpack(QUERY.id) == QUERY
    assert read_saved_query(saved_query_json(QUERY)) == QUERY
    assert unpack(SavedQuery("town", RawSelection()).id) == SavedQuery("town", RawSelection())


def test_the_same_query_has_the_same_id_and_another_has_another():
    assert QUERY.id == SavedQuery(QUERY.table, QUERY.wanted, "csv", ("UseCodes",)).id
    assert QUERY.id != SavedQuery(QUERY.table, QUERY.wanted, "px", ("UseCodes",)).id


def test_a_query_too_long_for_an_address_is_not_saved():
    codes = tuple(str(number**5) for number in range(5000))
    with pytest.raises(BadRequest, match="too long"):
        _ = SavedQuery("town", RawSelection((Pick("sex", codes),))).id


@pytest.mark.parametrize(
    "query_id", ["", "x", "!!!", "AAAA", "ä", "eNo", base64.urlsafe_b64encode(zlib.compress(b"[1]")).decode()]
)
def test_what_is_no_query_is_not_found(query_id):
    with pytest.raises(NotFound):
        unpack(query_id)


def test_a_small_id_cannot_unpack_to_a_large_text():
    bomb = base64.urlsafe_b64encode(
        zlib.compress(b" " * (LONGEST_QUERY * 5) + b'{"tableId": "town"}', 9)
    ).decode()
    with pytest.raises(NotFound):
        unpack(bomb)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {"tableId": 1},
        {"tableId": "town", "outputFormat": 2},
        {"tableId": "town", "outputFormatParams": "x"},
    ],
)
def test_a_body_of_another_shape_is_refused_saved(body):
    with pytest.raises(BadRequest):
        read_saved_query(body)


def test_names_are_read_in_any_case_and_variables_as_they_are():
    query = QueryParams("valueCodes[Sex]=1&VALUECODES[Sex]=2&outputFormat=csv&LANG=en")
    found = read_parameters(query, ("valuecodes[]", "outputformat"))
    assert found == {"valuecodes[Sex]": ["1", "2"], "outputformat": ["csv"], "lang": ["en"]}


@pytest.mark.parametrize(
    "text",
    ["colour=red", "valuecodes=1", "outputformat[sex]=csv", "valuecodes[sex=1", "valuecodes[]=1", "lang=sv"],
)
def test_what_has_no_meaning_is_refused(text):
    """Wrong alternative: to pass over it, and answer another question than was asked."""
    with pytest.raises(BadRequest):
        read_parameters(QueryParams(text), ("valuecodes[]", "outputformat"))


def test_words_are_given_once_and_flags_are_true_or_false():
    assert word({"a": ["x"]}, "a") == "x"
    assert word({}, "a") == ""
    assert flag({"a": ["True"]}, "a")
    assert not flag({"a": ["false"]}, "a")
    with pytest.raises(BadRequest, match="2 times"):
        word({"a": ["x", "y"]}, "a")
    with pytest.raises(BadRequest, match="maybe"):
        flag({"a": ["maybe"]}, "a")


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
