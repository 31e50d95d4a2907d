"""Selections as they are sent: by a query string, or by a body."""

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.server.pxweb.parameters import read_parameters
from discreet.server.pxweb.wanted import Wanted, wanted_document, wanted_from_body, wanted_from_query


def test_a_query_and_a_body_say_the_same():
    body = {
        "selection": [
            {"variableCode": "age", "valueCodes": ["TOP(1)", "old"]},
            {"variableCode": "area", "codelist": "agg_town_area.region", "valueCodes": ["*"]},
        ],
        "placement": {"heading": ["age"], "stub": ["area"]},
    }
    text = "valuecodes[age]=TOP(1),old&valuecodes[area]=*&codelist[area]=agg_town_area.region&heading=age&stub=area"
    assert wanted_from_body(body) == wanted_from_query(
        read_parameters(QueryParams(text), ("valuecodes[]", "codelist[]", "heading", "stub"))
    )
    assert wanted_document(wanted_from_body(body)) == body


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
        wanted_from_body(body)


@pytest.mark.parametrize(
    "body", [None, {}, {"selection": [], "placement": []}, {"selection": None, "placement": {}}]
)
def test_nothing_is_selected_by_what_is_empty(body):
    """R writes [] for an empty object."""
    assert wanted_from_body(body) == Wanted()
