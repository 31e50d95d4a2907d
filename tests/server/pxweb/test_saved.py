"""Saved queries: the id is the query."""

import base64
import zlib

import pytest

from discreet.errors import BadRequest, NotFound
from discreet.server.pxweb.saved import LONGEST_QUERY, SavedQuery, query_document, read_query, unpack
from discreet.server.pxweb.wanted import Pick, Wanted

QUERY = SavedQuery(
    "town",
    Wanted((Pick("sex", ("*",)), Pick("area", ("N", "S"), "agg_town_area.region")), ("sex",), ("area",)),
    "csv",
    ("UseCodes",),
)


def test_an_id_holds_the_whole_query():
    assert unpack(QUERY.id) == QUERY
    assert read_query(query_document(QUERY)) == QUERY
    assert unpack(SavedQuery("town", Wanted()).id) == SavedQuery("town", Wanted())


def test_the_same_query_has_the_same_id_and_another_has_another():
    assert QUERY.id == SavedQuery(QUERY.table, QUERY.wanted, "csv", ("UseCodes",)).id
    assert QUERY.id != SavedQuery(QUERY.table, QUERY.wanted, "px", ("UseCodes",)).id


def test_a_query_too_long_for_an_address_is_not_saved():
    codes = tuple(str(number**5) for number in range(5000))
    with pytest.raises(BadRequest, match="too long"):
        _ = SavedQuery("town", Wanted((Pick("sex", codes),))).id


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
def test_a_body_of_another_shape_is_refused(body):
    with pytest.raises(BadRequest):
        read_query(body)
