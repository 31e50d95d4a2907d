"""HEAD asks whether a table is there: it counts nothing and charges nobody, whichever way it is asked."""

from types import SimpleNamespace

import pytest
from starlette.responses import Response

from discreet.errors import Refused
from discreet.server.released import headers_only, tell_charges


@pytest.mark.parametrize(
    "address",
    [
        "/api/datasets/people/table?rows=sex",
        "/api/pxweb/v2/tables/people/data?valuecodes[sex]=*",
        "/api/sdmx/data/people-sex/all",
    ],
)
def test_a_head_counts_nothing_by_any_protocol(watched, watched_client, address):
    """The wrong alternative is GET without its body, which counts."""
    assert watched_client.head(address).status_code == 200
    assert watched.engines["people"].calls == 0
    assert watched_client.get(address).status_code == 200
    assert watched.engines["people"].calls > 0


def test_every_table_must_be_there():
    class Door:
        def refuse_unreleased(self, request):
            if request == "closed":
                raise Refused("No.")

    assert "content-length" not in headers_only(Door(), ["open"], "text/csv").headers
    with pytest.raises(Refused):
        headers_only(Door(), ["open", "closed"], "text/csv")


def test_charges_are_told_in_letters_that_a_header_may_have():
    paid, free = (
        SimpleNamespace(charged={"sentence": "Charged 0.5 to “town”."}),
        SimpleNamespace(charged=None),
    )
    response = Response()
    tell_charges(response, [free])
    assert "discreet-charged" not in response.headers
    tell_charges(response, [paid, free, paid])
    assert response.headers["discreet-charged"].count("Charged") == 2
    assert response.headers["discreet-charged"].isascii()
