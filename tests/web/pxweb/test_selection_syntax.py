"""Selections as clients send them, and what they select."""

import base64
import json
import zlib
from fnmatch import translate

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, NotFound, UnknownCategory, UnknownVariable
from discreet.model import selection
from discreet.model.selection import MOST_READ
from discreet.web.pxweb import selection_syntax as syntax

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
        (["*"], ["*"]),
        (["TOP(1)"], ["TOP(1)"]),
    ],
)
def test_an_expression_selects_codes_in_their_order_and_a_code_that_is_there_is_meant_itself(
    expressions, selected
):
    """Wrong alternatives: `*` as everything, and TOP(1) as the first code, where both are codes."""
    assert list(syntax.expand("age", expressions, CODES)) == selected


def test_a_bracket_of_a_pattern_is_no_pattern():
    """Wrong alternative: shell patterns, in which [ab]* selects what begins with a or b."""
    assert syntax.expand("age", ["[ab]*"], ["a1", "[ab]1"]) == ("[ab]1",)


@pytest.mark.parametrize(
    "text",
    ["TOP(x)", "TOP()", "TOP(-1)", "TOP(1,2,3)", "RANGE(0-4)", "FROM()", "TOP(0)", "RANGE(5-9,0-4)", "q*"],
)
def test_what_selects_nothing_is_refused(text):
    with pytest.raises(BadRequest, match=r"cannot be read|selects nothing"):
        syntax.expand("age", [text], CODES)
    with pytest.raises(UnknownCategory) as told:
        syntax.expand("age", ["10-15"], CODES)
    assert "10-14" in told.value.advice


def test_many_stars_are_one_and_what_is_longer_than_every_code_is_not_tried(monkeypatch):
    """Wrong alternative: `.*` for each star, which does not end; a form of a megabyte is not even compiled."""
    compiled = []
    monkeypatch.setattr(selection.fnmatch, "translate", lambda form: compiled.append(form) or translate(form))
    codes = [f"R01D01A{number:03}" for number in range(100)]
    assert syntax.expand("area", ["*" * 60 + "042"], codes) == ("R01D01A042",)
    for form in ("*" * 60 + "zz", "*1" * 9 + "zz"):
        with pytest.raises(BadRequest, match="selects nothing"):
            syntax.expand("area", [form], codes)
    assert compiled == ["*" * 60 + "042", "*" * 60 + "zz"]


def test_what_is_no_code_is_read_once_and_no_more_often_than_is_affordable(monkeypatch):
    """Wrong alternative: each as it comes; a request of 16 KB asked for seconds of work."""
    read, places = [], syntax._places
    monkeypatch.setattr(syntax, "_places", lambda text, known: read.append(text) or places(text, known))
    codes = [f"r{number}" for number in range(100)]
    assert len(syntax.expand("area", ["*"] * 2_000, codes)) == len(codes)
    assert read == ["*"]
    with pytest.raises(BadRequest, match=f"has {MOST_READ + 1} expressions"):
        syntax.expand("area", [f"TOP({number + 1})" for number in range(MOST_READ + 1)], codes)
    assert read == ["*"]
    assert len(syntax.expand("area", ["*", *codes, *(code.upper() for code in codes)], codes)) == len(codes)


KNOWN = ("valuecodes[]", "codelist[]", "heading", "stub", "outputformat")


def wanted(text):
    return syntax.selection_from_query(syntax.read_parameters(QueryParams(text), KNOWN))


def body(document):
    return json.dumps(document).encode()


def test_a_query_and_a_body_say_the_same():
    document = {
        "selection": [
            {"variableCode": "age", "valueCodes": ["TOP(1)", "old"]},
            {"variableCode": "area", "codelist": "agg_town_area.region", "valueCodes": ["*"]},
        ],
        "placement": {"heading": ["age"], "stub": ["area"]},
    }
    text = "valuecodes[age]=TOP(1),old&valuecodes[area]=*&codelist[area]=agg_town_area.region&heading=age&stub=area"
    assert syntax.selection_from_body(body(document)) == wanted(text)
    assert syntax.selection_json(wanted(text)) == document


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"selection": {}},
        {"selection": [], "placement": "sex"},
        {"selection": [{"valueCodes": ["1"]}]},
        {"selection": [{"variableCode": "sex", "valueCodes": [1]}]},
        {"selection": ["sex"]},
    ],
)
def test_a_body_of_another_shape_is_refused(document):
    with pytest.raises(BadRequest, match="cannot be read"):
        syntax.selection_from_body(body(document))


@pytest.mark.parametrize("document", [None, {}, {"selection": [], "placement": []}, {"selection": None}])
def test_nothing_is_selected_by_what_is_empty(document):
    """R writes [] for an empty object."""
    assert syntax.selection_json(syntax.selection_from_body(body(document))) == {"selection": []}


PICKS = (syntax.PxPick("sex", ("*",)), syntax.PxPick("area", ("N", "S"), "agg_town_area.region"))
SELECTION = syntax.PxSelection(PICKS, syntax.PxPlacement(("sex",), ("area",)))
QUERY = syntax.PxQuery("town", SELECTION, "en", "csv", ("UseCodes",))


