import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.grammar import parse_filter, parse_group, parse_names, write_filter, write_group
from discreet.model.request import request_from_text
from discreet.model.variable import Category, Variable

codes = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip())


@pytest.mark.slow
@given(st.lists(codes, min_size=1, max_size=4))
def test_a_filter_of_any_codes_reads_back_as_written(chosen):
    assert parse_filter(write_filter("age", tuple(chosen))) == ("age", tuple(chosen))


@given(st.lists(st.lists(codes, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3))
def test_groups_of_any_codes_read_back_as_written(groups):
    assert parse_group(write_group("age", tuple(groups))) == ("age", tuple(groups))


def test_names_may_be_given_together_or_repeatedly():
    assert parse_names(["sex,age", " region "]) == ("sex", "age", "region")


@pytest.mark.parametrize("text", ["age", "age=", "=1", "", "age=1\\"])
def test_what_cannot_be_read_is_refused_with_an_example(text):
    with pytest.raises(BadRequest):
        parse_filter(text)


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
