"""A control is a link, and leads elsewhere unless it says that it does not."""

import ast
import shlex
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.view import View
from discreet.web.pages import snippets
from discreet.web.pages.links import Link, file_stem, page_path
from discreet.web.pages.table_grid import table_facts


def test_a_link_leads_elsewhere_by_default():
    assert not Link("Swap", "/datasets/people?rows=sex").current


BASE = "https://example.org"
#: What a category may have for a code: anything without blanks at its ends.
CODES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(
    lambda code: code == code.strip()
)


@given(st.lists(CODES, min_size=1, max_size=3, unique=True))
def test_the_command_line_asks_the_same_question(codes):
    request = TableRequest("people", ("age",), ("sex",), filters=(("bad", tuple(codes)),), totals=False)
    words = shlex.split(snippets.command(request, BASE))
    given_filter = words[words.index("--filter") + 1]
    assert request_from_text("people", filters=[given_filter]).filters == request.filters
    assert "--no-totals" in words


@given(st.lists(CODES, min_size=1, max_size=3, unique=True))
def test_the_python_code_asks_the_same_question(codes):
    request = TableRequest(
        "people",
        ("age",),
        layers=("sex",),
        filters=(("bad", tuple(codes)),),
        groups=(("age", (("1", "2"), ("3",))),),
    )
    call = ast.parse(snippets.python(request, BASE)).body[2].value
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert ast.literal_eval(call.args[0]) == "people"
    assert arguments == {
        "rows": ["age"],
        "layers": ["sex"],
        "filters": {"bad": codes},
        "groups": {"age": [["1", "2"], ["3"]]},
    }


def test_a_survey_says_that_its_counts_are_not_weighted(small_workspace):
    dataset = small_workspace.stored("people").dataset
    request = TableRequest("people", ("sex",))
    assert "Weights" not in dict(table_facts(dataset, request))
    weighted = replace(dataset, weight_column="weight")
    assert dict(table_facts(weighted, request))["Weights"] == "not applied: records are counted"


def test_long_filters_are_cut_short_in_the_facts(small_workspace):
    dataset = small_workspace.stored("people").dataset
    request = TableRequest(
        "people", ("sex",), filters=(("district", tuple(f"D{d:02}" for d in range(1, 11))),)
    )
    only = dict(table_facts(dataset, request))["Only"]
    assert only.endswith("District 8 and 2 more")


def test_names_and_ranges_are_asked_for_again_from_code(small_workspace):
    dataset = small_workspace.stored("people").dataset
    lines = {"groups": ["age=a\\:b:0-14+15-64"], "filters": ["district!=D01"]}
    asked = canonical(request_from_text("people", rows=["age"], **lines), dataset)
    words = shlex.split(snippets.command(asked, BASE))
    again = {
        name: [words[words.index(option) + 1]]
        for name, option in (("groups", "--group"), ("filters", "--filter"))
    }
    assert again["filters"] == ["district=D02..D48"]
    assert canonical(request_from_text("people", rows=["age"], **again), dataset) == asked
    call = ast.parse(snippets.python(asked, BASE)).body[2].value
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert arguments == {"rows": ["age"], **again}
    assert file_stem(asked) == "people-age-selection"


def test_a_view_and_a_version_are_in_every_call():
    asked = TableRequest("people", ("age",), ("sex",))
    also = [
        *View("sex=1,age=_T", rank=True, top=5, hide_empty=True, sort="-value").to_query(),
        ("version", "ab12"),
    ]
    words = shlex.split(snippets.command(asked, BASE, also))
    assert words[words.index("--percent") : -2] == [
        "--percent", "sex=1,age=_T", "--rank", "--top", "5", "--hide-empty", "--sort", "-value", "--version", "ab12",
    ]  # fmt: skip
    call = ast.parse(snippets.python(asked, BASE, also)).body[2].value
    passed = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert passed == {
        "rows": ["age"], "columns": ["sex"], "percent": "sex=1,age=_T", "rank": True, "top": 5,
        "hide_empty": True, "sort": "-value", "version": "ab12",
    }  # fmt: skip
    query = urlsplit(page_path(asked, also)).query
    assert parse_qsl(query)[2:] == also
