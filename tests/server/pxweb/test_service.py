"""What the routes share."""

import pytest

from discreet.errors import UnknownDataset
from discreet.server.answer import as_json
from discreet.server.pxweb.service import Service, selection_document
from discreet.server.pxweb.wanted import Wanted
from discreet.server.wholes import Wholes


def test_a_table_is_found_in_any_case_and_an_unknown_one_named(px_doors):
    service = Service(px_doors, None, Wholes())
    assert service.door("TOWN").dataset.id == "town"
    with pytest.raises(UnknownDataset, match="twon"):
        service.door("twon")


def test_a_selection_is_told_code_by_code(px_doors):
    told = selection_document(px_doors.door("town"), Wanted(), "/here")
    assert told["selection"][0] == {"variableCode": "sex", "valueCodes": ["1", "2", "_T"]}
    assert told["links"][0]["href"] == "/here"


def test_json_is_utf_8_and_says_so():
    response = as_json({"label": "Å"}, 201)
    assert (response.status_code, response.body) == (201, '{"label": "Å"}'.encode())
    assert response.headers["content-type"] == "application/json; charset=utf-8"
