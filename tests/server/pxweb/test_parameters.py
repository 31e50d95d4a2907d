"""The query string of PxWebApi."""

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.server.pxweb.parameters import flag, read_parameters, word


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
