import pytest

from discreet.errors import NotAcceptable
from discreet.formats import formats
from discreet.server.negotiation import negotiated

TABLE = "/api/datasets/people/table?rows=sex"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("APPLICATION/*", "json"),
        ("text/csv", "csv"),
        ("text/csv; header=present; q=0.5, image/gif", "csv"),
        ("image/png", "png"),
        (BROWSER, "html"),
        ("text/csv, */*", "csv"),
        ("*/*;q=0.1, application/vnd.apache.parquet", "parquet"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
        ("application/json;q=0, text/csv;q=0.1", "csv"),
        ("text/*;q=0.9, text/csv;q=0.2, text/html;q=0.1, application/json;q=0.3", "json"),
        ("text/csv;q=2", "csv"),
        ("text/csv;q=much", "csv"),
        (",,text/csv,", "csv"),
    ],
)
def test_the_header_chooses_the_format(accept, name):
    chosen = negotiated(accept).name
    if accept.startswith("text/*"):  # what else is text is wanted more than any of the formats that are named
        assert chosen not in {"csv", "html", "json"}
    else:
        assert chosen == name


def test_every_media_type_leads_to_a_format_of_it():
    for form in formats():
        kind = form.media_type.partition(";")[0]
        assert negotiated(kind).media_type.partition(";")[0] == kind


@pytest.mark.parametrize("accept", ["image/gif", "application/json;q=0", "text", "*/*;q=0"])
def test_what_is_not_offered_is_406_with_the_list(client, accept):
    with pytest.raises(NotAcceptable):
        negotiated(accept)
    response = client.get(TABLE, headers={"accept": accept})
    assert (response.status_code, response.json()["code"]) == (406, "not-acceptable")
    assert "text/csv" in response.json()["advice"]


def test_a_named_format_wins_and_only_a_choice_by_the_header_varies(client):
    by_header = client.get(TABLE, headers={"accept": "text/csv"})
    named = client.get(TABLE + "&format=csv", headers={"accept": "application/json"})
    assert by_header.content == named.content
    assert by_header.headers["etag"] == named.headers["etag"]
    assert "Accept" in by_header.headers["vary"].split(", ")
    assert "Accept" not in named.headers["vary"].split(", ")
    again = client.get(TABLE, headers={"accept": "text/csv", "if-none-match": by_header.headers["etag"]})
    assert (again.status_code, "Accept" in again.headers["vary"].split(", ")) == (304, True)
    other = client.get(TABLE, headers={"if-none-match": by_header.headers["etag"]})
    assert other.status_code == 200
    assert client.get(TABLE + "&format=cvs", headers={"accept": "text/csv"}).status_code == 400