def packed(text):
    return base64.urlsafe_b64encode(zlib.compress(text, 9)).decode()


def test_an_id_holds_the_whole_query_of_a_bounded_length():
    assert syntax.unpack(syntax.saved_query_id(QUERY)) == QUERY
    assert syntax.read_saved_query(body(syntax.saved_query_json(QUERY))) == QUERY
    codes = tuple(str(number**5) for number in range(5000))
    with pytest.raises(BadRequest, match="too long"):
        syntax.saved_query_id(syntax.PxQuery("town", syntax.PxSelection((syntax.PxPick("sex", codes),))))


@pytest.mark.parametrize(
    "query_id",
    [
        "",
        "x",
        "!!!",
        "AAAA",
        "ä",
        "eNo",
        packed(b"[1]"),
        packed(b" " * (syntax.LONGEST_QUERY * 5) + b'{"tableId": "town"}'),
    ],
    ids=lambda text: text[:9],
)
def test_what_is_no_query_or_unpacks_to_a_large_text_is_not_found(query_id):
    with pytest.raises(NotFound):
        syntax.unpack(query_id)


@pytest.mark.parametrize(
    "wrong", [None, [], {"tableId": 1}, {"outputFormat": 2}, {"outputFormatParams": "x"}], ids=str
)
def test_a_query_of_another_shape_is_not_saved(wrong):
    with pytest.raises(BadRequest):
        syntax.read_saved_query(body({"tableId": "town"} | wrong if isinstance(wrong, dict) else wrong))


def test_names_are_read_in_any_case_and_variables_as_they_are():
    query = QueryParams("valueCodes[Sex]=1&VALUECODES[Sex]=2&outputFormat=csv&LANG=en")
    found = syntax.read_parameters(query, KNOWN)
    assert found == {"valuecodes[Sex]": ["1", "2"], "outputformat": ["csv"], "lang": ["en"]}
    assert (syntax.word(found, "outputformat"), syntax.word({}, "a")) == ("csv", "")
    assert syntax.flag({"a": ["True"]}, "a")
    assert not syntax.flag({"a": ["false"]}, "a")
    with pytest.raises(BadRequest, match="2 times"):
        syntax.word({"a": ["x", "y"]}, "a")
    with pytest.raises(BadRequest, match="maybe"):
        syntax.flag({"a": ["maybe"]}, "a")


@pytest.mark.parametrize(
    "text",
    ["colour=red", "valuecodes=1", "outputformat[sex]=csv", "valuecodes[sex=1", "valuecodes[]=1", "lang=sv"],
)
def test_what_has_no_meaning_is_refused(text):
    """Wrong alternative: to pass over it, and answer another question than was asked."""
    with pytest.raises(BadRequest):
        syntax.read_parameters(QueryParams(text), KNOWN)


@pytest.fixture
def service(px_registry):
    return px_registry.open("town")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("valuecodes[sex]=1&valuecodes[age]=old,child", [("sex", ("1",)), ("age", ("child", "old"))]),
        ("valuecodes[AGE]=child,old&valuecodes[Sex]=1", [("sex", ("1",)), ("age", ("child", "old"))]),
        ("", [("sex", ("1", "2", "_T"))]),
        ("valuecodes[ContentsCode]=count", [("sex", ("_T",))]),
        ("valuecodes[sex]=*&valuecodes[age]=", [("sex", ("1", "2", "_T"))]),
    ],
)
def test_variables_stand_in_the_order_of_the_dataset_and_nothing_selected_is_a_small_table(
    service, text, chosen
):
    """Wrong alternative: a request that filters on the selected codes."""
    selected = syntax.select(service, wanted(text))
    assert [(each.dimension.name, each.codes) for each in selected.chosen] == chosen
    request = selected.request("town", "count")
    assert request.filters == request.groups == ()
    assert request.totals


@pytest.mark.parametrize(
    ("text", "heading", "stub"),
    [
        ("", ("age", "ContentsCode"), ("area", "sex")),
        ("&stub=ContentsCode,age", ("area", "sex"), ("ContentsCode", "age")),
        ("&heading=AREA&stub=sex", ("area",), ("sex", "age", "ContentsCode")),
    ],
)
def test_placement_orders_the_variables(service, text, heading, stub):
    selected = syntax.select(service, wanted("valuecodes[sex]=1&valuecodes[age]=*&valuecodes[area]=*" + text))
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
def test_what_the_table_does_not_have_is_refused(service, text, error):
    with pytest.raises(error):
        syntax.select(service, wanted(text))


def test_what_was_understood_selects_the_same_again(service):
    text = (
        "valuecodes[area]=*&codelist[area]=VS_town_area.region-area&valuecodes[age]=RANGE(adult,_T)&stub=age"
    )
    first = syntax.select(service, wanted(text))
    assert syntax.select(service, syntax.canonical_selection(service, first)) == first
